package pipeline

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/pipeline/check"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/value"
	"github.com/orkspace/orkestra/engine/when"
)

// templates compiles everything that may hold templates.
func (c *compiler) templates(d *declaration, in *v1alpha1.Declaration, short, spec map[string]any, at *field.Path) {
	base := c.groupScope(d.phase)
	scope := c.forEach(d, in.ForEach, base, at)
	d.name = c.Template(scope, in.Name, at.Child("name"))
	d.namespace = c.Template(scope, in.Namespace, at.Child("namespace"))
	if d.kind.GVK.Empty() {
		c.manifestIdentity(scope, d, short, at.Child("manifest", "metadata"))
	}
	c.Fail(check.OwnLabels(in.Labels, at.Child("labels"))...)
	c.Fail(check.OwnAnnotations(in.Annotations, at.Child("annotations"))...)
	// A name that is drawn anew each time would be another object each time.
	content := c.contentScope(scope, d.phase)
	if in.Once {
		content = content.WithRandom(c.Env.Random, c.Env.Now)
	}
	for k, v := range c.Spec.CommonLabels {
		d.labels[k] = c.Template(base, string(v), field.NewPath("spec", "commonLabels").Key(k))
	}
	for k, v := range c.Spec.CommonAnnotations {
		d.annotations[k] = c.Template(base, string(v), field.NewPath("spec", "commonAnnotations").Key(k))
	}
	for k, v := range in.Labels {
		d.labels[k] = c.Template(content, string(v), at.Child("labels").Key(k))
	}
	for k, v := range in.Annotations {
		d.annotations[k] = c.Template(content, string(v), at.Child("annotations").Key(k))
	}
	d.short = c.Tree(content, short, at)
	d.ports = c.Tree(content, only(short, fieldType, "port", "ports", "targetPort"), at)
	d.spec = c.Tree(content, spec, at.Child("spec"))

	if d.phase != stage.StepDeletion {
		d.gate = c.gate
	}
	own, errs := when.CompileGate(in.Gate, scope, at)
	c.Fail(errs...)
	d.gate = when.Join(d.gate, own)
	d.gateReadsItem = d.forEach != nil && slices.ContainsFunc(own.Paths(), d.forEach.readsItem)
	c.currentWhen(d, in.ReadyWhen, scope, at)
	d.usesChildren = c.Reads(d.paths())
	d.usesSecrets = slices.ContainsFunc(d.paths(), c.LeadsToSecret)
	c.LeadsTo(d.namespace)
}

// contentScope is the scope of what a declaration's child holds: there, and nowhere else, Secrets can be read.
func (c *compiler) contentScope(scope *expr.Scope, phase string) *expr.Scope {
	if phase == stage.StepDeletion || phase == stage.StepOnRollback {
		return c.ContentScope(scope, compile.RootChildren) // it reads no other objects
	}
	return c.ContentScope(scope, compile.RootChildren, compile.RootCross)
}

// manifestIdentity takes name and namespace from a manifest that has its own.
func (c *compiler) manifestIdentity(scope *expr.Scope, d *declaration, short map[string]any, at *field.Path) {
	m, _ := short["manifest"].(map[string]any)
	meta, _ := m["metadata"].(map[string]any)
	for _, part := range []string{"name", "namespace"} {
		if v := meta[part]; v != nil && value.TypeName(v) != value.TypeString {
			c.Fail(field.TypeInvalid(at.Child(part), value.TypeName(v), "wanted a string; YAML takes words such as y, no and on for booleans, so quote it"))
		}
	}
	if name, ok := meta["name"].(string); ok && d.name == nil {
		d.name = c.Template(scope, name, at.Child("name"))
	}
	if ns, ok := meta["namespace"].(string); ok && d.namespace == nil {
		d.namespace = c.Template(scope, ns, at.Child("namespace"))
	}
	labels, _ := meta["labels"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	c.Fail(check.OwnLabels(labels, at.Child("labels"))...)
	c.Fail(check.OwnAnnotations(annotations, at.Child("annotations"))...)
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

func only(m map[string]any, names ...string) map[string]any {
	out := map[string]any{}
	for _, n := range names {
		if v, ok := m[n]; ok {
			out[n] = v
		}
	}
	return out
}
