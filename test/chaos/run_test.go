package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// run is one seed from its start to its end.
type run struct {
	t         *testing.T
	seed      uint64
	world     *world
	proxy     *proxy
	managers  *managers
	recorder  *recorder
	acts      int   // of each user
	crdAt     []int // at which of its acts a user replaces the CRD, for each user; -1: never
	outages   int   // of the API server
	jumps     int   // of the clock
	known     goleak.Option
	rng       *rand.Rand
	took      time.Duration
	counts    map[fault]int
	writes    int
	succeeded bool
}

// newRun draws what a seed does, besides the faults of requests.
func newRun(t *testing.T, seed uint64, resources int) *run {
	t.Helper()
	r := &run{t: t, seed: seed, world: newWorld(seed, resources), rng: rand.New(rand.NewPCG(seed, 2))}
	r.acts = resources
	kills := make([]int, r.rng.IntN(5))
	for i := range kills {
		kills[i] = 1 + r.rng.IntN(resources*24)
	}
	for range kinds {
		at := -1
		if r.rng.IntN(6) == 0 {
			at = r.rng.IntN(r.acts)
		}
		r.crdAt = append(r.crdAt, at)
	}
	if r.rng.IntN(4) == 0 {
		r.outages = 1
	}
	process := r.rng.IntN(6) == 0
	if r.rng.IntN(3) == 0 && !process {
		r.jumps = 1 + r.rng.IntN(4)
	}
	var err error
	if r.proxy, err = newProxy(cluster.Config(), newPlan(seed), kills); err != nil {
		t.Fatal(err)
	}
	r.world.proxy = r.proxy
	r.managers = &managers{
		proxy: r.proxy, clock: &jumpyClock{}, process: process, dir: t.TempDir(),
		deaths: make(chan struct{}, len(kills)), ended: make(chan struct{}),
	}
	t.Logf("seed %d: %d resources of each of %d kinds; kills after writes %v, of a process: %t; CRDs replaced at %v; API server restarts: %d; clock jumps: %d",
		seed, resources, len(kinds), kills, process, r.crdAt, r.outages, r.jumps)
	return r
}

// run runs the seed. To run it again: make chaos SEEDS=<seed>.
func (r *run) run() {
	begun := time.Now()
	r.known = goleak.IgnoreCurrent()
	defer func() {
		r.took = time.Since(begun)
		r.counts = r.proxy.plan.happened()
		r.writes, _ = r.proxy.written()
		jobs, secrets := r.recorder.seen()
		r.t.Logf("seed %d: %s, %d writes, %d Jobs, %d Secrets; faults:%s", r.seed, r.took.Round(time.Millisecond), r.writes, jobs, secrets, describe(r.counts))
		if r.t.Failed() {
			r.t.Logf("seed %d failed; run it again: make chaos SEEDS=%d", r.seed, r.seed)
		}
	}()
	ctx, cancel := context.WithTimeout(r.t.Context(), 4*patience)
	defer cancel()
	r.must("starting to record", func() (err error) {
		r.recorder, err = newRecorder(cluster.Config(), r.world)
		return err
	})
	go r.managers.run()
	healthy := true
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"building the world", r.world.build},
		{"working under chaos", r.work},
		{"waiting for what the specs say", r.eventually(r.world.compare)},
		{"waiting for CRDHealth to be right", r.eventually(r.world.compareHealth)},
		{"reconciling everything once more", r.reconcileAgain},
		{"counting Jobs and Secrets", func(context.Context) error { return r.recorder.check() }},
		{"deleting all resources", r.world.empty},
		{"waiting for all to be gone", r.eventually(r.world.compare)},
		{"deleting the boxes", r.world.dropBoxes},
	} {
		start := time.Now()
		if err := step.do(ctx); err != nil {
			healthy = false
			if out := r.managers.out; out != "" {
				r.must("writing goroutines", func() error { return dump(out + ".goroutines") })
				r.must("writing requests", func() error { return r.dumpRequests(out + ".requests") })
			}
			r.t.Errorf("seed %d, %s: %s", r.seed, step.name, cutTo(err, 6000))
			break
		}
		r.t.Logf("%s: %s", step.name, time.Since(start).Round(time.Millisecond))
	}
	r.end(context.WithoutCancel(ctx), healthy)
}

func (r *run) must(what string, f func() error) {
	r.t.Helper()
	if err := f(); err != nil {
		r.t.Fatalf("seed %d, %s: %v", r.seed, what, err)
	}
}

// work has all users work at the same time, while the world goes wrong, until they are done. Then the faults end.
func (r *run) work(ctx context.Context) error {
	var group sync.WaitGroup
	errs := make([]error, len(r.world.users)+1)
	working, done := context.WithCancel(ctx)
	group.Go(func() { errs[len(errs)-1] = r.meddle(working) })
	var users sync.WaitGroup
	for i, u := range r.world.users {
		users.Go(func() { errs[i] = u.work(ctx, r.acts, r.crdAt[i]) })
	}
	users.Wait()
	done()
	group.Wait()
	r.proxy.calm()
	return errors.Join(errs...)
}

// meddle makes the API server restart and the clock jump, each after some more writes.
func (r *run) meddle(ctx context.Context) error {
	type event func() error
	var events []event
	for range r.jumps {
		events = append(events, func() error {
			r.proxy.plan.count(clockJump)
			r.managers.clock.offset.Store(int64(time.Duration(r.rng.IntN(3*3600)-3600) * time.Second))
			return nil
		})
	}
	for range r.outages {
		events = append(events, func() error {
			if cluster.Existing() {
				return nil // it is somebody else's
			}
			r.proxy.plan.count(restarted)
			back := context.WithoutCancel(ctx)
			return errors.Join(cluster.KillAPIServer(back), cluster.StartAPIServer(back))
		})
	}
	r.rng.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
	for _, e := range events {
		r.await(ctx, r.rng.IntN(r.acts*8))
		if err := e(); err != nil {
			return err
		}
	}
	return nil
}

// await waits until managers have made so many writes.
func (r *run) await(ctx context.Context, target int) {
	for now, more := r.proxy.written(); now < target; now, more = r.proxy.written() {
		select {
		case <-more:
		case <-ctx.Done():
			return
		}
	}
}

// eventually waits until nothing is wrong any more.
func (r *run) eventually(f func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		return r.world.insist(ctx, func(ctx context.Context) error {
			err := f(ctx)
			if err != nil {
				_ = nap(ctx, while) // insist notices when the context ends
			}
			return err
		})
	}
}

// reconcileAgain has every resource evaluated once more, by an edit of its box that changes nothing about children. Its error says what was
// sent about resources and children meanwhile: there should be nothing.
func (r *run) reconcileAgain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, mark := r.proxy.since(0)
	for _, u := range r.world.users {
		before := 0.0
		series := func() (float64, error) {
			return r.managers.series(ctx, "orkestra_reconcile_total", u.boxName(r.world), `result="skipped"`)
		}
		if err := r.world.insist(ctx, func(context.Context) (err error) {
			before, err = series()
			return err
		}); err != nil {
			return err
		}
		if err := r.world.insist(ctx, u.patcher(u.boxObject(r.world), fields{"spec": fields{"workers": 4}}, nil)); err != nil {
			return err
		}
		n := 0
		for _, w := range u.all {
			if w.exists {
				n++
			}
		}
		err := r.world.insist(ctx, func(context.Context) error {
			now, err := series()
			if err == nil && now < before+float64(n) {
				err = fmt.Errorf("box %s evaluated %v of %d resources", u.boxName(r.world), now-before, n)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	sent, _ := r.proxy.since(mark)
	var wrong []error
	for _, s := range sent {
		if strings.Contains(s.path, "/apis/events.k8s.io/") {
			continue // they are sent when there is time for them
		}
		if strings.Contains(s.path, "/namespaces/"+r.world.near) || strings.Contains(s.path, "/"+r.world.group+"/") {
			wrong = append(wrong, fmt.Errorf("all was settled, and yet: %s", s))
		}
	}
	return errors.Join(append(wrong, r.world.compare(ctx))...)
}

// end stops everything and sees that nothing of it goes on.
func (r *run) end(ctx context.Context, healthy bool) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if !healthy {
		select {
		case <-r.proxy.quiet:
		default:
			r.proxy.calm()
		}
	}
	if err := r.managers.stop(); err != nil {
		r.t.Errorf("seed %d: stopping the manager: %v", r.seed, err)
	}
	r.recorder.stop()
	if err := r.world.remove(ctx); err != nil {
		r.t.Errorf("seed %d: cleaning up: %v", r.seed, err)
	}
	r.proxy.close()
	err := goleak.Find(r.known,
		// Connections of the tests themselves come and go.
		goleak.IgnoreAnyFunction("net/http.(*http2Transport).newClientConn"),
		goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*clientConnReadLoop).run"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
		// controller-runtime wraps watches of metadata in a filter that nobody drains: it stays where a watch ends with an event under way.
		goleak.IgnoreAnyFunction("k8s.io/apimachinery/pkg/watch.(*filteredWatch).loop"))
	if err != nil {
		r.t.Errorf("seed %d: leaked: %s", r.seed, cutTo(err, 6000))
	}
	r.succeeded = !r.t.Failed()
}

// cutTo keeps a message readable when everything is wrong.
func cutTo(err error, limit int) string {
	text := err.Error()
	if len(text) > limit {
		return text[:limit] + fmt.Sprintf("\n… and %d bytes more", len(text)-limit)
	}
	return text
}
