package engine

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// TestResourcesCountBeforeTheirFirstReconcile: while workers are busy, what waits is there, too.
func TestResourcesCountBeforeTheirFirstReconcile(t *testing.T) {
	g := NewWithT(t)
	b := idleBox(t, idle(t, nil), "website", nil, func(ctx context.Context, _ *box) { <-ctx.Done() })
	defer b.working.Wait()
	defer b.cancel()
	of := func(name string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		u.SetAPIVersion("demo.example.com/v1")
		u.SetKind("Website")
		u.SetNamespace("team")
		u.SetName(name)
		return u
	}
	events := b.events()
	events.Add(of("early"), true)
	g.Expect(b.tracker.Snapshot().Resources).To(BeZero(), "nothing is counted before the workers run")
	b.queue.Open()
	for _, name := range []string{"a", "b", "c"} {
		events.Add(of(name), false)
	}
	events.Update(of("c"))
	g.Expect(b.tracker.Snapshot().Resources).To(Equal(v1alpha1.ResourceCounts{Total: 3, Waiting: 3}))
	events.Missed(of("c"))
	g.Expect(b.tracker.Snapshot().Resources).To(Equal(v1alpha1.ResourceCounts{Total: 2, Waiting: 2}), "it went before anybody looked at it")
	going := of("going")
	going.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
	events.Add(going, false)
	g.Expect(b.tracker.Snapshot().Resources.Total).To(BeEquivalentTo(2))
	served := *b.plan.Load()
	served.CleanupOnly = true
	b.plan.Store(&served)
	events.Add(of("d"), false)
	g.Expect(b.tracker.Snapshot().Resources.Total).To(BeEquivalentTo(2), "only deletions are served")
}
