package watch

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
)

func refused() error {
	return &url.Error{Op: "Get", URL: "https://localhost", Err: syscall.ECONNREFUSED}
}

func notFound() error {
	return apierrors.NewNotFound(cups.GroupResource(), "")
}

func TestPause(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		try  int
		want time.Duration
	}{
		"first":                  {notFound(), 0, 10 * time.Millisecond},
		"second":                 {notFound(), 1, 20 * time.Millisecond},
		"a fresh kind":           {notFound(), 20, 250 * time.Millisecond},
		"a kind that stays away": {notFound(), 40, 2 * time.Second},
		"an API server away":     {refused(), 20, 2 * time.Second},
		"many":                   {refused(), 1 << 30, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(pause(tc.try, tc.err)).To(And(BeNumerically(">=", tc.want), BeNumerically("<=", tc.want*6/5)))
		})
	}
}

func TestPassing(t *testing.T) {
	for name, tc := range map[string]struct {
		err                  error
		unavailable, passing bool
	}{
		"refused":      {refused(), true, true},
		"too many":     {apierrors.NewTooManyRequests("", 1), true, true},
		"starting":     {apierrors.NewServiceUnavailable(""), true, true},
		"not there":    {notFound(), false, true},
		"forbidden":    {apierrors.NewForbidden(cups.GroupResource(), "", nil), false, false},
		"expired":      {apierrors.NewResourceExpired(""), false, false},
		"anything":     {errors.New("oops"), false, false},
		"not any more": {context.Canceled, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(unavailable(tc.err)).To(Equal(tc.unavailable))
			g.Expect(passing(tc.err)).To(Equal(tc.passing))
		})
	}
}

func TestNewer(t *testing.T) {
	for name, tc := range map[string]struct {
		a, b string
		want bool
	}{
		"newer":             {"10", "9", true},
		"older":             {"9", "10", false},
		"equal":             {"10", "10", false},
		"than nothing":      {"1", "", true},
		"than zero":         {"1", "0", true},
		"nothing":           {"", "1", false},
		"nothing, nothing":  {"", "", false},
		"not a number":      {"x", "1", false},
		"than not a number": {"1", "x", false},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(newer(tc.a, tc.b)).To(Equal(tc.want))
		})
	}
}

// What the reflector must decide itself is given to it at once.
func TestWatchInsistsOnlyOnWhatPasses(t *testing.T) {
	for name, tc := range map[string]struct {
		err     error
		initial bool
		tries   int
	}{
		"a kind that is away, at first":  {notFound(), true, 4},
		"a kind that is away, later":     {notFound(), false, 1},
		"an API server away, at first":   {refused(), true, 4},
		"an API server away, later":      {refused(), false, 4},
		"an old version":                 {apierrors.NewResourceExpired(""), true, 1},
		"a server without initial lists": {apierrors.NewInvalid(cupKind.GroupKind(), "", nil), true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				client := newClient()
				tries := 0
				i := newInformer(Config{Client: client, Log: logr.Discard()}, informerOptions{resource: cups, handler: ResourceEvents{}.handler()})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				i.requests = always(failing{requester: i.requests(), watch: func() error {
					if tries++; tries == 4 {
						cancel()
					}
					return tc.err
				}})
				options := metav1.ListOptions{ResourceVersion: "5"}
				if tc.initial {
					options.SendInitialEvents = new(true)
				}
				_, err := i.watch(ctx, options)
				g.Expect(err).To(MatchError(tc.err))
				g.Expect(tries).To(Equal(tc.tries))
			})
		})
	}
}

func TestTheProbeAsksForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		client := newClient(child("ns", "a", "1", ""))
		r := newResources(client, ResourceEvents{}, "ns")
		r.Start(t.Context())
		defer r.Stop()
		g.Expect(r.WaitForSync(t.Context())).To(Succeed())
		first, ok := client.Actions()[0].(clienttesting.ListActionImpl)
		g.Expect(ok).To(BeTrue())
		g.Expect(first.GetListRestrictions().Fields.String()).To(Equal(noObject))
		g.Expect(first.ListOptions.ResourceVersion).To(Equal("0"))
		g.Expect(first.GetNamespace()).To(Equal("ns"))
	})
}

// The client waits for as long as the API server says, but no longer than its context lives.
func TestTheProbeDoesNotWaitForTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		i := newInformer(Config{Client: newClient(), Log: logr.Discard()}, informerOptions{resource: cups, handler: ResourceEvents{}.handler()})
		var limits []time.Duration
		i.requests = always(failing{requester: i.requests(), list: func(ctx context.Context) error {
			start := time.Now()
			if len(limits) == 12 {
				return nil
			}
			<-ctx.Done()
			limits = append(limits, time.Since(start))
			return ctx.Err()
		}})
		i.awaitKind(t.Context())
		g.Expect(limits[:3]).To(Equal([]time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond}))
		g.Expect(limits[11]).To(Equal(30*time.Second), "a slow API server gets its time")
	})
}

// client-go logs an answer that ends before its time as an error, and another probe follows.
func TestAnAnswerThatAProbeCutsOffIsNoError(t *testing.T) {
	g := NewWithT(t)
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		g.Expect(http.NewResponseController(w).Flush()).To(Succeed())
		if asked.Add(1) == 1 {
			<-r.Context().Done()
			return
		}
		_, err := io.WriteString(w, `{"kind":"CupList","apiVersion":"test.example.com/v1","metadata":{},"items":[]}`)
		g.Expect(err).NotTo(HaveOccurred())
	}))
	defer server.Close()
	client, err := dynamic.NewForConfig(&rest.Config{Host: server.URL})
	g.Expect(err).NotTo(HaveOccurred())
	i := newInformer(Config{Client: client, Log: logr.Discard()}, informerOptions{resource: cups, handler: ResourceEvents{}.handler()})
	var lines []string
	i.awaitKind(klog.NewContext(t.Context(), funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})))
	g.Expect(asked.Load()).To(BeNumerically(">", 1))
	g.Expect(lines).To(BeEmpty())
}

func TestStopWaitsForListsInFlight(t *testing.T) {
	g := NewWithT(t)
	client := newClient()
	var lists atomic.Int32
	listing, answered := make(chan struct{}), make(chan struct{})
	answer(client, "list", func() error {
		if lists.Add(1) > 1 { // after the probe
			close(listing)
			<-answered
		}
		return nil
	})
	r := newResources(client, ResourceEvents{})
	r.Start(t.Context())
	<-listing
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		r.Stop()
	}()
	g.Consistently(stopped, 100*time.Millisecond).ShouldNot(BeClosed())
	close(answered)
	g.Eventually(stopped).Should(BeClosed())
}

// A CRD goes, and another brings its kind back under another plural: the informer that boxes have follows.
func TestAKindIsFollowedToAnotherPlural(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		client := newClient(child("ns", "a", "1", "o@box"))
		var moved atomic.Bool
		client.PrependReactor("list", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
			if served := action.GetResource() == bowls; served != moved.Load() {
				return true, nil, notFound()
			}
			return false, nil, nil
		})
		streams := make(chan *apiwatch.FakeWatcher, 10)
		client.PrependWatchReactor("*", func(action clienttesting.Action) (bool, apiwatch.Interface, error) {
			if served := action.GetResource() == bowls; served != moved.Load() {
				return true, nil, notFound()
			}
			stream := apiwatch.NewFake()
			streams <- stream
			return true, stream, nil
		})
		children := NewChildren(Config{Client: client, Mapper: moving{RESTMapper: mapper(), moved: &moved}, Log: logr.Discard()}, func(types.UID, string, schema.GroupVersionKind) {})
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { g.Expect(children.Run(ctx)).To(Succeed()) })
		defer group.Wait()
		defer cancel()
		g.Expect(children.Acquire(t.Context(), "box", cupKind)).To(Succeed())
		g.Expect(names(children.Owned(cupKind, "o"))).To(Equal([]string{"ns/a#1"}))

		back := child("ns", "b", "3", "o@box")
		g.Expect(client.Tracker().Create(bowls, back, "ns")).To(Succeed())
		moved.Store(true)
		(<-streams).Stop()
		time.Sleep(time.Minute)
		g.Expect(names(children.Owned(cupKind, "o"))).To(Equal([]string{"ns/b#3"}))
		g.Expect(children.Complete("box", cupKind)).To(BeTrue())
	})
}

// moving maps the first kind of the tests to the resource of the second, when it has moved.
type moving struct {
	meta.RESTMapper

	moved *atomic.Bool
}

func (m moving) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	mapping, err := m.RESTMapper.RESTMapping(kind, versions...)
	if err == nil && m.moved.Load() {
		mapping.Resource = bowls
	}
	return mapping, err
}

func TestAKindThatRefusesTheProbeIsWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		client := newClient(child("ns", "a", "1", ""))
		first := true
		answer(client, "list", func() error {
			if first {
				first = false
				return apierrors.NewBadRequest("field label not supported")
			}
			return nil
		})
		r := newResources(client, ResourceEvents{})
		r.Start(t.Context())
		defer r.Stop()
		g.Expect(r.WaitForSync(t.Context())).To(Succeed())
		g.Expect(r.Len()).To(Equal(1))
	})
}
