// Package derive makes an operator of manifests: a CRD, a box, and a resource for each instance that is given.
package derive

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/importer/draft"
	"github.com/orkspace/orkestra/controllers/input"
	"github.com/orkspace/orkestra/engine/expr"
)

// Kind is the kind that the operator is to serve.
type Kind struct {
	Group, Version, Name string
}

// Instance is one set of manifests.
type Instance struct {
	// Name of the resource that stands for it; empty: it is found out.
	Name string
	// Namespace of the resource; empty: that of most objects.
	Namespace string
	// Docs are the manifests.
	Docs []input.Document
}

// Resource stands for one instance.
type Resource struct {
	// Object is the resource.
	Object *draft.Object
	// Namespace in which its children are; empty: the manifests name none.
	Namespace string
	// Wanted are the manifests that it stands for, without what was left out.
	Wanted []Wanted
}

// Wanted is an object that a resource is to make.
type Wanted struct {
	// Doc is the manifest.
	Doc input.Document
	// Content is what is wanted of it.
	Content map[string]any
}

// Translate adds to a draft what manifests become, in the order CRD, box, resources. No resource: there is nothing to make.
func Translate(d *draft.Draft, kind Kind, allowGranting bool, instances []Instance) []Resource {
	t := &translation{Draft: d, kind: kind, allowGranting: allowGranting}
	for _, in := range instances {
		t.instances = append(t.instances, t.read(in))
	}
	t.group()
	if len(t.groups) == 0 {
		return nil
	}
	t.mergeAll()
	t.share()
	t.callFields()
	t.definition()
	t.box()
	return t.resources()
}

// mergeAll makes the manifests of all declarations: first of those that several instances have, since the others may read fields of these.
func (t *translation) mergeAll() {
	for _, alone := range []bool{false, true} {
		for _, g := range t.groups {
			if t.alone(g) == alone {
				t.merge(g)
			}
		}
	}
}

// alone says whether one instance of several has an object: nothing tells what of it would differ in another one.
func (t *translation) alone(g *group) bool { return len(t.instances) > 1 && len(g.present()) == 1 }

// translation is one under way.
type translation struct {
	*draft.Draft

	kind          Kind
	allowGranting bool
	instances     []*instance
	groups        []*group
	fields        []*field
}

// instance is what was read of one.
type instance struct {
	name, namespace string
	objects         []*object
	first           input.Document // says where it comes from
}

// object is one manifest.
type object struct {
	doc             input.Document
	content         map[string]any
	kind            string // with its group
	name, namespace string // namespace: only where it is not the instance's
	custom          bool   // the kind is none of Kubernetes
}

// group is the manifests of the instances that become one declaration.
type group struct {
	members  []*object // by instance; nil: it has none
	id       string
	short    string // tells its fields from those of others
	manifest map[string]any
	enabled  *field // nil: all instances have it
}

// present are the instances that have the object.
func (g *group) present() []int {
	var out []int
	for i, o := range g.members {
		if o != nil {
			out = append(out, i)
		}
	}
	return out
}

// first is the object by which a declaration is called.
func (g *group) first() *object { return g.members[g.present()[0]] }

// group finds the objects of all instances that belong together.
func (t *translation) group() {
	known := map[string]*group{}
	for i, in := range t.instances {
		for _, o := range in.objects {
			key := strings.Join([]string{o.kind, o.namespace, withoutName(o.name, in.name)}, "\x00")
			g := known[key]
			if g == nil {
				g = &group{members: make([]*object, len(t.instances))}
				known[key] = g
				t.groups = append(t.groups, g)
			}
			if g.members[i] != nil { // two names that are one without the instance's
				g = &group{members: make([]*object, len(t.instances))}
				t.groups = append(t.groups, g)
			}
			g.members[i] = o
		}
	}
	t.callGroups()
}

// callGroups gives each declaration an id.
func (t *translation) callGroups() {
	kinds := map[string]int{}
	for _, g := range t.groups {
		kinds[g.first().doc.Kind()]++
	}
	rests := t.rests()
	taken := map[string]bool{}
	for i, g := range t.groups {
		kind := g.first().doc.Kind()
		rest := camel(rests[i])
		g.short = rest
		if rest == "" {
			g.short = camel(kind)
		}
		id := camel(kind) + upperFirst(rest)
		if isKindName(id) && (rest != "" || kinds[kind] > 1) {
			id += "Object"
		}
		g.id = free(id, taken)
	}
}

// rests are the names of the groups without that of the instance, and without what all of them have in common, such as the name of a chart.
func (t *translation) rests() []string {
	words := make([][]string, 0, len(t.groups))
	common := -1
	for _, g := range t.groups {
		rest := withoutName(g.first().name, t.instances[g.present()[0]].name)
		words = append(words, strings.FieldsFunc(rest, func(r rune) bool { return r == '-' }))
		last := words[len(words)-1]
		n := 0
		for n < min(len(words[0]), len(last)) && words[0][n] == last[n] {
			n++
		}
		if common < 0 || n < common {
			common = n
		}
	}
	out := make([]string, 0, len(words))
	for _, w := range words {
		out = append(out, strings.Join(w[common:], "-"))
	}
	return out
}

// box adds the box.
func (t *translation) box() {
	declarations := make([]any, 0, len(t.groups))
	for _, g := range t.groups {
		declaration := map[string]any{"id": g.id, "manifest": g.manifest}
		if g.enabled != nil {
			declaration["when"] = []any{map[string]any{"field": "spec." + g.enabled.shown().name, "equals": true}}
		}
		if ns := g.first().namespace; ns != "" {
			declaration["namespace"] = expr.Literal(ns)
		}
		declarations = append(declarations, t.filled(declaration))
	}
	t.Add(t.instances[0].first, "", map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "OperatorBox", "metadata": map[string]any{"name": strings.ToLower(t.kind.Name)},
		"spec": map[string]any{
			"crd":         map[string]any{"name": t.kind.crd()},
			"onReconcile": map[string]any{"resources": declarations},
			"status":      map[string]any{"ready": "Current"},
		},
	})
}

// filled gives a value with the names of the fields in the place of the fields.
func (t *translation) filled(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, below := range v {
			out[key] = t.filled(below)
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, below := range v {
			out = append(out, t.filled(below))
		}
		return out
	case *field:
		return v.read()
	default:
		return v
	}
}

// resources adds the resource of each instance.
func (t *translation) resources() []Resource {
	out := make([]Resource, 0, len(t.instances))
	known := map[string]bool{}
	for i, in := range t.instances {
		if len(in.objects) == 0 {
			continue // a remark says so
		}
		if known[in.namespace+"/"+in.name] {
			t.Say(in.first, "", "", fmt.Sprintf("another instance is called %s, too, and only one of the two resources can be there: give names by --name, or namespaces in the manifests", in.name), false)
		}
		known[in.namespace+"/"+in.name] = true
		spec := map[string]any{}
		for _, f := range t.fields {
			if f.same == nil && f.has[i] {
				spec[f.name] = f.values[i]
			}
		}
		metadata := map[string]any{"name": in.name}
		if in.namespace != "" {
			metadata["namespace"] = in.namespace
		}
		r := Resource{Namespace: in.namespace, Object: t.Add(in.first, "", map[string]any{
			"apiVersion": t.kind.Group + "/" + t.kind.Version, "kind": t.kind.Name, "metadata": metadata, "spec": spec,
		})}
		for _, o := range in.objects {
			r.Wanted = append(r.Wanted, Wanted{Doc: o.doc, Content: o.content})
		}
		out = append(out, r)
	}
	return out
}

// sortedKeys are the keys that any of some maps has.
func sortedKeys(all []map[string]any) []string {
	keys := map[string]bool{}
	for _, m := range all {
		for key := range m {
			keys[key] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}
