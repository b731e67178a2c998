package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Unkept gives the last patch for a resource that is let go: nobody keeps it and its children any more, so that nobody knows how they are.
// Declared fields and other conditions stay. nil: there is nothing to write.
func (w *Writer) Unkept(stored *unstructured.Unstructured, reason, message string, now metav1.Time) ([]byte, error) {
	if !w.Writable() {
		return nil, nil
	}
	desired, _, err := w.Desired(stored, Result{
		Generation:  stored.GetGeneration(),
		Ready:       ready(metav1.ConditionUnknown, reason, message),
		Reconciling: NotProgressing(reason, message),
		Stalled:     NotStalled(),
	}, now)
	if err != nil {
		return nil, err
	}
	return Patch(stored, desired)
}
