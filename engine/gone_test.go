package engine

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// last is the last state of a resource that is gone.
func last(uid types.UID, deleted bool, finalizers ...string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetNamespace("team-a")
	obj.SetName("web")
	obj.SetUID(uid)
	obj.SetFinalizers(finalizers)
	if deleted {
		obj.SetDeletionTimestamp(new(metav1.Now()))
	}
	return obj
}

// It may have been let go since it was last seen, and its children are to stay then.
func TestWhatWentUnseenIsNotLost(t *testing.T) {
	g := NewWithT(t)
	e := idle(t, nil)
	b := idleBox(t, e, "website", nil, func(context.Context, *box) {})
	t.Cleanup(func() { e.stopAll(e.boxes) })
	b.queue.Open()
	held := last("held", false, v1alpha1.Finalizer)
	b.events().Missed(held)
	g.Expect(b.owners.Pending()).To(BeEmpty())
	g.Expect(b.queue.Len()).To(Equal(1), "it is forgotten")
	b.events().Delete(held)
	g.Expect(b.owners.Pending()).To(HaveKey(client.ObjectKeyFromObject(held)))
}

// A process that does not lead sees all that comes and goes, and nobody works there.
func TestAFollowerKeepsNothingOfWhatIsGone(t *testing.T) {
	g := NewWithT(t)
	clk := testingclock.NewFakeClock(time.Now())
	e := idle(t, func(c *Config) { c.Clock = clk })
	b := idleBox(t, e, "website", nil, func(context.Context, *box) {})
	t.Cleanup(func() { e.stopAll(e.boxes) })
	for i := range 10_000 {
		obj := last(types.UID(fmt.Sprint(i)), false)
		obj.SetName(fmt.Sprint("web-", i))
		b.events().Add(obj, i == 0)
		obj = obj.DeepCopy()
		obj.SetDeletionTimestamp(new(metav1.Now()))
		obj.SetFinalizers([]string{v1alpha1.Finalizer, metav1.FinalizerOrphanDependents})
		b.events().Update(obj)
		b.events().Delete(obj)
		lost := last(types.UID(fmt.Sprint("lost-", i)), false, v1alpha1.Finalizer)
		lost.SetName(fmt.Sprint("lost-", i))
		b.events().Delete(lost)
		clk.Step(time.Second)
	}
	g.Expect(b.queue.Len()).To(BeZero())
	g.Expect(len(b.owners.Pending())).To(BeNumerically("<=", 62), "those of the last minute: should this process take over, it cleans up after them")

	b.startQueue()
	g.Expect(b.queue.Len()).To(Equal(len(b.owners.Pending())))
}

// The watch does not show an object of others that has left the selection: what becomes of its children is told to it nevertheless.
func TestAChildWakesAnOwnerThatHasLeft(t *testing.T) {
	g := NewWithT(t)
	e := idle(t, nil)
	b := idleBox(t, e, "website", nil, func(context.Context, *box) {})
	t.Cleanup(func() { e.stopAll(e.boxes) })
	b.queue.Open()
	b.owners.Left(last("left", false, v1alpha1.Finalizer))
	jobs := schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	e.childChanged("other", "former", jobs)
	g.Expect(b.queue.Len()).To(BeZero())
	e.childChanged("left", "former", jobs)
	g.Expect(b.queue.Len()).To(Equal(1))
}

func TestClamp(t *testing.T) {
	g := NewWithT(t)
	g.Expect(clamp(3)).To(Equal(int32(3)))
	g.Expect(clamp(1 << 40)).To(Equal(int32(1<<31 - 1)))
}

// A box may always have fresh events, and more of them than its workers can do. A look at what is gone is due after a minute, and has its turn then:
// with each resource that goes, there is one more of them.
func TestALookAtWhatIsGoneIsNotBehindAllEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		e := idle(t, nil)
		b := idleBox(t, e, "website", nil, func(context.Context, *box) {})
		defer e.stopAll(e.boxes)
		b.queue.Open()
		gone := last("gone", true)
		b.owners.Deleted(gone)
		b.cycles.Reconcile(t.Context(), client.ObjectKeyFromObject(gone))
		time.Sleep(time.Hour) // of the bubble
		synctest.Wait()
		b.queue.EnqueueLow(0, types.NamespacedName{Name: "swept"})
		b.queue.Enqueue(0, types.NamespacedName{Name: "fresh"})
		var turns []string
		for range 3 {
			key, _ := b.queue.Take()
			turns = append(turns, key.Name)
			b.queue.Done(key)
		}
		g.Expect(turns).To(Equal([]string{"web", "fresh", "swept"}))
	})
}
