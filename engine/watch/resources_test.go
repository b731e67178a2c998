package watch

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
)

// record keeps what ResourceEvents are told.
type record struct {
	mu    sync.Mutex
	calls []string
}

func (r *record) events() ResourceEvents {
	note := func(what string, obj *unstructured.Unstructured) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.calls = append(r.calls, what+" "+names([]*unstructured.Unstructured{obj})[0])
	}
	return ResourceEvents{
		Add: func(obj *unstructured.Unstructured, initial bool) {
			if initial {
				note("initial", obj)
				return
			}
			note("add", obj)
		},
		Update: func(obj *unstructured.Unstructured) { note("update", obj) },
		Delete: func(obj *unstructured.Unstructured) { note("delete", obj) },
	}
}

func (r *record) take() []string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := r.calls
	r.calls = nil
	return calls
}

func newResources(client *dynamicfake.FakeDynamicClient, events ResourceEvents, namespaces ...string) *Resources {
	return NewResources(Config{Client: client, Log: logr.Discard()}, cups, namespaces, Selection{}, events)
}

func key(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func TestResourceEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		client := newClient(child("ns", "a", "1", ""))
		notified := &record{}
		r := newResources(client, notified.events())
		g.Expect(r.HasSynced()).To(BeFalse())
		r.Start(t.Context())
		r.Start(t.Context())
		defer r.Stop()
		g.Expect(r.WaitForSync(t.Context())).To(Succeed())
		g.Expect(r.HasSynced()).To(BeTrue())
		g.Expect(notified.take()).To(Equal([]string{"initial ns/a#1"}))
		create(t, client, child("ns", "b", "2", ""))
		g.Expect(notified.take()).To(Equal([]string{"add ns/b#2"}))
		update(t, client, child("ns", "b", "3", ""))
		update(t, client, child("ns", "b", "3", ""))
		g.Expect(notified.take()).To(Equal([]string{"update ns/b#3"}))
		update(t, client, named("second", child("ns", "b", "4", "")))
		g.Expect(notified.take()).To(Equal([]string{"delete ns/b#3", "add ns/b#4"}), "made again under its name")
		remove(t, client, child("ns", "b", "", ""))
		g.Expect(notified.take()).To(Equal([]string{"delete ns/b#4"}))

		r.Stop()
		r.Stop()
		create(t, client, child("ns", "c", "5", ""))
		g.Expect(notified.take()).To(BeEmpty())
		r.Start(t.Context())
		g.Expect(notified.take()).To(BeEmpty())
		g.Expect(requests(client, "watch")).To(Equal(1))
	})
}

func TestAnEndThatNobodyHasSeen(t *testing.T) {
	var notified []string
	events := ResourceEvents{
		Delete: func(obj *unstructured.Unstructured) { notified = append(notified, "delete "+obj.GetName()) },
		Missed: func(obj *unstructured.Unstructured) { notified = append(notified, "missed "+obj.GetName()) },
	}
	a, b := child("ns", "a", "1", ""), child("ns", "b", "1", "")
	events.handler().OnDelete(a)
	events.handler().OnDelete(cache.DeletedFinalStateUnknown{Key: "ns/b", Obj: b})
	events.handler().OnUpdate(b, named("second", child("ns", "b", "4", "")))
	events.Missed = nil
	events.handler().OnDelete(cache.DeletedFinalStateUnknown{Key: "ns/b", Obj: b})
	NewWithT(t).Expect(notified).To(Equal([]string{"delete a", "missed b", "missed b", "delete b"}))
}

func TestResourceReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		obj := managed("orkestra")
		obj.SetName("b")
		client := newClient(child("ns", "c", "1", ""), obj, child("apart", "z", "3", ""))
		r := newResources(client, ResourceEvents{})
		g.Expect(r.Seen(key("ns", "b"), "1")).To(BeFalse(), "nothing is seen before the sync")
		r.Start(t.Context())
		defer r.Stop()
		g.Expect(r.WaitForSync(t.Context())).To(Succeed())
		g.Expect(r.Len()).To(Equal(3))
		g.Expect(r.Keys()).To(Equal([]types.NamespacedName{key("apart", "z"), key("ns", "b"), key("ns", "c")}))

		got, found := r.Get(key("ns", "b"))
		g.Expect(found).To(BeTrue())
		g.Expect(got.GetManagedFields()).To(BeEmpty())
		g.Expect(got.GetAnnotations()).To(BeEmpty())
		_, found = r.Get(key("ns", "z"))
		g.Expect(found).To(BeFalse())
		of, found := r.Key("uid-of-z")
		g.Expect(found).To(BeTrue())
		g.Expect(of).To(Equal(key("apart", "z")))
		_, found = r.Key("nobody")
		g.Expect(found).To(BeFalse())

		create(t, client, child("ns", "d", "9", ""))
		synctest.Wait()
		g.Expect(r.Seen(key("ns", "d"), "9")).To(BeTrue())
		g.Expect(r.Seen(key("ns", "b"), "8")).To(BeTrue())
		g.Expect(r.Seen(key("ns", "b"), "10")).To(BeFalse(), "longer is newer")
		g.Expect(r.Seen(key("ns", "b"), "word")).To(BeTrue())
		g.Expect(r.Seen(key("ns", "b"), "")).To(BeTrue())
	})
}

func TestResourcesOfSomeNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		client := newClient(child("one", "a", "1", ""), child("two", "b", "2", ""), child("three", "c", "3", ""))
		notified := &record{}
		r := newResources(client, notified.events(), "two", "one", "two")
		r.Start(t.Context())
		defer r.Stop()
		g.Expect(r.WaitForSync(t.Context())).To(Succeed())
		g.Expect(notified.take()).To(ConsistOf("initial one/a#1", "initial two/b#2"))
		g.Expect(r.Keys()).To(Equal([]types.NamespacedName{key("one", "a"), key("two", "b")}))
		_, found := r.Get(key("three", "c"))
		g.Expect(found).To(BeFalse())
		_, found = r.Key("uid-of-b")
		g.Expect(found).To(BeTrue())
		create(t, client, child("one", "d", "7", ""))
		synctest.Wait()
		g.Expect(r.Seen(key("one", "d"), "7")).To(BeTrue())
		g.Expect(r.Seen(key("two", "b"), "7")).To(BeFalse(), "each namespace has a watch of its own")
		g.Expect(r.Seen(key("three", "c"), "7")).To(BeTrue())

		all := newResources(client, ResourceEvents{}, "one", "")
		g.Expect(all.informers).To(HaveLen(1))
	})
}

func TestResourcesStopAtAnyTime(t *testing.T) {
	for name, before := range map[string]func(context.Context, *Resources){
		"before the start":  func(context.Context, *Resources) {},
		"after the start":   func(ctx context.Context, r *Resources) { r.Start(ctx) },
		"while it syncs":    func(ctx context.Context, r *Resources) { r.Start(ctx); synctest.Wait() },
		"a later start too": func(ctx context.Context, r *Resources) { r.Stop(); r.Start(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				client := newClient()
				answer(client, "list", func() error { return apierrors.NewNotFound(cups.GroupResource(), "") })
				r := newResources(client, ResourceEvents{})
				result := make(chan error)
				go func() { result <- r.WaitForSync(t.Context()) }()
				before(t.Context(), r)
				r.Stop()
				g.Expect(<-result).To(MatchError(ErrStopped))
				g.Expect(r.WaitForSync(t.Context())).To(MatchError(ErrStopped))
				g.Expect(r.HasSynced()).To(BeFalse())
			})
		})
	}
}

func TestResourcesEndWithTheirContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		ctx, cancel := context.WithCancel(t.Context())
		r := newResources(newClient(), ResourceEvents{})
		r.Start(ctx)
		g.Expect(r.WaitForSync(t.Context())).To(Succeed())
		cancel()
		synctest.Wait()
		for _, i := range r.informers {
			g.Expect(i.done).To(BeClosed())
		}
	})
}

func TestStopWhileTheAPIServerIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		client := newClient()
		streams := make(chan *apiwatch.FakeWatcher, 10)
		var away atomic.Bool
		client.PrependWatchReactor("*", func(clienttesting.Action) (bool, apiwatch.Interface, error) {
			if away.Load() {
				return true, nil, refused()
			}
			stream := apiwatch.NewFake()
			streams <- stream
			return true, stream, nil
		})
		r := newResources(client, ResourceEvents{})
		r.Start(t.Context())
		g.Expect(r.WaitForSync(t.Context())).To(Succeed())
		synctest.Wait()
		away.Store(true)
		(<-streams).Stop()
		time.Sleep(10 * time.Minute)
		tries := requests(client, "watch")
		g.Expect(tries).To(And(BeNumerically(">", 200), BeNumerically("<", 400)), "about one in two seconds")

		away.Store(false)
		start := time.Now()
		<-streams
		g.Expect(time.Since(start)).To(BeNumerically("<", 3*time.Second), "back soon")
		away.Store(true)
		r.Stop()
		g.Expect(time.Since(start)).To(BeNumerically("<", 3*time.Second))
	})
}
