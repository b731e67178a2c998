package engine

import (
	"context"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/tools/events"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/autoscale"
	"github.com/orkspace/orkestra/engine/watch"
)

func TestARunningBoxIsTuned(t *testing.T) {
	g := NewWithT(t)
	e := idle(t, nil)
	b := idleBox(t, e, "website", nil, func(context.Context, *box) {})
	t.Cleanup(func() { e.stopAll(e.boxes) })
	before := b.plan.Load()
	limits := autoscale.Limits{Workers: 17, QueueDepth: 2, Resync: 7 * time.Minute}
	tuning{b}.SetLimits(limits)
	g.Expect(b.pool.Workers()).To(Equal(17))
	g.Expect(b.queue.Bound()).To(Equal(2))
	tuned := e.Plan("website")
	g.Expect(tuned.Runtime.Resync).To(Equal(7 * time.Minute))
	g.Expect(tuned.Revision).To(Equal(before.Revision))
	g.Expect(before.Runtime.Resync).NotTo(Equal(7*time.Minute), "a plan never changes")
	tuning{b}.SetLimits(limits)
	g.Expect(e.Plan("website")).To(BeIdenticalTo(tuned), "by another plan each resource is evaluated again")
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

func TestEachChangeIsTold(t *testing.T) {
	g := NewWithT(t)
	recorder := events.NewFakeRecorder(10)
	e := idle(t, func(c *Config) { c.Events = recorder })
	b := serving(t, e, v1alpha1.OperatorBoxSpec{})
	up := autoscale.Change{
		State: autoscale.State{Active: true, Reason: "status.queueDepth is 500"},
		From:  autoscale.Limits{Workers: 3}, Limits: autoscale.Limits{Workers: 12},
	}
	tuning{b}.Scaled(up)
	g.Expect(<-recorder.Events).To(Equal("Normal Autoscaled workers 3→12: status.queueDepth is 500"))
	tuning{b}.Scaled(autoscale.Change{Before: up.State, State: autoscale.State{Active: true, Problem: "x"}})
	g.Expect(recorder.Events).To(BeEmpty(), "the limits are the same")
	tuning{b}.Scaled(autoscale.Change{Before: up.State, From: up.Limits, Limits: up.From, State: autoscale.State{Reason: "over"}})
	g.Expect(<-recorder.Events).To(Equal("Normal AutoscaleEnded workers 12→3: over"))
}

func TestABoxSaysWhoIsNextInItsQueue(t *testing.T) {
	g := NewWithT(t)
	e := idle(t, nil)
	b := serving(t, e, v1alpha1.OperatorBoxSpec{RuntimeSpec: v1alpha1.RuntimeSpec{Queue: v1alpha1.QueueSpec{Fairness: v1alpha1.FairnessNamespace}}})
	b.queue.Open()
	fill := func() string {
		var order []string
		for _, key := range []types.NamespacedName{{Namespace: "a", Name: "1"}, {Namespace: "a", Name: "2"}, {Namespace: "b", Name: "1"}} {
			b.queue.Enqueue(0, key)
		}
		waits, fair := tuning{b}.waits()
		g.Expect(waits).To(HaveLen(map[bool]int{true: 2}[fair]))
		for range 3 {
			key, _ := b.queue.Take()
			order = append(order, key.String())
			b.queue.Done(key)
		}
		return strings.Join(order, " ")
	}
	g.Expect(fill()).To(Equal("a/1 b/1 a/2"))
	next := *b.plan.Load()
	next.Revision, next.Runtime.Fair = "next", false
	b.swap(&next, Options{})
	g.Expect(fill()).To(Equal("a/1 a/2 b/1"))
	again := next
	again.Revision, again.Runtime.Fair = "again", true
	b.swap(&again, Options{})
	g.Expect(fill()).To(Equal("a/1 b/1 a/2"))
}

// A shorter resync has every resource reconciled: they wait for the time of the longer one. A longer one leaves that to the times that were set.
func TestOnlyAShorterResyncQueuesAllResources(t *testing.T) {
	g := NewWithT(t)
	e := idle(t, nil)
	b, resource := calling(t, e, "https://quota.example.com")
	of := b.plan.Load().CRD.Resource
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{of: "WebsiteList"}, resource)
	b.resources = watch.NewResources(watch.Config{Client: client}, of, nil, watch.Selection{}, watch.ResourceEvents{
		Add: func(*unstructured.Unstructured, bool) {}, Update: func(*unstructured.Unstructured) {}, Delete: func(*unstructured.Unstructured) {},
	})
	b.resources.Start(t.Context())
	t.Cleanup(b.resources.Stop)
	g.Expect(b.resources.WaitForSync(patience(t))).To(Succeed())
	b.queue.Open()
	for _, tc := range []struct {
		resync time.Duration
		queued int
	}{{time.Hour, 0}, {time.Minute, 1}} {
		tuning{b}.SetLimits(autoscale.Limits{Workers: 3, Resync: tc.resync})
		g.Expect(b.queue.Len()).To(Equal(tc.queued), tc.resync.String())
	}
}
