package engine

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline"
)

var settingsKind = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

// changes are the boxes that were told to have changed.
type changes struct {
	noNotifier

	boxes []string
}

func (c *changes) BoxChanged(box string) { c.boxes = append(c.boxes, box) }

func TestADependencyThatChangesWakesWhatWaitsForIt(t *testing.T) {
	g := NewWithT(t)
	heard := &changes{}
	e := idle(t, func(c *Config) { c.Notifier = heard })
	nothing := func(context.Context, *box) {}
	b := idleBox(t, e, "website", []string{"db", "queue"}, nothing)
	other := idleBox(t, e, "other", []string{"queue"}, nothing)
	t.Cleanup(func() { e.stopAll(e.boxes) })
	b.queue.Open()
	waiting, active := types.NamespacedName{Namespace: "a", Name: "waits"}, types.NamespacedName{Namespace: "a", Name: "active"}
	o := b.observer.For(waiting)
	g.Expect(o.Dependency("db")).To(Equal(pipeline.DependencyState{}))
	b.observer.For(active).Get(settingsKind, "a", "settings")
	g.Expect(b.observer.Waiting("db")).To(ConsistOf(waiting))

	starting := pipeline.DependencyState{OfBox: true, State: v1alpha1.HealthStarting}
	e.SetDependency("db", starting)
	g.Expect(o.Dependency("db")).To(Equal(starting))
	g.Expect(b.queue.Len()).To(Equal(1), "what waits, and nothing else")
	item, _ := b.queue.Take()
	g.Expect(item).To(Equal(waiting))
	b.queue.Done(item)
	g.Expect(heard.boxes).To(ConsistOf("website"))

	e.SetDependency("db", starting)
	e.SetDependency("nobody's", starting)
	g.Expect(b.queue.Len()).To(BeZero(), "nothing has changed for it")
	g.Expect(heard.boxes).To(HaveLen(1))
	e.SetDependency("queue", pipeline.DependencyState{State: v1alpha1.HealthHealthy, Started: true})
	g.Expect(heard.boxes).To(ConsistOf("website", "website", "other"), "what they show has changed")
	g.Expect(b.queue.Len()+other.queue.Len()).To(BeZero(), "no resource waits for that one")

	all, first := b.observer.Dependencies(b.plan.Load().DependsOn)
	g.Expect(all).To(Equal([]v1alpha1.DependencyStatus{
		{Name: "db", Condition: "Started", Met: false}, {Name: "queue", Condition: "Started", Met: true},
	}))
	g.Expect(first).To(Equal(`box "db" is Starting, wanted Started`))
	e.SetDependency("db", pipeline.DependencyState{})
	g.Expect(o.Dependency("db")).To(BeZero())
	g.Expect(b.queue.Len()).To(Equal(1))
}
