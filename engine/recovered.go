package engine

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// recovered says whether a resource is Ready although CRDHealth lists it as failing: a former process saw it succeed, and ended
// before it could say so there. The next success of this process is that one, and counts: nothing else would take it off the list.
func (b *box) recovered(stored *unstructured.Unstructured) bool {
	return conditionOf(stored, v1alpha1.ConditionReady).Status == metav1.ConditionTrue && b.tracker.Fails(keyOf(stored))
}
