package watch

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

// observing gives Observed that run until stop is called, and what notify was told, as "old>new".
func observing(t *testing.T, client *dynamicfake.FakeDynamicClient) (observed *Observed, notified func() []string, stop func()) {
	t.Helper()
	g := NewWithT(t)
	var mu sync.Mutex
	var calls []string
	version := func(obj *unstructured.Unstructured) string {
		if obj == nil {
			return ""
		}
		return obj.GetName() + "#" + obj.GetResourceVersion()
	}
	observed = NewObserved(Config{Client: client, Mapper: mapper(), Log: logr.Discard()}, func(_ schema.GroupVersionKind, old, obj *unstructured.Unstructured) {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, version(old)+">"+version(obj))
	})
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { g.Expect(observed.Run(ctx)).To(Succeed()) })
	notified = func() []string {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		out := calls
		calls = nil
		return out
	}
	return observed, notified, func() {
		cancel()
		group.Wait()
	}
}

func TestObservedObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		labeled := object(cupKind, "b", "y", "2")
		labeled.SetLabels(map[string]string{"app": "web"})
		client := newClient(object(cupKind, "a", "x", "1"), labeled)
		observed, notified, stop := observing(t, client)
		defer stop()
		g.Expect(observed.Get(cupKind, "a", "x")).To(BeNil(), "nobody reads the kind yet")
		g.Expect(observed.Acquire(t.Context(), "box", cupKind)).To(Succeed())
		g.Expect(notified()).To(ConsistOf(">x#1", ">y#2"), "what is there is told, too: somebody may have found it absent")

		g.Expect(observed.Get(cupKind, "a", "x").GetResourceVersion()).To(Equal("1"))
		g.Expect(observed.Get(cupKind, "b", "x")).To(BeNil())
		g.Expect(names(observed.Select(cupKind, "", labels.Everything()))).To(Equal([]string{"a/x#1", "b/y#2"}))
		g.Expect(names(observed.Select(cupKind, "a", labels.Everything()))).To(Equal([]string{"a/x#1"}))
		g.Expect(names(observed.Select(cupKind, "", labels.SelectorFromSet(labels.Set{"app": "web"})))).To(Equal([]string{"b/y#2"}))

		update(t, client, object(cupKind, "a", "x", "3"))
		create(t, client, object(cupKind, "a", "z", "4"))
		remove(t, client, object(cupKind, "a", "z", ""))
		g.Expect(notified()).To(Equal([]string{"x#1>x#3", ">z#4", "z#4>"}))
	})
}

func TestObservedKindsAreSharedAndStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		client := newClient(object(cupKind, "a", "x", "1"))
		observed, notified, stop := observing(t, client)
		defer stop()
		g.Expect(observed.Acquire(t.Context(), "one", cupKind)).To(Succeed())
		g.Expect(observed.Acquire(t.Context(), "two", cupKind)).To(Succeed())
		synctest.Wait() // synced is when the list is there; the watch comes after it
		g.Expect(requests(client, "watch")).To(Equal(1))
		observed.Release("one")
		g.Expect(observed.Get(cupKind, "a", "x")).NotTo(BeNil(), "two still reads it")
		observed.Release("two", cupKind)
		g.Expect(observed.Get(cupKind, "a", "x")).To(BeNil())
		notified()
		create(t, client, object(cupKind, "a", "late", "2"))
		g.Expect(notified()).To(BeEmpty())
		g.Expect(meta.IsNoMatchError(observed.Acquire(t.Context(), "one", otherKind))).To(BeTrue())
	})
}

func TestReleasesOfHelmAreNotObserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		secrets := schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
		kind := secrets.GroupVersion().WithKind("Secret")
		client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{secrets: "SecretList"})
		var asked []string
		client.PrependReactor("list", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
			if list, ok := action.(clienttesting.ListAction); ok {
				asked = append(asked, list.GetListRestrictions().Fields.String())
			}
			return false, nil, nil
		})
		m := meta.NewDefaultRESTMapper(nil)
		m.Add(kind, meta.RESTScopeNamespace)
		observed := NewObserved(Config{Client: client, Mapper: m, Log: logr.Discard()}, func(schema.GroupVersionKind, *unstructured.Unstructured, *unstructured.Unstructured) {})
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { g.Expect(observed.Run(ctx)).To(Succeed()) })
		g.Expect(observed.Acquire(t.Context(), "box", kind)).To(Succeed())
		g.Expect(asked).To(ContainElement("type!=helm.sh/release.v1"))
		cancel()
		group.Wait()
	})
}
