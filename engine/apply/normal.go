package apply

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/lru"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/drift"
)

// normalForms remembers, by the UID of the child, which declared values the API server stores in another form than Comparer expects, so
// that they are not taken for drift and applied in each cycle. It is safe for concurrent use.
type normalForms struct{ byUID *lru.Cache }

// normalForm is what still differed after an apply of one child, and the hash of what was applied.
type normalForm struct {
	hash        string
	differences []drift.Difference
}

// newNormalForms keeps 65,536 children, more than most clusters have; for one that was evicted, one apply is sent that changes nothing.
func newNormalForms() normalForms { return normalForms{byUID: lru.New(1 << 16)} }

// learn takes in which differences the answer to an apply still has.
func (n normalForms) learn(applied, answer *unstructured.Unstructured, left []drift.Difference) {
	if len(left) == 0 {
		n.byUID.Remove(answer.GetUID())
		return
	}
	n.byUID.Add(answer.GetUID(), normalForm{hash: applied.GetAnnotations()[v1alpha1.AnnotationApplied], differences: left})
}

// without leaves out differences that our own last apply left as well.
func (n normalForms) without(live *unstructured.Unstructured, hash string, found []drift.Difference) []drift.Difference {
	if len(found) == 0 {
		return nil
	}
	v, ok := n.byUID.Get(live.GetUID())
	form, isForm := v.(normalForm)
	if !ok || !isForm || form.hash != hash {
		return found
	}
	return slices.DeleteFunc(found, func(d drift.Difference) bool {
		return slices.ContainsFunc(form.differences, d.Equal)
	})
}
