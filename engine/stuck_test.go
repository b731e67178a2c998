package engine

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/worker"
)

// told notes the boxes that have changed.
type told struct {
	noNotifier

	mu    sync.Mutex
	boxes []string
}

func (n *told) BoxChanged(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.boxes = append(n.boxes, name)
}

// since gives what was noted since it was last asked.
func (n *told) since() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := n.boxes
	n.boxes = nil
	return out
}

// hanging is a box with a reconcile of each of these resources, which does not heed its context, and ends when its channel is closed.
func hanging(t *testing.T, e *Engine, name string, resources map[string]chan struct{}) *box {
	t.Helper()
	work, quit := context.WithCancel(context.Background())
	ready := make(chan struct{})
	b := idleBox(t, e, name, nil, func(ctx context.Context, b *box) {
		<-ready
		var underWay sync.WaitGroup
		for resource, back := range resources {
			underWay.Go(func() {
				defer b.overdue.Watch(work, types.NamespacedName{Namespace: "team", Name: resource}, worker.NewSlot(worker.NewPlaces(make(chan struct{}, 1))))()
				<-back
			})
		}
		<-ctx.Done()
		underWay.Wait()
	})
	b.quit = quit
	close(ready)
	return b
}

// elsewhere is a plan that the box of another plan can't take over.
func elsewhere(plan *pipeline.Plan) *pipeline.Plan {
	next := *plan
	next.CRD.Resource = schema.GroupVersionResource{Group: "demo.example.com", Version: "v2", Resource: "websites"}
	return &next
}

func TestABoxThatDoesNotStopIsNotWaitedForForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		var changes told
		e := idle(t, func(c *Config) { c.ShutdownTimeout, c.Notifier = time.Minute, &changes })
		e.ctx = t.Context()
		shop, other := make(chan struct{}), make(chan struct{})
		b := hanging(t, e, "website", map[string]chan struct{}{"shop": shop, "other": other})
		free := idleBox(t, e, "free", nil, func(ctx context.Context, _ *box) { <-ctx.Done() })
		plan := b.plan.Load()

		var first error
		began := time.Now()
		var removing sync.WaitGroup
		removing.Go(func() { first = e.Remove("website") })
		synctest.Wait()
		g.Expect(e.Plan("website")).To(BeNil(), "it takes nothing new")
		g.Expect(e.Plan("free")).NotTo(BeNil(), "nobody waits for the lock")
		g.Expect(e.all()).To(Equal([]*box{free}))
		removing.Wait()
		waited := time.Since(began)
		g.Expect(waited).To(BeNumerically("<", 2*time.Minute))
		both := []types.NamespacedName{{Namespace: "team", Name: "other"}, {Namespace: "team", Name: "shop"}}
		g.Expect(first).To(Equal(&StuckError{Box: "website", Resources: both}))
		g.Expect(first).To(MatchError(`box "website" does not stop: it waits for reconciles that do not end: team/other, team/shop; ` +
			`nothing of this box is reconciled until that is over, or the manager is restarted`))

		// Whatever else is asked of the box is refused at once.
		g.Expect(e.Ensure(elsewhere(plan), Options{})).To(Equal(first))
		g.Expect(e.Ensure(plan, Options{})).To(Equal(first), "nor does it go back to what it was")
		g.Expect(e.Remove("website")).To(Equal(first))
		g.Expect(time.Since(began)).To(Equal(waited))
		g.Expect(e.boxes).To(HaveKeyWithValue("website", BeIdenticalTo(b)), "no other one is beside it")

		// Each that comes back is told of.
		changes.since()
		close(other)
		synctest.Wait()
		g.Expect(changes.since()).To(ConsistOf("website"))
		g.Expect(e.Remove("website")).To(Equal(&StuckError{Box: "website", Resources: both[1:]}))
		close(shop)
		synctest.Wait()
		g.Expect(changes.since()).To(ConsistOf("website", "website"), "the last one came back, and the box has stopped")
		g.Expect(e.Plan("website")).To(BeNil())
		g.Expect(e.Remove("website")).To(Succeed())
		g.Expect(e.boxes).NotTo(HaveKey("website"))
		g.Expect(e.Remove("free")).To(Succeed())
		g.Expect(changes.since()).To(BeEmpty(), "who waits is not told")
	})
}

func TestABoxStartsAnewWhenTheFormerOneHasStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		e := idle(t, func(c *Config) { c.ShutdownTimeout = time.Minute })
		e.ctx = t.Context()
		back := make(chan struct{})
		former := hanging(t, e, "website", map[string]chan struct{}{"shop": back})
		next := elsewhere(former.plan.Load())
		g.Expect(e.Ensure(next, Options{})).To(BeAssignableToTypeOf(&StuckError{}))
		close(back)
		synctest.Wait()
		g.Expect(e.Ensure(next, Options{})).To(Succeed())
		g.Expect(e.Plan("website")).To(BeIdenticalTo(next))
		g.Expect(e.boxes["website"]).NotTo(BeIdenticalTo(former))
		g.Expect(e.Remove("website")).To(Succeed())
	})
}

// An engine stops the other boxes, and those that a stuck one depends on; it names what does not come back, and ends when that has. The
// process does not wait for that for ever.
func TestAnEngineThatEndsWhileABoxDoesNotStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		var mu sync.Mutex
		var logged []string
		e := idle(t, func(c *Config) {
			c.ShutdownTimeout = time.Minute
			c.Log = funcr.New(func(_, args string) {
				mu.Lock()
				defer mu.Unlock()
				logged = append(logged, args)
			}, funcr.Options{})
		})
		back := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		hanging(t, e, "website", map[string]chan struct{}{"shop": back})
		hanging(t, e, "before", map[string]chan struct{}{"early": back})
		var stopped order
		free := idleBox(t, e, "free", nil, func(ctx context.Context, b *box) {
			<-ctx.Done()
			stopped.add(b.name)
		})
		ended := false
		var running sync.WaitGroup
		running.Go(func() {
			g.Expect(e.Start(ctx)).To(Succeed())
			ended = true
		})
		synctest.Wait()
		g.Expect(e.Remove("before")).To(MatchError(ContainSubstring("team/early")))
		cancel()
		time.Sleep(time.Hour)
		synctest.Wait()
		g.Expect(stopped.names).To(Equal([]string{free.name}))
		g.Expect(ended).To(BeFalse())
		mu.Lock()
		g.Expect(logged).To(ContainElement(And(ContainSubstring("does not stop"), ContainSubstring("team/shop"))))
		mu.Unlock()
		g.Expect(e.Ensure(free.plan.Load(), Options{})).To(MatchError(ErrNotStarted))
		close(back)
		running.Wait()
		g.Expect(ended).To(BeTrue())
	})
}

func TestWhatABoxWaitsForThatDoesNotStop(t *testing.T) {
	names := func(names ...string) (out []types.NamespacedName) {
		for _, name := range names {
			out = append(out, types.NamespacedName{Namespace: "team", Name: name})
		}
		return out
	}
	const rest = "; nothing of this box is reconciled until that is over, or the manager is restarted"
	for want, err := range map[string]*StuckError{
		"waits for reconciles that do not end: team/a" + rest:                             {Resources: names("a"), Constructor: "op.New"},
		"waits for reconciles that do not end: team/a, team/b, team/c, and 2 more" + rest: {Resources: names("a", "b", "c", "d", "e")},
		"waits for reconciles that do not end: web" + rest:                                {Resources: []types.NamespacedName{{Name: "web"}}},
		"waits for constructor op.New, which does not return" + rest:                      {Constructor: "op.New"},
		"waits for work that does not end" + rest:                                         {},
	} {
		NewWithT(t).Expect(err.Waits()).To(Equal(want))
	}
}
