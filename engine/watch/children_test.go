package watch

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"
)

func TestBoxesShareOneInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		client := newClient(child("ns", "a", "1", "o@box"))
		children, _, stop := running(t, client)
		defer stop()

		var group sync.WaitGroup
		for _, box := range []string{"one", "two", "one"} {
			group.Go(func() { g.Expect(children.Acquire(t.Context(), box, cupKind, cupKind)).To(Succeed()) })
		}
		group.Wait()
		g.Expect(children.Acquire(t.Context(), "two", bowlKind)).To(Succeed())
		synctest.Wait()
		g.Expect(requests(client, "watch")).To(Equal(2), "one for each kind")
		g.Expect(children.Acquired("two")).To(Equal([]schema.GroupVersionKind{bowlKind, cupKind}))

		children.Release("one")
		g.Expect(children.Acquired("one")).To(BeEmpty())
		g.Expect(names(children.Owned(cupKind, "o"))).To(Equal([]string{"ns/a#1"}))

		children.Release("two", cupKind)
		g.Expect(children.Owned(cupKind, "o")).To(BeEmpty())
		g.Expect(children.Acquired("two")).To(Equal([]schema.GroupVersionKind{bowlKind}))
		children.Release("two")
		children.Release("two", cupKind)
		children.Release("nobody")

		g.Expect(children.Acquire(t.Context(), "two", cupKind)).To(Succeed())
		synctest.Wait()
		g.Expect(requests(client, "watch")).To(Equal(3), "a new informer")
		g.Expect(names(children.Owned(cupKind, "o"))).To(Equal([]string{"ns/a#1"}))
	})
}

func TestStoppingWaitsForEventsInFlight(t *testing.T) {
	for name, stopping := range map[string]func(children *Children, end func()){
		"Release": func(children *Children, _ func()) { children.Release("box") },
		"Run":     func(_ *Children, end func()) { end() },
		"Run during Release": func(children *Children, end func()) {
			go children.Release("box")
			synctest.Wait()
			end()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				client := newClient(child("ns", "a", "1", "o@box"))
				children, _, end := running(t, client)
				defer end()
				var busy atomic.Bool
				children.notify = func(types.UID, string, schema.GroupVersionKind) {
					busy.Store(true)
					time.Sleep(time.Minute)
					busy.Store(false)
				}
				go func() { _ = children.Acquire(t.Context(), "box", cupKind) }()
				synctest.Wait()
				g.Expect(busy.Load()).To(BeTrue())
				stopping(children, end)
				g.Expect(busy.Load()).To(BeFalse())
			})
		})
	}
}

func TestAcquireNamesKindsThatAreNotInstalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		children, _, stop := running(t, newClient())
		defer stop()
		err := children.Acquire(t.Context(), "box", otherKind, cupKind, schema.GroupVersionKind{Kind: "Lost"})
		g.Expect(meta.IsNoMatchError(err)).To(BeTrue())
		g.Expect(errors.As(err, new(*meta.NoKindMatchError))).To(BeTrue())
		g.Expect(err.Error()).To(And(ContainSubstring("Kind=Missing"), ContainSubstring("Kind=Lost"), Not(ContainSubstring("\n"))))
		g.Expect(children.Acquired("box")).To(Equal([]schema.GroupVersionKind{cupKind}), "the kinds that are there")
	})
}

func TestAcquireOfAKindThatIsNoLongerServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		client := newClient(child("ns", "a", "1", "o@box"))
		var served atomic.Bool
		answer(client, "list", func() error {
			if !served.Load() {
				return apierrors.NewNotFound(cups.GroupResource(), "")
			}
			return nil
		})
		children, _, stop := running(t, client)
		defer stop()
		g.Expect(children.Complete("box", cupKind)).To(BeFalse())
		g.Expect(children.Acquire(t.Context(), "box", cupKind)).To(MatchError(ErrNotServed))
		g.Expect(children.Complete("box", cupKind)).To(BeTrue(), "there is nothing to be known")
		g.Expect(children.Complete("other", cupKind)).To(BeFalse())
		g.Expect(children.Acquire(t.Context(), "box", cupKind)).To(MatchError(ErrNotServed))

		served.Store(true)
		time.Sleep(2 * longestPause)
		g.Expect(children.Acquire(t.Context(), "box", cupKind)).To(Succeed())
		g.Expect(names(children.Owned(cupKind, "o"))).To(Equal([]string{"ns/a#1"}), "it is followed when it is back")
		g.Expect(children.Complete("box", cupKind)).To(BeTrue())
	})
}

func TestAKindThatCannotBeReadIsNotSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		client := newClient()
		answer(client, "list", func() error { return apierrors.NewServiceUnavailable("starting") })
		children, _, stop := running(t, client)
		defer stop()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		g.Expect(children.Acquire(ctx, "box", cupKind)).To(MatchError(context.DeadlineExceeded))
		g.Expect(children.Complete("box", cupKind)).To(BeFalse())
	})
}

func TestAcquireOfAFreshKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		client := newClient()
		tries := 0
		answer(client, "list", func() error {
			if tries++; tries <= 5 {
				return apierrors.NewNotFound(cups.GroupResource(), "")
			}
			return nil
		})
		children, _, stop := running(t, client)
		defer stop()
		start := time.Now()
		g.Expect(children.Acquire(t.Context(), "box", cupKind)).To(Succeed())
		g.Expect(time.Since(start)).To(BeNumerically("<", 500*time.Millisecond))
	})
}

func TestAcquireOfAKindThatMayNotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		client := newClient()
		var allowed atomic.Bool
		answer(client, "list", func() error {
			if allowed.Load() {
				return nil
			}
			return apierrors.NewForbidden(cups.GroupResource(), "", errors.New("no"))
		})
		children, _, stop := running(t, client)
		defer stop()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := children.Acquire(ctx, "box", cupKind)
		g.Expect(ctx.Err()).NotTo(HaveOccurred(), "it is notified at once, not when time is up")
		g.Expect(apierrors.IsForbidden(err)).To(BeTrue(), err.Error())
		g.Expect(err.Error()).To(ContainSubstring("Kind=Cup"))
		g.Expect(children.Complete("box", cupKind)).To(BeFalse(), "what there is of it is not known")
		g.Expect(children.Acquired("box")).To(Equal([]schema.GroupVersionKind{cupKind}))
		g.Expect(requests(client, "list")).To(BeNumerically("<", 50), "it does not flood")

		allowed.Store(true)
		time.Sleep(2 * longestPause)
		g.Expect(children.Acquire(t.Context(), "box", cupKind)).To(Succeed())
		for range 20 {
			g.Expect(children.Acquire(ctx, "box", cupKind)).To(Succeed(), "what is synced needs no context")
		}
	})
}

func TestReleaseWhileOthersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		client := newClient()
		var served atomic.Bool
		answer(client, "list", func() error {
			if served.Load() {
				return nil
			}
			return apierrors.NewNotFound(cups.GroupResource(), "")
		})
		children, _, stop := running(t, client)
		defer stop()
		results := map[string]chan error{"one": make(chan error, 1), "two": make(chan error, 1)}
		for box, result := range results {
			go func() { result <- children.Acquire(t.Context(), box, cupKind) }()
		}
		synctest.Wait()
		children.Release("one")
		served.Store(true)
		g.Expect(<-results["two"]).To(Succeed())
		<-results["one"] // it may have synced as well: the informer did

		children.Release("two")
		served.Store(false)
		go func() { results["two"] <- children.Acquire(t.Context(), "two", cupKind) }()
		synctest.Wait()
		children.Release("two")
		g.Expect(<-results["two"]).To(MatchError(ErrStopped))
	})
}

func TestAcquireBeforeAndAfterRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		children := NewChildren(Config{Client: newClient(), Mapper: mapper(), Log: logr.Discard()}, (&notifications{}).add)
		ctx, cancel := context.WithCancel(t.Context())
		expired, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		g.Expect(children.Acquire(expired, "box", cupKind)).To(MatchError(context.DeadlineExceeded))

		early, run := make(chan error), make(chan error)
		go func() { early <- children.Acquire(t.Context(), "box", cupKind) }()
		synctest.Wait()
		go func() { run <- children.Run(ctx) }()
		g.Expect(<-early).To(Succeed())
		g.Expect(children.Run(ctx)).NotTo(Succeed())

		cancel()
		g.Expect(<-run).To(Succeed())
		g.Expect(children.Acquire(t.Context(), "box", cupKind)).To(MatchError(ErrStopped))
		g.Expect(children.Acquired("box")).To(BeEmpty())
		children.Release("box")
		children.Wrote(cupKind, child("ns", "a", "1", "o"))
		g.Expect(children.Owned(cupKind, "o")).To(BeEmpty())
	})
}

func TestRunEndsWhileKindsSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		client := newClient()
		answer(client, "list", func() error { return apierrors.NewNotFound(cups.GroupResource(), "") })
		children, _, stop := running(t, client)
		result := make(chan error)
		go func() { result <- children.Acquire(t.Context(), "box", cupKind) }()
		synctest.Wait()
		stop()
		g.Expect(<-result).To(MatchError(ErrStopped))
	})
}

func TestNotify(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		client := newClient(child("ns", "a", "1", "o1@box"))
		children, notified, stop := running(t, client)
		defer stop()
		g.Expect(children.Acquire(t.Context(), "box", cupKind)).To(Succeed())
		g.Expect(notified.take()).To(Equal([]string{"o1@box"}), "listed")
		create(t, client, child("ns", "b", "2", "o1@box"))
		g.Expect(notified.take()).To(Equal([]string{"o1@box"}), "added")
		update(t, client, child("ns", "b", "3", "o1@box"))
		g.Expect(notified.take()).To(Equal([]string{"o1@box"}), "changed")
		update(t, client, child("ns", "b", "4", "o2@box"))
		g.Expect(notified.take()).To(Equal([]string{"o1@box", "o2@box"}), "moved to another owner")
		update(t, client, child("ns", "b", "5", "o2@other"))
		g.Expect(notified.take()).To(Equal([]string{"o2@box", "o2@other"}), "moved to another box")
		update(t, client, child("ns", "b", "5", "o2@other"))
		g.Expect(notified.take()).To(BeEmpty(), "the same version")
		remove(t, client, child("ns", "b", "", ""))
		g.Expect(notified.take()).To(Equal([]string{"o2@other"}), "deleted")
	})
}

func TestNotifyAfterAGapInTheWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		client := newClient(child("ns", "same", "1", "same@box"), child("ns", "lost", "2", "lost@box"))
		streams := make(chan *apiwatch.FakeWatcher, 10)
		client.PrependWatchReactor("*", func(clienttesting.Action) (bool, apiwatch.Interface, error) {
			stream := apiwatch.NewFake()
			streams <- stream
			return true, stream, nil
		})
		children, notified, stop := running(t, client)
		defer stop()
		g.Expect(children.Acquire(t.Context(), "box", cupKind)).To(Succeed())
		g.Expect(notified.take()).To(Equal([]string{"lost@box", "same@box"}))

		remove(t, client, child("ns", "lost", "", ""))
		create(t, client, child("ns", "new", "4", "new@box"))
		gone := apierrors.NewResourceExpired("too old").Status()
		(<-streams).Error(&gone)
		<-streams // it has listed
		g.Expect(notified.take()).To(Equal([]string{"lost@box", "new@box"}), "what is unchanged is not told")
		g.Expect(children.OfBox(cupKind, "box")).To(Equal(2))
		g.Expect(names(children.Owned(cupKind, "lost"))).To(BeEmpty())
	})
}

func TestReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		client := newClient(
			child("z", "a", "1", "o@box"), child("a", "z", "2", "o@box"), child("a", "b", "3", "o@other"), child("", "c", "4", "o@box"),
			child("a", "x", "5", "p@box"), child("a", "free", "6", ""))
		children, _, stop := running(t, client)
		defer stop()
		g.Expect(children.OfBox(cupKind, "box")).To(BeZero())
		g.Expect(children.Acquire(t.Context(), "box", cupKind)).To(Succeed())
		g.Expect(names(children.Owned(cupKind, "o"))).To(Equal([]string{"c#4", "a/b#3", "a/z#2", "z/a#1"}))
		g.Expect(children.Owned(cupKind, "")).To(BeEmpty())
		g.Expect(children.Owned(cupKind, "nobody")).To(BeEmpty())
		g.Expect(children.Owned(bowlKind, "o")).To(BeEmpty())
		g.Expect(children.OfBox(cupKind, "box")).To(Equal(4))
		g.Expect(children.OfBox(cupKind, "other")).To(Equal(1))
		obj, found := children.Get(cupKind, "a", "b")
		g.Expect(found).To(BeTrue())
		g.Expect(obj.GetName()).To(Equal("b"))
		_, found = children.Get(cupKind, "", "c")
		g.Expect(found).To(BeTrue())
		g.Expect(overlayOf(children, cupKind).store.shared.GetStore().ListKeys()).To(HaveLen(5), "what has no owner is not even asked for")
		_, found = children.Get(cupKind, "a", "c")
		g.Expect(found).To(BeFalse())
		_, found = children.Get(bowlKind, "a", "b")
		g.Expect(found).To(BeFalse())
	})
}

func TestReadYourWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		client := newClient(child("ns", "a", "1", "o@box"))
		children, _, stop := running(t, client)
		defer stop()
		children.Wrote(cupKind, child("ns", "early", "9", "o@box"))
		g.Expect(children.Acquire(t.Context(), "box", cupKind)).To(Succeed())
		create(t, client, child("ns", "b", "2", "o@box")) // the store knows a version from now on
		synctest.Wait()

		children.Wrote(cupKind, child("ns", "c", "3", "o@box"))
		children.Wrote(cupKind, nil)
		children.Wrote(cupKind, &unstructured.Unstructured{})
		g.Expect(names(children.Owned(cupKind, "o"))).To(Equal([]string{"ns/a#1", "ns/b#2", "ns/c#3"}))
		g.Expect(children.OfBox(cupKind, "box")).To(Equal(3))
		children.Wrote(cupKind, child("ns", "c", "4", "")) // released
		_, found := children.Get(cupKind, "ns", "c")
		g.Expect(found).To(BeFalse())
		g.Expect(children.OfBox(cupKind, "box")).To(Equal(2))
		children.Gone(cupKind, child("ns", "a", "1", "o@box"))
		children.Gone(cupKind, nil)
		g.Expect(names(children.Owned(cupKind, "o"))).To(Equal([]string{"ns/b#2"}))

		remove(t, client, child("ns", "a", "", ""))
		create(t, client, child("ns", "d", "5", "o@box"))
		synctest.Wait()
		g.Expect(overlayOf(children, cupKind).entries).To(HaveLen(1), "events forget what they supersede, but for what they do not name")
		g.Expect(names(children.Owned(cupKind, "o"))).To(Equal([]string{"ns/b#2", "ns/d#5"}))
		g.Expect(overlayOf(children, cupKind).entries).To(BeEmpty(), "reads forget the rest")
	})
}

func overlayOf(children *Children, kind schema.GroupVersionKind) *overlay {
	k, _ := children.kind(kind)
	return k
}
