package pipeline

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/suggest"
	"github.com/orkspace/orkestra/engine/value"
	"github.com/orkspace/orkestra/engine/when"
)

// groups compiles the declarations of all groups and what they take from each other.
func (c *compiler) groups() {
	at := field.NewPath("spec")
	gate, errs := when.CompileGate(c.Spec.Gate, c.Scope, at)
	c.Fail(errs...)
	c.gate = gate
	c.createGroup = c.group(c.Spec.OnCreate, stage.StepOnCreate, at.Child("onCreate"))
	c.reconcileGroup = c.group(c.Spec.OnReconcile, stage.StepOnReconcile, at.Child("onReconcile"))
	c.deleteGroup = c.group(c.Spec.OnDelete, stage.StepDeletion, at.Child("onDelete"))
	c.rollbackGroup = c.onRollback(at.Child("rollback", "onRollback"))

	live := slices.Concat(c.createGroup, c.reconcileGroup)
	c.plan.OnCreateIDs = []string{}
	c.uniqueIDs(live)
	c.uniqueIDs(c.deleteGroup)
	c.uniqueIDs(c.rollbackGroup)
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
		if d.phase == stage.StepOnCreate && d.once {
			c.plan.OnCreateIDs = append(c.plan.OnCreateIDs, d.id)
		}
	}
	for _, d := range c.deleteGroup {
		if c.plan.byID[d.id] == nil {
			c.plan.cleanupOnly[d.id] = d
		}
	}
	for _, d := range c.rollbackGroup {
		if c.plan.byID[d.id] == nil {
			c.plan.rollbackOnly[d.id] = d
		}
	}
	all := slices.Concat(live, c.rollbackGroup, c.deleteGroup)
	c.defaultSources(all)
	for _, d := range all {
		d.outside = c.Outside(d.outsidePaths())
	}
	c.childKinds(all)
	c.ownerReferences(slices.Concat(live, c.rollbackGroup))
	c.quotable(all)
	c.reading(live)
	c.reading(c.rollbackGroup)
	c.needed(live)
	c.cycles(live)
	c.cycles(c.rollbackGroup)
}

const keyServices = "services"

// group compiles one resource group. Keys go in the order of their ranks and names, so that equal boxes make equal plans.
func (c *compiler) group(g v1alpha1.ResourceGroup, phase string, at *field.Path) []*declaration {
	var out []*declaration
	for _, key := range sortedKeys(g) {
		kind, ok := kinds.Lookup(key)
		if !ok {
			c.Fail(c.unknownKind(at.Child(key), key))
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
	hint := suggest.DidYouMean(key, kinds.Keys())
	if hint == "" {
		hint = "; a kind that has no key goes under resources, as a manifest"
	}
	return unknownKey(at, key, hint)
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
	c.Fail(kind.Check(short, spec, expr.IsTemplate, at)...)
	if kind.GVK.Empty() && !c.manifest(d, short, at) {
		return nil
	}
	c.templates(d, in, short, spec, at)
	c.mode(d, in, at)
	c.replacing(d, in, at)
	c.jobs(d, short, at)
	c.initialFields(d, in.InitialFields, at)
	c.whenFalse(d, in, at)
	c.identify(d, in, short, at)
	c.mayMake(d, in, short, at)
	c.place(d, in, short, at)
	c.literals(d, in, short, at)
	return d
}

// short decodes the short fields.
func (c *compiler) short(in *v1alpha1.Declaration, at *field.Path) map[string]any {
	out := make(map[string]any, len(in.Short))
	for name, raw := range in.Short {
		if v, ok := c.JSON(&raw, at.Child(name)); ok && v != nil { // null has no raw JSON
			out[name] = v
		}
	}
	return out
}

// object decodes a field that holds a JSON object.
func (c *compiler) object(in *apiextensionsv1.JSON, at *field.Path) map[string]any {
	v, _ := c.JSON(in, at)
	m, ok := v.(map[string]any)
	if !ok && v != nil {
		c.Fail(field.TypeInvalid(at, value.TypeName(v), "wanted an object"))
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
			c.Fail(field.Invalid(at.Child("manifest", "apiVersion"), apiVersion, "wanted group/version"))
		}
		return false
	}
	d.gvk = gv.WithKind(kind)
	if hint, unknown := kinds.Unknown(d.gvk); unknown && !c.Installed(d.gvk) {
		c.Fail(field.Invalid(at.Child("manifest", "kind"), kind, fmt.Sprintf("%s has no such kind%s", apiVersion, hint)))
	}
	return true
}
