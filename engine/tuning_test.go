package engine

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

func TestARunningBoxIsTunedFromOutside(t *testing.T) {
	g := NewWithT(t)
	e := idle(t, nil)
	b := idleBox(t, e, "website", nil, func(context.Context, *box) {})
	t.Cleanup(func() { e.stopAll(e.boxes) })
	before, tuning := b.plan.Load(), e.Tuning()
	tuning.SetWorkers("website", 17)
	tuning.SetResync("website", 7*time.Minute)
	tuning.SetQueueDepth("website", 2)
	g.Expect(b.pool.Workers()).To(Equal(17))
	g.Expect(b.queue.Bound()).To(Equal(2))
	g.Expect(e.Plan("website").Runtime.Resync).To(Equal(7 * time.Minute))
	g.Expect(e.Plan("website").Revision).To(Equal(before.Revision))
	g.Expect(before.Runtime.Resync).NotTo(Equal(7*time.Minute), "a plan never changes")
	tuning.SetWorkers("gone", 1)
	tuning.SetQueueDepth("gone", 1)
	tuning.SetResync("gone", time.Minute)
}

func TestABoxSaysHowManyMayBeInItsQueue(t *testing.T) {
	g := NewWithT(t)
	e := idle(t, nil)
	b := serving(t, e, v1alpha1.OperatorBoxSpec{RuntimeSpec: v1alpha1.RuntimeSpec{Queue: v1alpha1.QueueSpec{MaxDepth: 3}}})
	g.Expect(b.queue.Bound()).To(Equal(3))
	next := *b.plan.Load()
	next.Revision, next.Runtime.QueueDepth = "next", 5
	b.swap(&next, Options{})
	g.Expect(b.queue.Bound()).To(Equal(5))
	g.Expect(b.passes(types.NamespacedName{Name: "gone"})).To(BeTrue(), "what is gone was deleted")
}
