package controllers

import (
	"fmt"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// fakeQueue remembers what was added. All else of a queue is nil, and panics.
type fakeQueue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]

	added []string
}

func (q *fakeQueue) Add(r reconcile.Request) {
	q.added = append(q.added, r.Name+" now")
}

func (q *fakeQueue) AddAfter(r reconcile.Request, after time.Duration) {
	if after <= 0 || after > time.Second {
		q.added = append(q.added, fmt.Sprintf("%s after %s", r.Name, after))
		return
	}
	q.added = append(q.added, r.Name+" soon")
}

func TestDirtyQueue(t *testing.T) {
	g := NewWithT(t)
	var d DirtyQueue
	queue := &fakeQueue{}
	d.Mark("b", false)
	d.Mark("c", true)
	d.Mark("c", false)
	d.Mark("a", false)
	d.Mark("a", true)
	g.Expect(queue.added).To(BeEmpty())

	g.Expect(d.Source().Start(t.Context(), queue)).To(Succeed())
	g.Expect(queue.added).To(Equal([]string{"a now", "b soon", "c now"}), "marks from before the start are not lost")
	queue.added = nil
	d.Mark("a", false)
	d.Mark("a", true)
	g.Expect(queue.added).To(Equal([]string{"a soon", "a now"}))
}

// TestDirtyQueueConcurrent is for the race detector; no mark may be lost while the source starts.
func TestDirtyQueueConcurrent(t *testing.T) {
	g := NewWithT(t)
	var d DirtyQueue
	queue := &fakeQueue{}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 100 {
				d.Mark(fmt.Sprintf("box-%d-%d", i, j), true)
			}
		})
	}
	wg.Go(func() {
		if err := d.Source().Start(t.Context(), queue); err != nil {
			t.Error(err)
		}
	})
	wg.Wait()
	g.Expect(queue.added).To(HaveLen(800))
}

// Boxes that depend on another are marked for urgent changes of it, and not for its counts.
func TestMarksOfAReport(t *testing.T) {
	g := NewWithT(t)
	var told marks
	healths, dependencies := &fakeQueue{}, &fakeQueue{}
	g.Expect(told.healths.Source().Start(t.Context(), healths)).To(Succeed())
	g.Expect(told.dependencies.Source().Start(t.Context(), dependencies)).To(Succeed())
	told.health("a", false)
	told.health("b", true)
	g.Expect(healths.added).To(Equal([]string{"a soon", "b now"}))
	g.Expect(dependencies.added).To(Equal([]string{"b now"}))
}
