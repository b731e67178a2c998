package value

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestTheGenerationThatWasSeen(t *testing.T) {
	status := func(seen any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"observedGeneration": seen}}}
	}
	for name, tc := range map[string]struct {
		obj  *unstructured.Unstructured
		c    *metav1.Condition
		want int64
	}{
		"of the condition":  {status(int64(2)), &metav1.Condition{ObservedGeneration: 3}, 3},
		"of the status":     {status(int64(2)), &metav1.Condition{}, 2},
		"without condition": {status(int64(2)), nil, 2},
		"of another type":   {status("2"), nil, 0},
		"neither says it":   {&unstructured.Unstructured{Object: map[string]any{}}, &metav1.Condition{}, 0},
		"an odd status":     {&unstructured.Unstructured{Object: map[string]any{"status": "fine"}}, nil, 0},
	} {
		if got := SeenGeneration(tc.obj, tc.c); got != tc.want {
			t.Errorf("%s: %d, wanted %d", name, got, tc.want)
		}
	}
}
