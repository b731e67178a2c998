// Package kro makes a CRD and a box of kro's ResourceGraphDefinition.
package kro

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/importer/draft"
	"github.com/orkspace/orkestra/controllers/input"
	"github.com/orkspace/orkestra/engine/suggest"
)

// Kind is the kind of a definition.
const Kind = "ResourceGraphDefinition"

// group is kro's, and that of kinds whose definition names none.
const group = "kro.run"

// Is says whether a document is a definition of kro.
func Is(doc input.Document) bool { return doc.Kind() == Kind }

// Translate adds the CRD and the box of a definition.
func Translate(d *draft.Draft, doc input.Document) {
	subject := fmt.Sprintf("%s %q", Kind, doc.Name())
	if doc.APIVersion() != group+"/v1alpha1" {
		d.Say(doc, subject, "apiVersion", fmt.Sprintf("%q has no %s that is known here: wanted %s/v1alpha1", doc.APIVersion(), Kind, group), true)
		return
	}
	spec, ok := doc.Content["spec"].(map[string]any)
	schema, has := spec["schema"].(map[string]any)
	if !ok || !has {
		d.Say(doc, subject, "spec.schema", "wanted an object with apiVersion, kind and spec", true)
		return
	}
	crd := d.Add(doc, subject, map[string]any{"apiVersion": apiextensionsv1.SchemeGroupVersion.String(), "kind": input.KindCRD})
	own := map[string]any{}
	box := d.Add(doc, subject, map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "OperatorBox",
		"metadata": map[string]any{"name": doc.Name()}, "spec": own,
	})
	box.Comes("metadata", "metadata")
	g := &graph{box: box, spec: own, byID: map[string]*node{}}
	for _, name := range slices.Sorted(maps.Keys(spec)) {
		if name != "schema" && name != "resources" {
			box.Note("spec", draft.Below("spec", name), noEquivalent(name))
		}
	}
	g.crd(crd, schema)
	g.read(spec["resources"])
	g.declare()
	g.status(schema[fieldStatus])
	if len(g.values.list) > 0 {
		own["values"] = g.values.list
	}
}

// noEquivalent says why a field is left out.
func noEquivalent(name string) string {
	if name == "defaultServiceAccounts" {
		return "left out: a box acts as one account, which spec.serviceAccountRef names"
	}
	return "left out: nothing here is called so"
}

// graph is a definition on its way to a box.
type graph struct {
	box    *draft.Object
	spec   map[string]any // of the box
	nodes  []*node
	byID   map[string]*node
	values values
}

// values are the expressions that get a name, since templates can't say them.
type values struct {
	list []any
	cel  map[string]string // the name of each expression
	used map[string]bool   // names
}

// value gives the name of an expression that is written in a field, after a base name where it gets one.
func (g *graph) value(base, cel, from string) string {
	v := &g.values
	if v.cel == nil {
		v.cel, v.used = map[string]string{}, map[string]bool{}
	}
	if name, known := v.cel[cel]; known {
		return name
	}
	name := base
	for i := 2; v.used[name]; i++ {
		name = fmt.Sprintf("%s%d", base, i)
	}
	v.cel[cel], v.used[name] = name, true
	at := fmt.Sprintf("spec.values[%d]", len(v.list))
	g.box.Comes(at, from)
	g.box.Comes(at+".cel", from)
	v.list = append(v.list, map[string]any{"name": name, "cel": cel})
	return name
}

// named makes the name of a value of an id and the last field of a path: deploymentReplicas.
func named(id, path string) string {
	last := path[strings.LastIndexAny(path, ".]")+1:]
	var b strings.Builder
	for _, r := range last {
		if r < 'a' || r > 'z' {
			if (r < 'A' || r > 'Z') && (r < '0' || r > '9') {
				continue
			}
		}
		b.WriteRune(r)
	}
	name := id + capital(b.String())
	return name[:min(len(name), 56)] // a number may come behind it
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// unknown says that nothing has a name that an expression reads.
func (g *graph) unknown(name string) error {
	known := append(slices.Sorted(maps.Keys(g.byID)), schemaName)
	return fmt.Errorf("nothing has the name %s%s", name, suggest.DidYouMean(name, known))
}
