package status

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// aCondition is the schema of one condition as most CRDs have it.
const aCondition = "{type: object, properties: {type: {type: string}, status: {type: string}, reason: {type: string}, message: {type: string}, " +
	"observedGeneration: {type: integer}, lastTransitionTime: {type: string, format: date-time}}}"

// aStatus is the schema of a status with everything.
const aStatus = `
type: object
properties:
  observedGeneration: {type: integer, format: int64}
  conditions: {type: array, items: ` + aCondition + `}
  phase: {type: string}
  replicas: {type: integer}
  ratio: {type: number}
  ready: {type: boolean}
  port: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
  free: {type: object, x-kubernetes-preserve-unknown-fields: true}
  labels: {type: object, additionalProperties: {type: string}}
  nodes: {type: array, items: {type: object, properties: {name: {type: string}, port: {type: integer}}}}
  nullable: {type: string, nullable: true}
  names: {type: array, items: {type: string}}
  gaps: {type: array, items: {type: string, nullable: true}}
  nested: {type: object, properties: {deep: {type: object, properties: {count: {type: integer}}}, mode: {type: string, default: auto}}}
`

var (
	early = metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	late  = metav1.NewTime(time.Date(2026, 1, 2, 4, 0, 0, 0, time.FixedZone("", 3600)))
)

func schemaOf(tb testing.TB, status string) *apiextensionsv1.JSONSchemaProps {
	tb.Helper()
	out := &apiextensionsv1.JSONSchemaProps{}
	if err := yaml.UnmarshalStrict([]byte(status), out); err != nil {
		tb.Fatal(err)
	}
	return &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
		"spec": {Type: "object"}, "status": *out,
	}}
}

func newWriter(tb testing.TB, status string) *Writer {
	tb.Helper()
	w, err := NewWriter(schemaOf(tb, status), true)
	if err != nil {
		tb.Fatal(err)
	}
	return w
}

// stored is a resource with that status, as the API server gives it.
func stored(tb testing.TB, status string) *unstructured.Unstructured {
	tb.Helper()
	data, err := yaml.YAMLToJSON([]byte("apiVersion: a/v1\nkind: K\nmetadata: {name: n, resourceVersion: '7'}\nstatus: " + status))
	if err != nil {
		tb.Fatal(err)
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(data); err != nil {
		tb.Fatal(err)
	}
	return obj
}

func success(fields ...Field) Result {
	return Result{Generation: 3, Ready: Succeeded(), Reconciling: Settled(), Stalled: NotStalled(), Fields: fields}
}

// write does what the API server would do with the patch for a result.
func write(tb testing.TB, w *Writer, obj *unstructured.Unstructured, r Result, now metav1.Time) (*unstructured.Unstructured, []byte) {
	tb.Helper()
	before := obj.DeepCopy()
	desired, _, err := w.Desired(obj, r, now)
	if err != nil {
		tb.Fatal(err)
	}
	patch, err := Patch(obj, desired)
	if err != nil {
		tb.Fatal(err)
	}
	if !sameValue(before.Object, obj.Object) {
		tb.Fatal("the stored resource was changed: it belongs to the cache")
	}
	if patch == nil {
		return obj, nil
	}
	tree := map[string]any{}
	if err := k8sjson.Unmarshal(patch, &tree); err != nil {
		tb.Fatal(err)
	}
	after := obj.DeepCopy()
	after.Object["status"] = mergePatch(after.Object["status"], tree["status"])
	data, err := json.Marshal(after.Object)
	if err != nil {
		tb.Fatal(err)
	}
	out := &unstructured.Unstructured{}
	if err := out.UnmarshalJSON(data); err != nil {
		tb.Fatal(err)
	}
	return out, patch
}

// mergePatch is RFC 7386.
func mergePatch(target, patch any) any {
	fields, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	out, _ := target.(map[string]any)
	if out == nil {
		out = map[string]any{}
	}
	for name, value := range fields {
		if value == nil {
			delete(out, name)
		} else {
			out[name] = mergePatch(out[name], value)
		}
	}
	return out
}

func conditionsIn(obj *unstructured.Unstructured) map[string]map[string]any {
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	out := map[string]map[string]any{}
	for _, entry := range list {
		m, _ := entry.(map[string]any)
		name, _ := m["type"].(string)
		out[name] = m
	}
	return out
}

func TestFirstWrite(t *testing.T) {
	g := NewWithT(t)
	w := newWriter(t, aStatus)
	g.Expect(w.Missing()).To(BeEmpty())
	for name, obj := range map[string]*unstructured.Unstructured{
		"empty": stored(t, "{}"), "null": stored(t, "null"), "no map": stored(t, "text"),
		"absent": {Object: map[string]any{"metadata": map[string]any{"resourceVersion": "7"}}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			obj.SetAPIVersion("a/v1")
			obj.SetKind("K")
			after, patch := write(t, w, obj, success(), late)
			g.Expect(patch).To(MatchJSON(`{"metadata":{"resourceVersion":"7"},"status":{"observedGeneration":3,"conditions":[
				{"type":"Ready","status":"True","reason":"ReconcileSucceeded","message":"the last reconcile succeeded","observedGeneration":3,"lastTransitionTime":"2026-01-02T03:00:00Z"},
				{"type":"Reconciling","status":"False","reason":"Settled","message":"nothing is under way","observedGeneration":3,"lastTransitionTime":"2026-01-02T03:00:00Z"},
				{"type":"Stalled","status":"False","reason":"NotStalled","message":"nothing stands in the way","observedGeneration":3,"lastTransitionTime":"2026-01-02T03:00:00Z"}]}}`))
			_, again := write(t, w, after, success(), early)
			g.Expect(again).To(BeNil(), "the same result writes nothing, whatever the time")
		})
	}
}

func TestConditions(t *testing.T) {
	g := NewWithT(t)
	w := newWriter(t, aStatus)
	obj := stored(t, `{observedGeneration: 3, conditions: [{type: Theirs, status: "True", note: kept}, {type: Ready, status: "True", reason: Old, lastTransitionTime: "2025-01-01T00:00:00Z"}, text]}`)
	after, patch := write(t, w, obj, success(), early)
	g.Expect(patch).NotTo(BeNil())
	list, _, _ := unstructured.NestedSlice(after.Object, "status", "conditions")
	g.Expect(list).To(HaveLen(5))
	g.Expect(list[0]).To(HaveKeyWithValue("type", "Theirs"))
	g.Expect(list[1]).To(HaveKeyWithValue("reason", "ReconcileSucceeded"))
	got := conditionsIn(after)
	g.Expect(got["Ready"]).To(HaveKeyWithValue("lastTransitionTime", "2025-01-01T00:00:00Z"), "the status is the same")
	g.Expect(got["Reconciling"]).To(HaveKeyWithValue("lastTransitionTime", "2026-01-02T03:04:05Z"))

	failed := success()
	failed.Generation, failed.Ready = 4, Failed("resources: no")
	after, _ = write(t, w, after, failed, late)
	got = conditionsIn(after)
	g.Expect(got["Ready"]).To(And(HaveKeyWithValue("status", "False"), HaveKeyWithValue("message", "resources: no"), HaveKeyWithValue("lastTransitionTime", "2026-01-02T03:00:00Z")))
	g.Expect(got["Stalled"]).To(And(HaveKeyWithValue("observedGeneration", int64(4)), HaveKeyWithValue("lastTransitionTime", "2026-01-02T03:04:05Z")))
	g.Expect(after.Object["status"]).To(HaveKeyWithValue("observedGeneration", int64(4)))
	g.Expect(got).To(HaveKey("Theirs"))
}

func TestConditionWithoutType(t *testing.T) {
	g := NewWithT(t)
	after, _ := write(t, newWriter(t, aStatus), stored(t, "{}"), Result{Generation: 1, Ready: Succeeded()}, early)
	g.Expect(conditionsIn(after)).To(And(HaveLen(1), HaveKey("Ready")))
}

func TestBrokenTransitionTime(t *testing.T) {
	g := NewWithT(t)
	obj := stored(t, `{conditions: [{type: Ready, status: "True", lastTransitionTime: ""}]}`)
	after, _ := write(t, newWriter(t, aStatus), obj, success(), early)
	g.Expect(conditionsIn(after)["Ready"]).To(HaveKeyWithValue("lastTransitionTime", "2026-01-02T03:04:05Z"))
}

func TestWithoutSubresource(t *testing.T) {
	g := NewWithT(t)
	w, err := NewWriter(schemaOf(t, aStatus), false)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(w.Writable()).To(BeFalse())
	g.Expect(newWriter(t, aStatus).Writable()).To(BeTrue())
	for _, status := range []string{"{}", "{phase: x, ratio: 1.0}", "null"} {
		_, patch := write(t, w, stored(t, status), success(Field{Path: []string{"phase"}, Value: "y"}), early)
		g.Expect(patch).To(BeNil())
	}
}

// What a schema does not know must never be in the patch: it would not be stored, and be written again and again.
func TestSchemasThatLackOurs(t *testing.T) {
	const both = "status.conditions and status.observedGeneration"
	for name, tc := range map[string]struct {
		schema, missing string
		conditions      bool
	}{
		"NoStatusProperties": {"type: object", both, false},
		"Preserved":          {"{type: object, x-kubernetes-preserve-unknown-fields: true}", "", true},
		"PreservedNoType":    {"x-kubernetes-preserve-unknown-fields: true", "", true},
		"OnlyGeneration":     {"{type: object, properties: {observedGeneration: {type: integer}}}", "status.conditions", false},
		"OnlyConditions":     {"{type: object, properties: {conditions: {type: array, items: " + aCondition + "}}}", "status.observedGeneration", true},
		"GenerationAsText":   {"{type: object, properties: {observedGeneration: {type: string}, conditions: {type: array, items: " + aCondition + "}}}", "status.observedGeneration", true},
		"GenerationAsNumber": {"{type: object, properties: {observedGeneration: {type: number}, conditions: {type: array, items: " + aCondition + "}}}", "", true},
		"ConditionsAsText":   {"{type: object, properties: {conditions: {type: string}}}", both, false},
		"ConditionsAsTexts":  {"{type: object, properties: {conditions: {type: array, items: {type: string}}}}", both, false},
		"ConditionsAsObject": {"{type: object, properties: {conditions: {type: object, x-kubernetes-preserve-unknown-fields: true}}}", both, false},
		"EmptyConditions":    {"{type: object, properties: {conditions: {type: array, items: {type: object}}}}", both, false},
		"NoConditionStatus":  {"{type: object, properties: {conditions: {type: array, items: {type: object, properties: {type: {type: string}}}}}}", both, false},
		"FreeConditions":     {"{type: object, properties: {conditions: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}", "status.observedGeneration", true},
		"SmallConditions":    {"{type: object, properties: {conditions: {type: array, items: {type: object, properties: {type: {type: string}, status: {type: string}}}}}}", "status.observedGeneration", true},
		"MapOfAnything":      {"{type: object, additionalProperties: true}", "status.conditions", false},
		"MapOfTexts":         {"{type: object, additionalProperties: {type: string}}", both, false},
		"BothPreservedItems": {"{type: object, properties: {observedGeneration: {}, conditions: {type: array, items: {x-kubernetes-preserve-unknown-fields: true}}}}", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWriter(t, tc.schema)
			g.Expect(w.Missing()).To(Equal(tc.missing))
			_, unknown, err := w.Desired(stored(t, "{}"), success(), early)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(unknown).To(BeEmpty(), "Missing tells of ours")
			after, _ := write(t, w, stored(t, "{}"), success(), early)
			if tc.conditions {
				g.Expect(conditionsIn(after)).To(HaveKey("Stalled"))
			} else {
				g.Expect(after.Object["status"]).NotTo(HaveKey("conditions"))
			}
			_, hasGeneration, _ := unstructured.NestedFieldNoCopy(after.Object, "status", "observedGeneration")
			g.Expect(hasGeneration).To(Equal(!strings.Contains(tc.missing, "observedGeneration")))
			_, again := write(t, w, after, success(), late)
			g.Expect(again).To(BeNil())
		})
	}
}

func TestNoSchema(t *testing.T) {
	g := NewWithT(t)
	w, err := NewWriter(nil, true)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(w.Missing()).To(BeEmpty())
	after, _ := write(t, w, stored(t, "{}"), success(Field{Path: []string{"a", "b"}, Value: []any{1, "x"}}), early)
	g.Expect(after.Object["status"]).To(HaveKeyWithValue("a", map[string]any{"b": []any{int64(1), "x"}}))

	yes := true
	w, err = NewWriter(&apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &yes}, true)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(w.Missing()).To(BeEmpty())

	w, err = NewWriter(&apiextensionsv1.JSONSchemaProps{Type: "object"}, true)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(w.Missing()).To(Equal("status.conditions and status.observedGeneration"))

	ref := "#/x"
	_, err = NewWriter(&apiextensionsv1.JSONSchemaProps{Properties: map[string]apiextensionsv1.JSONSchemaProps{"status": {Ref: &ref}}}, true)
	g.Expect(err).To(MatchError(HavePrefix("reading the CRD's schema: ")))
}

func TestPruneAndDefault(t *testing.T) {
	g := NewWithT(t)
	w := newWriter(t, aStatus)
	obj := stored(t, "{}")
	desired, unknown, err := w.Desired(obj, success(
		Field{Path: []string{"typo"}, Value: "x"},
		Field{Path: []string{"nested", "deep"}, Value: map[string]any{"count": "2", "more": true}},
		Field{Path: []string{"conditionsToo"}, Value: "x"},
		Field{Path: []string{"free", "any", "thing"}, Value: 1.5},
	), early)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(unknown).To(Equal([]string{"status.conditionsToo", "status.nested.deep.more", "status.typo"}))
	g.Expect(desired).To(HaveKeyWithValue("nested", map[string]any{"deep": map[string]any{"count": int64(2)}, "mode": "auto"}))
	g.Expect(desired).To(HaveKeyWithValue("free", map[string]any{"any": map[string]any{"thing": 1.5}}))
	g.Expect(desired).NotTo(HaveKey("typo"))
}

func TestAStoredStatusOfAnotherShape(t *testing.T) {
	g := NewWithT(t)
	w := newWriter(t, aStatus)
	for _, obj := range []*unstructured.Unstructured{nil, {}, {Object: map[string]any{"status": map[string]any{"conditions": "text", "phase": func() {}}}}} {
		desired, _, err := w.Desired(obj, success(), early)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(desired["conditions"]).To(HaveLen(3))
	}
	data, err := Patch(nil, map[string]any{"a": "b"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(data).To(MatchJSON(`{"status":{"a":"b"}}`))
	data, err = Patch(stored(t, "{b: null}"), map[string]any{"a": nil, "b": nil})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(data).To(BeNil(), "null is as good as absent")
	_, err = Patch(nil, map[string]any{"a": func() {}})
	g.Expect(err).To(MatchError(HavePrefix("encoding the status: ")))
}

func BenchmarkDesiredEqual(b *testing.B) {
	w := newWriter(b, aStatus)
	result := success(Field{Path: []string{"phase"}, Value: "Running"}, Field{Path: []string{"replicas"}, Value: int64(3)})
	after, _ := write(b, w, stored(b, "{}"), result, early)
	b.ReportAllocs()
	for b.Loop() {
		desired, _, err := w.Desired(after, result, late)
		if err != nil {
			b.Fatal(err)
		}
		if patch, err := Patch(after, desired); patch != nil || err != nil {
			b.Fatal("differs")
		}
	}
}
