package pipeline

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/config/crd"
	"github.com/orkspace/orkestra/engine/boxspec"
)

// everyPart is a box that has one entry in every list of its typed fields that this version acts on.
const everyPart = `
namespaces: {include: ["team-*"], exclude: [team-b]}
selector: {matchLabels: {a: b}, matchExpressions: [{key: c, operator: In, values: [d]}]}
commonLabels: {a: b}
commonAnnotations: {a: b}
dependsOn: [{name: other}]
finalizers: [example.io/own]
normalize: {spec: {image: "{{ .spec.image }}"}}
mutation: {rules: [{field: spec.replicas, default: 1, when: [{field: spec.image, exists: true}], anyOf: [{field: spec.image, exists: true}]}]}
validation: {rules: [{field: spec.image, operator: exists, when: [{field: spec.image, exists: true}], anyOf: [{field: spec.image, exists: true}]}]}
cross: [{name: db, apiVersion: v1, kind: ConfigMap, optional: true, selector: {name: db, matchLabels: {a: b}, matchExpressions: [{key: a, operator: In, values: [b]}]}}]
external: [{name: quota, url: "https://quota.example.com", query: {a: b}, headers: {a: b}, expectedStatus: [200],
  when: [{field: spec.tls, equals: true}], anyOf: [{field: spec.tls, equals: true}]}]
when: [{field: spec.image, exists: true}]
anyOf: [{field: spec.image, exists: true}]
onCreate: {configmaps: [{id: first, name: first, data: {a: b}, labels: {a: b}, annotations: {a: b}, initialFields: [data.a],
  when: [{field: spec.image, exists: true}], anyOf: [{field: spec.image, exists: true}], readyWhen: [{field: object.data.a, exists: true}]}]}
onReconcile: {configmaps: [{id: second, name: second, data: {a: b}, labels: {a: b}, annotations: {a: b}, initialFields: [data.a],
  when: [{field: spec.image, exists: true}], anyOf: [{field: spec.image, exists: true}], readyWhen: [{field: object.data.a, exists: true}]}]}
onDelete: {configmaps: [{id: third, name: third, data: {a: b}, labels: {a: b}, annotations: {a: b}, initialFields: [data.a],
  when: [{field: spec.image, exists: true}], anyOf: [{field: spec.image, exists: true}], readyWhen: [{field: object.data.a, exists: true}]}]}
rollback: {onRollback: {configmaps: [{id: fourth, name: fourth, data: {a: b}, labels: {a: b}, annotations: {a: b}, initialFields: [data.a],
  when: [{field: spec.image, exists: true}], anyOf: [{field: spec.image, exists: true}], readyWhen: [{field: object.data.a, exists: true}]}]}}
status: {fields: [{path: phase, value: x, when: [{field: spec.image, exists: true}], anyOf: [{field: spec.image, exists: true}]}],
  readyWhen: [{field: spec.image, exists: true}]}
`

// says are objects of the box that say something by being there.
var says = []string{"rollback", "rollback.trigger"}

// needs are objects of which the API server refuses an empty one: it needs a field.
var needs = []string{
	"autoscale", "autoscale.conditions", "autoscale.do", "serviceAccountRef", "external.auth", "external.auth.secretRef", "external.caBundle", "crd", "admission",
	"reconciler.hooks.webhook", "reconciler.hooks.webhook.service", "reconciler.hooks.webhook.auth", "reconciler.hooks.webhook.auth.secretRef", "reconciler.hooks.webhook.caBundle",
}

// bare are fields that are maps, though their type does not say so.
var bare = []string{"providers", "spec", "labels", "annotations", "commonLabels", "commonAnnotations", "matchLabels", "query", "headers"}

// laterPart came after everyPart, whose revision is that of former versions.
const laterPart = "annotationSelector: {matchAnnotations: {a: b}, matchExpressions: [{key: c, operator: In, values: [d]}]}\n"

// TestEmptyListsAndMapsSayNothing leaves out each list and map of a box, and writes it as null and as empty: these are one box, with
// one revision, and what it does is the same.
func TestEmptyListsAndMapsSayNothing(t *testing.T) {
	var w emptyWalk
	w.walk(reflect.TypeFor[v1alpha1.OperatorBoxSpec](), nil)
	if len(w.found) < 70 {
		t.Fatalf("only %d lists and maps were found", len(w.found))
	}
	schema := boxSchema(t)
	for _, place := range w.found {
		t.Run(strings.Join(place.path, "."), func(t *testing.T) {
			g := gomega.NewWithT(t)
			absent := w.spec(t, place, nil, true)
			for _, empty := range []any{nil, place.empty} {
				other := w.spec(t, place, empty, false)
				g.Expect(boxspec.Revision(other)).To(gomega.Equal(boxspec.Revision(absent)), "%v", empty)
				g.Expect(outcomeOf(t, other)).To(gomega.Equal(outcomeOf(t, absent)), "%v", empty)
				g.Expect(boxspec.Revision(stored(t, schema, other))).To(gomega.Equal(boxspec.Revision(stored(t, schema, absent))), "%v, as the API server stores it", empty)
			}
			if around, ok := w.around(place); ok {
				only := place
				only.path, only.empty = around.path, map[string]any{place.path[len(place.path)-1]: place.empty}
				g.Expect(boxspec.Revision(w.spec(t, only, only.empty, false))).To(gomega.Equal(boxspec.Revision(w.spec(t, around, nil, true))), "what holds nothing else")
			}
			kept := boxspec.Revision(boxOf(t, everyPart+laterPart))
			if len(place.path) < 3 && w.filled(t, place) {
				g.Expect(boxspec.Revision(absent)).NotTo(gomega.Equal(kept), "what it held says something")
			}
		})
	}
}

// TestEmptyValuesOfPeopleStay: in what is handed on, only its reader knows what an empty list means.
func TestEmptyValuesOfPeopleStay(t *testing.T) {
	for name, specs := range map[string][2]string{
		"a value of a normalize rule": {`{normalize: {spec: {tags: []}}}`, `{normalize: {spec: {}}}`},
		"the value of a condition":    {`{when: [{field: spec.tags, equals: []}]}`, `{when: [{field: spec.tags, equals: {}}]}`},
		"an override":                 {`{mutation: {rules: [{field: spec.any, override: []}]}}`, `{mutation: {rules: [{field: spec.any, override: {}}]}}`},
		"inside a manifest": {
			`{onReconcile: {resources: [{manifest: {apiVersion: a.example.com/v1, kind: A, spec: {list: []}}}]}}`,
			`{onReconcile: {resources: [{manifest: {apiVersion: a.example.com/v1, kind: A, spec: {}}}]}}`,
		},
		"inside the spec of a declaration": {
			`{onReconcile: {deployments: [{image: a, spec: {template: {spec: {tolerations: []}}}}]}}`,
			`{onReconcile: {deployments: [{image: a, spec: {template: {spec: {}}}}]}}`,
		},
		"the selector of a Service": {
			`{onReconcile: {deployments: [{image: a}], services: [{selector: {}}]}}`, `{onReconcile: {deployments: [{image: a}], services: [{}]}}`,
		},
		"the selector of a NetworkPolicy": {
			`{onReconcile: {deployments: [{image: a}], networkpolicies: [{podSelector: {}}]}}`,
			`{onReconcile: {deployments: [{image: a}], networkpolicies: [{}]}}`,
		},
		"a rollback": {`{rollback: {}}`, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			g.Expect(boxspec.Revision(boxOf(t, specs[0]))).NotTo(gomega.Equal(boxspec.Revision(boxOf(t, specs[1]))))
		})
	}
}

// TestRevisionsOfBoxesWithoutEmptyFieldsStay: a box that was written without them has the revision that it had in former versions.
func TestRevisionsOfBoxesWithoutEmptyFieldsStay(t *testing.T) {
	g := gomega.NewWithT(t)
	g.Expect(boxspec.Revision(boxOf(t, everyPart))).To(gomega.Equal("website-48d7eff48a"))
	older := strings.ReplaceAll(everyPart, ", matchExpressions: [{key: a, operator: In, values: [b]}]", "")
	g.Expect(boxspec.Revision(boxOf(t, older))).To(gomega.Equal("website-509655caab"), "a field that came later and is left out")
}

// TestObjectsThatSayNothingWithTheirDefaults: what the API server fills in says no more than what is left out.
func TestObjectsThatSayNothingWithTheirDefaults(t *testing.T) {
	for name, same := range map[string][]string{
		"nothing":    {`{status: {ready: Reconciled}}`, `{deletion: {timeout: 300s, ordered: false}}`, `{deletion: {children: GarbageCollector}}`, `{reconciler: {default: true, hooks: {}}}`, `{apiTypes: {location: ""}}`, `{providers: {}}`, `{providers: {aws: []}}`, `{}`},
		"ready":      {`{status: {ready: Current}}`, `{status: {ready: Current, fields: []}}`},
		"a deadline": {`{deletion: {timeout: 1m}}`, `{deletion: {timeout: 1m, childrenFirst: false}}`},
		"an order":   {`{deletion: {ordered: true}}`},
		"reverse":    {`{deletion: {children: Reverse}}`},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			for _, spec := range same {
				g.Expect(boxspec.Revision(boxOf(t, spec))).To(gomega.Equal(boxspec.Revision(boxOf(t, same[0]))), spec)
			}
			if name != "nothing" {
				g.Expect(boxspec.Revision(boxOf(t, same[0]))).NotTo(gomega.Equal(boxspec.Revision(boxOf(t, "{}"))))
			}
		})
	}
}

// stored is a box with what the API server fills in.
func stored(tb testing.TB, schema *structuralschema.Structural, box *v1alpha1.OperatorBox) *v1alpha1.OperatorBox {
	tb.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(box)
	if err != nil {
		tb.Fatal(err)
	}
	defaulting.Default(content, schema)
	out := &v1alpha1.OperatorBox{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, out); err != nil {
		tb.Fatal(err)
	}
	return out
}

// boxSchema is the schema that the API server has of a box.
func boxSchema(tb testing.TB) *structuralschema.Structural {
	tb.Helper()
	var own apiextensionsv1.CustomResourceDefinition
	var props apiextensions.JSONSchemaProps
	if err := yaml.Unmarshal(crd.BoxDefinition(), &own); err != nil {
		tb.Fatal(err)
	}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(own.Spec.Versions[0].Schema.OpenAPIV3Schema, &props, nil); err != nil {
		tb.Fatal(err)
	}
	schema, err := structuralschema.NewStructural(&props)
	if err != nil {
		tb.Fatal(err)
	}
	return schema
}

// place is where a list or map stands in the spec of a box.
type place struct {
	path  []string
	empty any
}

// emptyWalk finds every list and map of the API types, and goes into the entries that everyPart has.
type emptyWalk struct{ found []place }

func (w *emptyWalk) walk(t reflect.Type, at []string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" && f.Anonymous {
			w.walk(f.Type, at)
		} else if name != "-" {
			w.field(f.Type, slices.Concat(at, []string{name}))
		}
	}
}

func (w *emptyWalk) field(t reflect.Type, at []string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[apiextensionsv1.JSON]():
		if slices.Contains(bare, at[len(at)-1]) {
			w.found = append(w.found, place{at, map[string]any{}})
		}
	case t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		if !slices.Contains(slices.Concat(says, needs), strings.Join(at, ".")) && !slices.Contains(at, "forEach") {
			w.found = append(w.found, place{at, map[string]any{}})
		}
		w.walk(t, at)
	case t.Kind() == reflect.Slice:
		w.found = append(w.found, place{at, []any{}})
		w.entry(t.Elem(), at)
	case t.Kind() == reflect.Map:
		w.found = append(w.found, place{at, map[string]any{}})
		if t == reflect.TypeFor[v1alpha1.ResourceGroup]() {
			w.field(t.Elem(), slices.Concat(at, []string{"configmaps"}))
		}
	}
}

func (w *emptyWalk) entry(t reflect.Type, at []string) {
	switch {
	case t == reflect.TypeFor[v1alpha1.Declaration]():
		w.walk(reflect.TypeFor[v1alpha1.CommonFields](), at)
	case t.Kind() == reflect.Struct && t != reflect.TypeFor[v1alpha1.Condition]():
		w.walk(t, at)
	}
}

// around is the place of the map that a place stands in, if it is one and no entry of a list.
func (w *emptyWalk) around(p place) (place, bool) {
	at := p.path[:len(p.path)-1]
	i := slices.IndexFunc(w.found, func(o place) bool {
		_, isMap := o.empty.(map[string]any)
		return isMap && slices.Equal(o.path, at)
	})
	if i < 0 {
		return place{}, false
	}
	return w.found[i], true
}

// spec is everyPart with another value at a place.
func (w *emptyWalk) spec(tb testing.TB, p place, value any, absent bool) *v1alpha1.OperatorBox {
	tb.Helper()
	tree := w.tree(tb)
	parent := w.parent(tree, p)
	if last := p.path[len(p.path)-1]; absent {
		delete(parent, last)
	} else {
		parent[last] = value
	}
	raw, err := json.Marshal(tree)
	if err != nil {
		tb.Fatal(err)
	}
	return boxOf(tb, string(raw))
}

// filled says whether everyPart has something at a place.
func (w *emptyWalk) filled(tb testing.TB, p place) bool {
	tb.Helper()
	return w.parent(w.tree(tb), p)[p.path[len(p.path)-1]] != nil
}

func (w *emptyWalk) tree(tb testing.TB) map[string]any {
	tb.Helper()
	var tree map[string]any
	if err := yaml.Unmarshal([]byte(everyPart+laterPart), &tree); err != nil {
		tb.Fatal(err)
	}
	return tree
}

// parent is the object around a place: of a list its first entry. What is missing is made.
func (w *emptyWalk) parent(tree map[string]any, p place) map[string]any {
	at := tree
	for _, name := range p.path[:len(p.path)-1] {
		switch below := at[name].(type) {
		case map[string]any:
			at = below
		case []any:
			at, _ = below[0].(map[string]any)
		default:
			made := map[string]any{}
			at[name], at = made, made
		}
	}
	return at
}

// outcomeOf is what is wrong with a box, or what a run of it writes.
func outcomeOf(tb testing.TB, box *v1alpha1.OperatorBox) []string {
	tb.Helper()
	plan, errs := Compile(box, Env{CRD: websites(tb)})
	if plan == nil {
		return messages(errs)
	}
	p := newPorts()
	_, err := p.run(plan, website(tb, `{image: a, replicas: 2}`))
	return append(p.done(), fmt.Sprint(err))
}
