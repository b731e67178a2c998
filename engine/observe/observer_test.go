package observe

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/watch"
)

var (
	settings = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	secrets  = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	missing  = schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Website"}
)

// boxes serve kinds, by their names.
type boxes map[string]schema.GroupVersionKind

func (b boxes) KindOf(box string) schema.GroupVersionKind { return b[box] }

// observing is the observer of a box in a cluster of ConfigMaps and Secrets.
func observing(t *testing.T) (*Observer, Sources) {
	t.Helper()
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(settings, meta.RESTScopeNamespace)
	mapper.Add(secrets, meta.RESTScopeNamespace)
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		settings.GroupVersion().WithResource("configmaps"): "ConfigMapList", secrets.GroupVersion().WithResource("secrets"): "SecretList",
	})
	objects := watch.NewObserved(watch.Config{Client: client, Mapper: mapper}, func(schema.GroupVersionKind, *unstructured.Unstructured, *unstructured.Unstructured) {})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- objects.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	sources := Sources{Objects: objects, Boxes: boxes{"db": secrets}, Dependencies: &Dependencies{}, Mapper: mapper, Timeout: 10 * time.Second}
	return New("website", sources), sources
}

func TestABoxHoldsTheKindsThatItReads(t *testing.T) {
	g := NewWithT(t)
	o, sources := observing(t)
	g.Expect(o.Observe(t.Context(), settings)).To(Succeed())
	g.Expect(o.Observe(t.Context(), secrets)).To(Succeed())
	g.Expect(meta.IsNoMatchError(o.Observe(t.Context(), missing))).To(BeTrue())
	g.Expect(o.Get(settings, "a", "none")).To(BeNil())
	g.Expect(o.Select(settings, "a", labels.Everything())).To(BeEmpty())
	g.Expect(o.Box("db")).To(Equal(secrets))
	held := func() []schema.GroupVersionKind { return sources.Objects.Acquired("website") }
	o.Retain([]schema.GroupVersionKind{settings}, []string{"db"})
	g.Expect(held()).To(ConsistOf(settings, secrets), "what another box serves is read by the name of that box")
	o.Retain([]schema.GroupVersionKind{settings}, nil)
	g.Expect(held()).To(ConsistOf(settings))
	o.Release()
	g.Expect(held()).To(BeEmpty())
}

func TestWhatAResourceReadsInItsLastCycleHasItReconciled(t *testing.T) {
	g := NewWithT(t)
	o, _ := observing(t)
	g.Expect(o.Observe(t.Context(), settings)).To(Succeed())
	web := types.NamespacedName{Namespace: "a", Name: "web"}
	changed := &unstructured.Unstructured{Object: map[string]any{}}
	changed.SetNamespace("a")
	changed.SetName("settings")
	read := func() []types.NamespacedName { return o.Readers(settings, nil, changed) }

	first := o.For(web)
	g.Expect(first.Get(settings, "a", "settings")).To(BeNil())
	g.Expect(read()).To(ConsistOf(web), "from when it asks: it may come while the cycle runs")
	first.End(true)
	g.Expect(read()).To(ConsistOf(web))
	second := o.For(web)
	g.Expect(second.Select(settings, "a", labels.Everything())).To(BeEmpty())
	second.End(true)
	g.Expect(read()).To(ConsistOf(web), "as one that a selector selects")
	o.For(web).End(true)
	g.Expect(read()).To(BeEmpty())
	third := o.For(web)
	third.Get(settings, "a", "settings")
	third.End(true)
	o.Forget(web)
	g.Expect(read()).To(BeEmpty())
}

func TestWhatIsActiveAsksForNoDependency(t *testing.T) {
	g := NewWithT(t)
	o, _ := observing(t)
	web := types.NamespacedName{Namespace: "a", Name: "web"}
	for active, waiting := range map[bool][]types.NamespacedName{false: {web}, true: nil} {
		r := o.For(web)
		r.Dependency("db")
		g.Expect(o.Waiting("db")).To(ConsistOf(web))
		r.End(active)
		g.Expect(o.Waiting("db")).To(ConsistOf(waiting))
	}
}

func TestDependencies(t *testing.T) {
	g := NewWithT(t)
	o, sources := observing(t)
	starting := stage.DependencyState{OfBox: true, State: v1alpha1.HealthStarting}
	g.Expect(sources.Dependencies.Set("db", stage.DependencyState{})).To(BeFalse())
	g.Expect(sources.Dependencies.Set("db", starting)).To(BeTrue())
	g.Expect(sources.Dependencies.Set("db", starting)).To(BeFalse(), "nothing has changed")
	g.Expect(sources.Dependencies.Set("queue", stage.DependencyState{State: v1alpha1.HealthHealthy, Started: true})).To(BeTrue())
	g.Expect(o.Dependency("db")).To(Equal(starting))
	all, first := o.Dependencies([]stage.Dependency{{Name: "queue", Condition: "Started"}, {Name: "db", Condition: "Started"}})
	g.Expect(all).To(Equal([]v1alpha1.DependencyStatus{{Name: "queue", Condition: "Started", Met: true}, {Name: "db", Condition: "Started"}}))
	g.Expect(first).To(Equal(`box "db" is Starting, wanted Started`))
	g.Expect(sources.Dependencies.Set("db", stage.DependencyState{})).To(BeTrue())
	g.Expect(sources.Dependencies.all).To(HaveLen(1))
}
