package engine

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline"
)

var settingsKind = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

func TestADependencyWakesWhatWaitsForIt(t *testing.T) {
	g := NewWithT(t)
	var changed []string
	e := idle(t, func(c *Config) { c.Changed = func(box string) { changed = append(changed, box) } })
	nothing := func(context.Context, *box) {}
	b := idleBox(t, e, "website", []string{"db", "queue"}, nothing)
	other := idleBox(t, e, "other", []string{"queue"}, nothing)
	t.Cleanup(func() { e.stopAll(e.boxes) })
	b.queue.Open()
	waiting, active := types.NamespacedName{Namespace: "a", Name: "waits"}, types.NamespacedName{Namespace: "a", Name: "active"}
	var asked []interest
	o := observer{box: b, resource: waiting, asked: &asked}
	g.Expect(o.Dependency("db")).To(Equal(pipeline.DependencyState{}))
	observer{box: b, resource: active, asked: &asked}.Get(settingsKind, "a", "settings")
	g.Expect(b.interests.reading(dependencyOf("db"))).To(ConsistOf(waiting))

	starting := pipeline.DependencyState{OfBox: true, State: v1alpha1.HealthStarting}
	e.SetDependency("db", starting)
	g.Expect(o.Dependency("db")).To(Equal(starting))
	g.Expect(b.queue.Len()).To(Equal(1), "what waits, and nothing else")
	item, _ := b.queue.Get()
	g.Expect(item).To(Equal(waiting))
	b.queue.Done(item)
	g.Expect(changed).To(ConsistOf("website"))

	e.SetDependency("db", starting)
	e.SetDependency("nobody's", starting)
	g.Expect(b.queue.Len()).To(BeZero(), "nothing has changed for it")
	g.Expect(changed).To(HaveLen(1))
	e.SetDependency("queue", pipeline.DependencyState{State: v1alpha1.HealthHealthy, Started: true})
	g.Expect(changed).To(ConsistOf("website", "website", "other"), "what they show has changed")
	g.Expect(b.queue.Len()+other.queue.Len()).To(BeZero(), "no resource waits for that one")

	all, first := b.dependencies(b.plan.Load())
	g.Expect(all).To(Equal([]v1alpha1.DependencyStatus{
		{Name: "db", Condition: "Started", Met: false}, {Name: "queue", Condition: "Started", Met: true},
	}))
	g.Expect(first).To(Equal(`box "db" is Starting, wanted Started`))
	e.SetDependency("db", pipeline.DependencyState{})
	g.Expect(e.dependencies.all).NotTo(HaveKey("db"))
	g.Expect(b.queue.Len()).To(Equal(1))
}

func TestWhatIsActiveAsksForNoDependency(t *testing.T) {
	g := NewWithT(t)
	e := idle(t, nil)
	b := idleBox(t, e, "website", nil, func(context.Context, *box) {})
	t.Cleanup(func() { e.stopAll(e.boxes) })
	resource := &unstructured.Unstructured{Object: map[string]any{}}
	resource.SetNamespace("a")
	resource.SetName("web")
	read := interest{kind: settingsKind, namespace: "a", name: "settings"}
	asked := func() []interest { return []interest{dependencyOf("db"), read} }
	waiting := b.plan.Load().NewRun(resource, e.config.Clock.Now(), pipeline.Ports{})
	g.Expect(stillAsked(waiting, asked())).To(HaveLen(2))
	resource.SetAnnotations(map[string]string{v1alpha1.AnnotationActiveSince: "2026-01-01T00:00:00Z"})
	active := b.plan.Load().NewRun(resource, e.config.Clock.Now(), pipeline.Ports{})
	g.Expect(stillAsked(active, asked())).To(Equal([]interest{read}))
}
