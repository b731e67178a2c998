package apply

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/drift"
)

// learn hands the answer to the cache and remembers what the server made of our values: that is no drift.
func (w *Writer) learn(prepared *drift.Prepared, obj, answer *unstructured.Unstructured) {
	w.cache.Wrote(obj.GroupVersionKind(), answer)
	if w.client.isDry() {
		return
	}
	left := w.comparer.Differences(prepared, answer)
	if len(left) == 0 {
		w.normal.Remove(answer.GetUID())
		return
	}
	w.normal.Add(answer.GetUID(), normalForm{hash: obj.GetAnnotations()[v1alpha1.AnnotationApplied], differences: left})
}

// normalForm is what the server made of one child.
type normalForm struct {
	hash        string
	differences []drift.Difference
}

// withoutNormalForm leaves out differences that our own last apply left as well.
func (w *Writer) withoutNormalForm(live *unstructured.Unstructured, hash string, found []drift.Difference) []drift.Difference {
	if len(found) == 0 {
		return nil
	}
	v, ok := w.normal.Get(live.GetUID())
	form, isForm := v.(normalForm)
	if !ok || !isForm || form.hash != hash {
		return found
	}
	return slices.DeleteFunc(found, func(d drift.Difference) bool {
		return slices.ContainsFunc(form.differences, d.Equal)
	})
}
