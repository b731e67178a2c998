package rollback

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestSnapshotsAreShownWithoutTheKey: what somebody has replaced, or put where it does not belong, is said.
func TestSnapshotsAreShownWithoutTheKey(t *testing.T) {
	g := NewWithT(t)
	s, w := newStore(t)
	w.save(g, s, 1)
	w.save(g, s, 2)
	mine := w.at(3)
	objects := w.Owned(Kind, mine.GetUID())
	g.Expect(generations(Shown(mine, objects))).To(Equal([]int64{2, 1}))
	for _, e := range Shown(mine, objects) {
		g.Expect(e.Err).NotTo(HaveOccurred())
	}

	other := mine.DeepCopy()
	other.SetUID("another")
	g.Expect(Shown(other, objects)[0].Err).To(MatchError("it is the snapshot of another resource"))

	replaced := objects[0].DeepCopy()
	g.Expect(unstructured.SetNestedField(replaced.Object, "forged", "data", "spec", "image")).To(Succeed())
	g.Expect(Shown(mine, []*unstructured.Unstructured{replaced})[0].Err).To(MatchError(ContainSubstring("somebody has replaced it")))

	going, unlabeled := objects[0].DeepCopy(), objects[0].DeepCopy()
	now := metav1.Now()
	going.SetDeletionTimestamp(&now)
	unlabeled.SetLabels(nil)
	g.Expect(Shown(mine, []*unstructured.Unstructured{going, unlabeled})).To(BeEmpty())
}
