package pipeline

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/suggest"
	"github.com/orkspace/orkestra/engine/when"
)

// groups compiles the declarations of all groups and what they take from each other.
func (c *compiler) groups() {
	at := field.NewPath("spec")
	gate, errs := when.CompileGate(c.box.Spec.Gate, c.scope, at)
	c.fail(errs...)
	c.gate = gate
	c.createGroup = c.group(c.box.Spec.OnCreate, stepOnCreate, at.Child("onCreate"))
	c.reconcileGroup = c.group(c.box.Spec.OnReconcile, stepOnReconcile, at.Child("onReconcile"))
	c.deleteGroup = c.group(c.box.Spec.OnDelete, stepDeletion, at.Child("onDelete"))

	live := slices.Concat(c.createGroup, c.reconcileGroup)
	c.plan.OnCreateIDs = []string{}
	c.uniqueIDs(live)
	c.uniqueIDs(c.deleteGroup)
	for _, d := range live {
		d.order = len(c.plan.declarations)
		c.plan.declarations = append(c.plan.declarations, d)
		c.plan.byID[d.id] = d
		if d.kind.IsWorkload() {
			c.workloads = append(c.workloads, d)
		}
		if d.gvk.Group == "autoscaling" && d.gvk.Kind == "HorizontalPodAutoscaler" {
			c.plan.scalers = append(c.plan.scalers, d)
		}
		if d.kind.Key == keyServices {
			c.services = append(c.services, d)
		}
		if d.phase == stepOnCreate && d.once {
			c.plan.OnCreateIDs = append(c.plan.OnCreateIDs, d.id)
		}
	}
	for _, d := range c.deleteGroup {
		if c.plan.byID[d.id] == nil {
			c.plan.cleanupOnly[d.id] = d
		}
	}
	c.defaultSources(slices.Concat(live, c.deleteGroup))
	c.childKinds(slices.Concat(live, c.deleteGroup))
	c.ownerReferences(live)
	c.cycles(live)
}

const keyServices = "services"

// group compiles one resource group. Keys go in the order of their ranks and names, so that equal boxes make equal plans.
func (c *compiler) group(g v1alpha1.ResourceGroup, phase string, at *field.Path) []*declaration {
	var out []*declaration
	for _, key := range sortedKeys(g) {
		kind, ok := kinds.Lookup(key)
		if !ok {
			c.fail(c.unknownKind(at.Child(key), key))
			continue
		}
		for i := range g[key] {
			if d := c.declaration(kind, &g[key][i], phase, at.Child(key).Index(i)); d != nil {
				out = append(out, d)
			}
		}
	}
	return out
}

// sortedKeys gives the keys of a group by rank and name. Manifests come last: they have no rank of their own.
func sortedKeys(g v1alpha1.ResourceGroup) []string {
	place := func(key string) int {
		if kind, ok := kinds.Lookup(key); ok && !kind.GVK.Empty() {
			return kind.Rank
		}
		return math.MaxInt
	}
	return slices.SortedFunc(maps.Keys(g), func(a, b string) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b))
	})
}

func (c *compiler) unknownKind(at *field.Path, key string) *field.Error {
	return unknownKey(at, key, suggest.DidYouMean(key, kinds.Keys()))
}

// declaration compiles one entry; it is nil when its kind can't be told.
func (c *compiler) declaration(kind kinds.Kind, in *v1alpha1.Declaration, phase string, at *field.Path) *declaration {
	d := &declaration{
		kind: kind, gvk: kind.GVK, phase: phase, where: at.String(),
		optional: in.Optional, adopt: in.Adopt == v1alpha1.AdoptIfUnowned, orphan: in.DeletionPolicy == v1alpha1.ChildOrphan,
		labels: map[string]*expr.Template{}, annotations: map[string]*expr.Template{},
	}
	short := c.short(in, at)
	d.written = short
	spec := c.object(in.Spec, at.Child("spec"))
	d.overlay = spec
	c.errs = append(c.errs, kind.Check(short, spec, expr.IsTemplate, at)...)
	if kind.GVK.Empty() && !c.manifest(d, short, at) {
		return nil
	}
	c.templates(d, in, short, spec, at)
	c.mode(d, in, at)
	c.jobs(d, short, at)
	c.initialFields(d, in.InitialFields, at)
	c.whenFalse(d, in, at)
	c.identify(d, in, short, at)
	c.mayMake(d, at)
	c.place(d, in, short, at)
	c.literals(d, in, short, at)
	return d
}

// short decodes the short fields.
func (c *compiler) short(in *v1alpha1.Declaration, at *field.Path) map[string]any {
	out := make(map[string]any, len(in.Short))
	for name, raw := range in.Short {
		v, err := decodeJSON(&raw) // null has no raw JSON
		if err != nil {
			c.fail(field.Invalid(at.Child(name), string(raw.Raw), err.Error()))
			continue
		}
		if v != nil {
			out[name] = v
		}
	}
	return out
}

// object decodes a field that holds a JSON object.
func (c *compiler) object(in *apiextensionsv1.JSON, at *field.Path) map[string]any {
	v, err := decodeJSON(in)
	if err != nil {
		c.fail(field.Invalid(at, string(in.Raw), err.Error()))
		return nil
	}
	m, ok := v.(map[string]any)
	if !ok && v != nil {
		c.fail(field.TypeInvalid(at, typeName(v), "wanted an object"))
	}
	return m
}

// manifest reads what must be literal in a manifest: rights and watches are derived from it.
func (c *compiler) manifest(d *declaration, short map[string]any, at *field.Path) bool {
	m, ok := short["manifest"].(map[string]any)
	if !ok {
		return false // Check has said so.
	}
	apiVersion, okV := m["apiVersion"].(string)
	kind, okK := m["kind"].(string)
	gv, err := schema.ParseGroupVersion(apiVersion)
	if !okV || !okK || err != nil || expr.IsTemplate(apiVersion) || expr.IsTemplate(kind) {
		if err != nil {
			c.fail(field.Invalid(at.Child("manifest", "apiVersion"), apiVersion, "wanted group/version"))
		}
		return false
	}
	d.gvk = gv.WithKind(kind)
	if hint, unknown := kinds.Unknown(d.gvk); unknown && !c.installed(d.gvk) {
		c.fail(field.Invalid(at.Child("manifest", "kind"), kind, fmt.Sprintf("%s has no such kind%s", apiVersion, hint)))
	}
	return true
}

// installed says whether the API server serves a kind: a newer one may have more kinds than this version of Orkestra knows.
func (c *compiler) installed(gvk schema.GroupVersionKind) bool {
	if c.env.Mapper == nil {
		return false
	}
	_, err := c.env.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	return !meta.IsNoMatchError(err) // while the API server can't be asked, nothing is said
}

// templates compiles everything that may hold templates.
func (c *compiler) templates(d *declaration, in *v1alpha1.Declaration, short, spec map[string]any, at *field.Path) {
	base := c.scope
	if d.phase == stepDeletion {
		base = base.WithoutRoots(rootCross, rootExternal) // nothing but children is read when a resource goes
	}
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
	d.ports = c.tree(content, only(short, "type", "port", "ports", "targetPort"), at)
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
	if d.gate != nil {
		out = append(out, d.gate.Paths()...)
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
