package pipeline

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/when"
)

// templates compiles everything that may hold templates.
func (c *compiler) templates(d *declaration, in *v1alpha1.Declaration, short, spec map[string]any, at *field.Path) {
	base := c.groupScope(d.phase)
	scope := c.forEach(d, in.ForEach, base, at)
	d.name = c.template(scope, in.Name, at.Child("name"))
	d.namespace = c.template(scope, in.Namespace, at.Child("namespace"))
	if d.kind.GVK.Empty() {
		c.manifestIdentity(scope, d, short, at.Child("manifest", "metadata"))
	}
	reserved(c, in.Labels, apply.OwnershipLabels, at.Child("labels"))
	reserved(c, in.Annotations, apply.OwnershipAnnotations, at.Child("annotations"))
	// A name that is drawn anew each time would be another object each time.
	content := c.contentScope(scope, d)
	if in.Once {
		content = content.WithRandom(c.env.Random, c.env.Now)
	}
	for k, v := range c.box.Spec.CommonLabels {
		d.labels[k] = c.template(base, string(v), field.NewPath("spec", "commonLabels").Key(k))
	}
	for k, v := range c.box.Spec.CommonAnnotations {
		d.annotations[k] = c.template(base, string(v), field.NewPath("spec", "commonAnnotations").Key(k))
	}
	for k, v := range in.Labels {
		d.labels[k] = c.template(content, string(v), at.Child("labels").Key(k))
	}
	for k, v := range in.Annotations {
		d.annotations[k] = c.template(content, string(v), at.Child("annotations").Key(k))
	}
	d.short = c.tree(content, short, at)
	d.ports = c.tree(content, only(short, fieldType, "port", "ports", "targetPort"), at)
	d.spec = c.tree(content, spec, at.Child("spec"))

	if d.phase != stepDeletion {
		d.gate = c.gate
	}
	own, errs := when.CompileGate(in.Gate, scope, at)
	c.errs = append(c.errs, errs...)
	d.gate = when.Join(d.gate, own)
	d.gateReadsItem = d.forEach != nil && slices.ContainsFunc(own.Paths(), d.forEach.readsItem)
	c.currentWhen(d, in.ReadyWhen, scope, at)
	d.usesChildren = c.read(d.paths())
	d.usesSecrets = slices.ContainsFunc(d.paths(), c.leadsToSecret)
	if d.namespace != nil {
		if _, literal := d.namespace.Literal(); !literal {
			c.asksNamespaces = true
		}
	}
}

// manifestIdentity takes name and namespace from a manifest that has its own.
func (c *compiler) manifestIdentity(scope *expr.Scope, d *declaration, short map[string]any, at *field.Path) {
	m, _ := short["manifest"].(map[string]any)
	meta, _ := m["metadata"].(map[string]any)
	for _, part := range []string{"name", "namespace"} {
		if v := meta[part]; v != nil && typeName(v) != schemaText {
			c.fail(field.TypeInvalid(at.Child(part), typeName(v), "wanted a string; YAML takes words such as y, no and on for booleans, so quote it"))
		}
	}
	if name, ok := meta["name"].(string); ok && d.name == nil {
		d.name = c.template(scope, name, at.Child("name"))
	}
	if ns, ok := meta["namespace"].(string); ok && d.namespace == nil {
		d.namespace = c.template(scope, ns, at.Child("namespace"))
	}
	labels, _ := meta["labels"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	reserved(c, labels, apply.OwnershipLabels, at.Child("labels"))
	reserved(c, annotations, apply.OwnershipAnnotations, at.Child("annotations"))
}

// paths is everything that the declaration reads.
func (d *declaration) paths() []expr.Path {
	out := d.contentPaths()
	if d.gate != nil {
		out = append(out, d.gate.Paths()...)
	}
	return out
}

// contentPaths is everything that its object is made of.
func (d *declaration) contentPaths() []expr.Path {
	var out []expr.Path
	for _, t := range []*expr.Template{d.name, d.namespace} {
		if t != nil {
			out = append(out, t.Paths()...)
		}
	}
	for _, m := range []map[string]*expr.Template{d.labels, d.annotations} {
		for _, t := range m {
			if t != nil {
				out = append(out, t.Paths()...)
			}
		}
	}
	for _, v := range []*expr.Value{d.short, d.spec} {
		if v != nil {
			out = append(out, v.Paths()...)
		}
	}
	if d.forEach != nil && d.forEach.field != nil {
		out = append(out, d.forEach.field.Paths()...)
		if d.forEach.key != nil {
			out = append(out, d.forEach.key.Paths()...)
		}
	}
	return out
}

// template compiles one string; an empty one is nil.
func (c *compiler) template(scope *expr.Scope, s string, at *field.Path) *expr.Template {
	if s == "" {
		return nil
	}
	t, err := scope.Compile(s)
	if err != nil {
		c.fail(field.Invalid(at, s, err.Error()))
		return nil
	}
	return t
}

// tree compiles a JSON tree; an empty one is nil.
func (c *compiler) tree(scope *expr.Scope, v map[string]any, at *field.Path) *expr.Value {
	if len(v) == 0 {
		return nil
	}
	value, errs := scope.CompileValue(v, at)
	// The port fields are compiled a second time for those who take defaults from them: one report is enough.
	for _, e := range errs {
		if !slices.ContainsFunc(c.errs, func(known *field.Error) bool { return known.Error() == e.Error() }) {
			c.fail(e)
		}
	}
	return value
}

func only(m map[string]any, names ...string) map[string]any {
	out := map[string]any{}
	for _, n := range names {
		if v, ok := m[n]; ok {
			out[n] = v
		}
	}
	return out
}
