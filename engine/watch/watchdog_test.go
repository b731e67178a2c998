package watch

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
)

// ages are the watches that run.
type ages struct {
	mu  sync.Mutex
	all map[string]func() (time.Duration, int64, int64)
}

func (a *ages) Watch(resource string, state func() (time.Duration, int64, int64)) func() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all[resource] = state
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.all, resource)
	}
}

func (a *ages) of(resource string) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	quiet, _, _ := a.all[resource]()
	return quiet
}

// held is how many objects the cache of a resource holds, and how many bytes they have.
func (a *ages) held(resource string) (objects, bytes int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, objects, bytes = a.all[resource]()
	return objects, bytes
}

// stuck is a client whose watches can be made to swallow what they should tell.
// Its counts are guarded: a test that sleeps until the next list has no other order with the reflector.
type stuck struct {
	requester

	mu      sync.Mutex
	watches []*swallowing
	lists   atomic.Int64
}

type swallowing struct {
	apiwatch.Interface

	events chan apiwatch.Event
	ended  atomic.Bool
}

func (s *swallowing) ResultChan() <-chan apiwatch.Event { return s.events }
func (s *swallowing) Stop()                             { s.ended.Store(true) }

func (s *stuck) Watch(context.Context, metav1.ListOptions) (apiwatch.Interface, error) {
	w := &swallowing{events: make(chan apiwatch.Event)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watches = append(s.watches, w)
	return w, nil
}

func (s *stuck) List(ctx context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	s.lists.Add(1)
	return s.requester.List(ctx, options)
}

// latest is the watch that was opened last.
func (s *stuck) latest() *swallowing {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watches[len(s.watches)-1]
}

// watching gives an informer whose watches tell what the test makes them tell.
func watching(t *testing.T, events ResourceEvents) (i *informer, client *stuck, tracked *ages, stop func()) {
	t.Helper()
	tracked = &ages{all: map[string]func() (time.Duration, int64, int64){}}
	fake := newClient(child("a", "one", "1", "u1"))
	i = newInformer(Config{Client: fake, Log: logr.Discard(), Quiet: time.Minute, Gauges: tracked},
		informerOptions{resource: cups, handler: events.handler(), trim: trimResource})
	client = &stuck{requester: i.requests()}
	i.requests = always(client)
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	i.start(ctx, &group)
	synctest.Wait()
	return i, client, tracked, func() {
		cancel()
		group.Wait()
	}
}

func TestAQuietWatchIsListedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		i, client, tracked, stop := watching(t, ResourceEvents{})
		g.Expect(i.get("a/one")).NotTo(BeNil())
		lists, first := client.lists.Load(), client.latest()
		bookmark := object(cupKind, "", "", "2")
		for range 10 {
			time.Sleep(50 * time.Second)
			g.Expect(tracked.of("cups.test.example.com")).To(Equal(50 * time.Second))
			first.events <- apiwatch.Event{Type: apiwatch.Bookmark, Object: bookmark}
			synctest.Wait()
			g.Expect(tracked.of("cups.test.example.com")).To(BeZero())
		}
		g.Expect(client.lists.Load()).To(Equal(lists), "bookmarks are signs of life")

		time.Sleep(59 * time.Second)
		g.Expect(client.lists.Load()).To(Equal(lists))
		time.Sleep(31 * time.Second) // the reflector makes a pause before it lists
		synctest.Wait()
		g.Expect(client.lists.Load()).To(BeNumerically(">", lists))
		g.Expect(first.ended.Load()).To(BeTrue())
		g.Expect(tracked.of("cups.test.example.com")).To(BeNumerically("<", time.Minute))
		stop()
		g.Expect(maps.Keys(tracked.all)).To(BeEmpty(), "a watch that is gone has no age")
	})
}

func TestARequestThatIsNotAnsweredIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		i := newInformer(Config{Client: newClient(), Log: logr.Discard(), Quiet: time.Minute}, informerOptions{resource: cups, handler: ResourceEvents{}.handler(), trim: trimResource})
		i.requests = always(hanging{i.requests()})
		began := time.Now()
		_, err := i.open(t.Context(), metav1.ListOptions{})
		g.Expect(err).To(MatchError(errQuiet))
		g.Expect(err).To(MatchError(ContainSubstring("(1m0s)")))
		g.Expect(time.Since(began)).To(Equal(time.Minute))
		tries := 0
		ctx, cancel := context.WithCancel(t.Context())
		i.requests = always(failing{requester: i.requests(), list: func(ctx context.Context) error {
			tries++
			<-ctx.Done()
			if tries == 3 {
				cancel()
			}
			return refused()
		}})
		_, err = i.list(ctx, metav1.ListOptions{})
		g.Expect(err).To(HaveOccurred())
		g.Expect(tries).To(Equal(3), "and tried again")
		i.watchdog.routines.Wait()
	})
}

// hanging are requests that nobody answers.
type hanging struct{ requester }

func (hanging) Watch(ctx context.Context, _ metav1.ListOptions) (apiwatch.Interface, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestPanicsAreCaught(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		var seen []string
		note := func(what string) {
			seen = append(seen, what)
			if len(seen)%2 == 1 {
				panic(what)
			}
		}
		i, client, _, stop := watching(t, ResourceEvents{
			Add:    func(obj *unstructured.Unstructured, _ bool) { note("add " + obj.GetName()) },
			Update: func(obj *unstructured.Unstructured) { note("update " + obj.GetName()) },
			Delete: func(obj *unstructured.Unstructured) { note("delete " + obj.GetName()) },
		})
		defer stop()
		var mu sync.Mutex
		var caught []any
		i.panicked = func(p any, stack []byte) {
			mu.Lock()
			defer mu.Unlock()
			caught = append(caught, p)
			g.Expect(string(stack)).To(ContainSubstring("watchdog_test.go"))
		}
		for _, e := range []struct {
			kind apiwatch.EventType
			obj  runtime.Object
		}{
			{apiwatch.Added, child("a", "two", "2", "u")},
			{apiwatch.Modified, child("a", "two", "3", "u")},
			{apiwatch.Added, child("a", "three", "4", "u")},
			{apiwatch.Deleted, child("a", "two", "5", "u")},
		} {
			client.latest().events <- apiwatch.Event{Type: e.kind, Object: e.obj}
			synctest.Wait()
		}
		g.Expect(seen).To(Equal([]string{"add one", "add two", "update two", "add three", "delete two"}), "the others come all the same")
		g.Expect(caught).To(Equal([]any{"update two", "delete two"}))
	})
}

func TestPanicsOfRequestsAndTransforms(t *testing.T) {
	g := NewWithT(t)
	caught := 0
	i := &informer{panicked: func(any, []byte) { caught++ }}
	_, err := guardedRequest(i, func(context.Context, metav1.ListOptions) (runtime.Object, error) { panic("oops") })(t.Context(), metav1.ListOptions{})
	g.Expect(err).To(MatchError(errPanicked))
	sentinel := errors.New("no")
	_, err = guardedRequest(i, func(context.Context, metav1.ListOptions) (runtime.Object, error) { return nil, sentinel })(t.Context(), metav1.ListOptions{})
	g.Expect(err).To(MatchError(sentinel))
	obj := child("a", "one", "1", "u")
	item, err := i.guardedTransform(func(any) (any, error) { panic("oops") })(obj)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(item).To(BeIdenticalTo(obj), "stored as it is")
	g.Expect(caught).To(Equal(2))
}
