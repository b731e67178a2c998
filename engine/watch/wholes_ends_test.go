package watch

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/engine/packed"
)

// An end carries what was last known: whether it was being deleted, and held.
func TestTheLastStateOfOneThatGoesIsTheNewest(t *testing.T) {
	g := NewWithT(t)
	obj := cup("a", "1", "yes")
	obj.SetFinalizers([]string{"a.io/b"})
	gone := metadataOf(cup("a", "3", "yes"))
	gone.Labels = map[string]string{"by": "box"}
	gone.DeletionTimestamp = new(metav1.NewTime(time.Unix(1, 0)))
	last := withHead(packed.Whole(obj), packed.Whole(headOf(gone)))
	g.Expect(last.GetResourceVersion()).To(Equal("3"))
	g.Expect(last.GetFinalizers()).To(BeEmpty())
	g.Expect(last.GetDeletionTimestamp()).NotTo(BeNil())
	g.Expect(last.GetLabels()).To(Equal(gone.Labels))
	g.Expect(obj.GetFinalizers()).To(HaveLen(1), "what others hold stays as it is")
	g.Expect(withHead(nil, packed.Whole(headOf(gone)))).To(BeNil())
}

// What a box has noted on an object is read of its end, also where only the metadata is known.
func TestTheEndOfAMarkedObjectSaysWhoseMarksItCarries(t *testing.T) {
	marked := func(version, serve string) *unstructured.Unstructured {
		obj := cup("a", version, serve)
		obj.SetLabels(map[string]string{"by": "box"})
		return obj
	}
	remade := func(a *annotated) {
		obj := named("second", marked("9", "yes"))
		a.Expect(a.whole.Tracker().Update(cups, obj, "ns")).To(Succeed())
		a.tell(obj)
	}
	for name, tc := range map[string]struct {
		first, second *unstructured.Unstructured // second: marked after the first was read, and not read itself
		ends          func(a *annotated)
	}{
		"it was never read, and leaves the selection":                {marked("1", "yes"), nil, func(a *annotated) { a.put(marked("2", "no")) }},
		"it was never read, and goes":                                {marked("1", "yes"), nil, func(a *annotated) { a.remove("a") }},
		"it was read before it was marked, and goes":                 {cup("a", "1", "yes"), marked("2", "yes"), func(a *annotated) { a.remove("a") }},
		"it was read before it was marked, and leaves the selection": {cup("a", "1", "yes"), marked("2", "yes"), func(a *annotated) { a.put(marked("3", "no")) }},
		"it was read before it was marked, and is made again":        {cup("a", "1", "yes"), marked("2", "yes"), remade},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAnnotated(t, tc.first)
				var broken atomic.Bool
				broken.Store(tc.second == nil)
				answer(a.whole, "get", func() error {
					if broken.Load() {
						return apierrors.NewInternalError(errors.New("conversion webhook"))
					}
					return nil
				})
				var ended []*unstructured.Unstructured
				a.wholes.events.Delete = func(obj *unstructured.Unstructured) { ended = append(ended, obj) }
				a.wholes.events.Missed = a.wholes.events.Delete
				a.start()
				defer a.Stop()
				if tc.second != nil {
					broken.Store(true)
					a.put(tc.second)
					synctest.Wait()
				}
				tc.ends(a)
				synctest.Wait()
				a.Expect(ended).To(HaveLen(1))
				a.Expect(ended[0].GetLabels()).To(HaveKeyWithValue("by", "box"))
			})
		})
	}
}

// What was told as the end of an object while the box did not work yet is found by asking what is there, also before the watch tells the end.
func TestAnObjectWhoseEndWasToldIsNotThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAnnotated(t, cup("a", "1", "yes"))
		a.start()
		defer a.Stop()
		a.Expect(a.whole.Tracker().Update(cups, cup("a", "9", "no"), "ns")).To(Succeed())
		a.tell(cup("a", "5", "yes"))
		a.events.take()
		_, lives := a.Key("uid-of-a")
		a.Expect(lives).To(BeFalse())
		a.Expect(a.Unread()).To(BeEmpty(), "it was read")
	})
}
