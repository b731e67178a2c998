package drift

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sjson "k8s.io/apimachinery/pkg/util/json"
)

// FuzzDifferences compares any JSON tree with any other, under kinds with every sort of schema. Nothing may panic, an
// object never differs from itself, and a hash is the same each time.
func FuzzDifferences(f *testing.F) {
	kinds := []string{configMap, secret, service, claim, deployment, networkPolicy, budget, custom}
	for i, seed := range [][2]string{
		{`{"metadata":{"labels":{"a":"b"},"finalizers":["a"],"ownerReferences":[{"uid":"u"}],"annotations":{"a":null}},"data":{"a":"b"}}`, `{"metadata":"x","data":[]}`},
		{`{"stringData":{"a":"b"},"data":"x"}`, `{"data":{"a":"Yg=="}}`},
		{`{"spec":{"ports":[{"port":80,"targetPort":"80"},{"port":80.0},{"port":null},7],"selector":{"a":null,"b":""}}}`, `{"spec":{"ports":[{"protocol":"TCP","port":80}]}}`},
		{`{"spec":{"resources":{"requests":{"storage":"1Gi","b":1e3,"c":{}}}}}`, `{"spec":{"resources":{"requests":{"storage":1}}}}`},
		{`{"spec":{"replicas":0,"template":{"spec":{"containers":[{"name":"a","args":[null,[],{}]},{"name":"a","env":[{"name":"x"},{"name":"x"}]}]}}}}`, `{"spec":{"template":{"spec":{"containers":{"name":"a"}}}}}`},
		{`{"spec":{"ingress":[{"from":[{"namespaceSelector":{}}]}]}}`, `{"spec":{"ingress":[[]]}}`},
		{`{"spec":{"maxUnavailable":"1","selector":{"matchLabels":{"a":""}}}}`, `{"spec":{"maxUnavailable":[]}}`},
		{`{"spec":{"a":[[[{"b":9007199254740993}]]],"":-0.0}}`, `{"spec":{"a":[[[{}]]]}}`},
	} {
		f.Add(uint8(i), []byte(seed[0]), []byte(seed[1]))
	}
	comparer := NewComparer(nil)
	f.Fuzz(func(t *testing.T, kind uint8, desired, live []byte) {
		a, b := map[string]any{}, map[string]any{}
		if k8sjson.Unmarshal(desired, &a) != nil || k8sjson.Unmarshal(live, &b) != nil || a == nil || b == nil {
			return
		}
		of := object(t, kinds[int(kind)%len(kinds)], "")
		for _, tree := range []map[string]any{a, b} {
			tree["apiVersion"], tree["kind"] = of.GetAPIVersion(), of.GetKind()
		}
		x, y := &unstructured.Unstructured{Object: a}, &unstructured.Unstructured{Object: b}
		px, py := comparer.Prepare(x), comparer.Prepare(y)
		for _, d := range comparer.Differences(px, y) {
			if same := d; d.Path == "" || !d.Equal(same) {
				t.Fatalf("not a difference: %#v", d)
			}
		}
		if found := comparer.Differences(px, x); len(found) > 0 {
			t.Fatalf("differs from itself: %v", found)
		}
		if found := comparer.Differences(py, y.DeepCopy()); len(found) > 0 {
			t.Fatalf("differs from its copy: %v", found)
		}
		if copied := roundTrip(t, a); Hash(x) != Hash(copied) {
			t.Fatalf("another hash after a round trip through JSON: %s", desired)
		}
	})
}

func roundTrip(t *testing.T, tree map[string]any) *unstructured.Unstructured {
	t.Helper()
	data, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	if err := k8sjson.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: out}
}
