package bench_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/controllers"
)

const (
	// swept is how many resources a sweep goes over.
	swept = 1000
	// unrelated is how many writes a second there are beside the one sweep.
	unrelated = 50
	// healthWritten is how long after an edit of the box its CRDHealth may still be written because of that.
	healthWritten = 16 * time.Second
)

// measureSweep has all resources due at the same moment, of which nothing has changed: alone, beside writes to other objects, and after an
// edit of the box, which has each of them evaluated anew.
func measureSweep(b *testing.B, t *sheet) {
	b.Helper()
	s := &sweep{registry: prometheus.NewRegistry()}
	s.world = newWorld(b, func(_ *rest.Config, o *controllers.Options) { o.Clock, o.Registry = &s.clock, s.registry })
	s.applyKinds(b, "Applied")
	s.apply(b, usualResync)
	_, err := s.made(b, "Applied", "swept", swept)
	must(b, err)
	for range t.turns {
		s.apply(b, usualResync) // no resync comes between
		s.audit.quiet(b, s.user)
		s.tally.since()
		before := s.counts(b)
		s.apply(b, oftenResynced)
		anew := s.awaits(b, before, time.Time{})
		t.Add("sweep.evaluated", ours, anew.rate())
		s.told(t, "swept anew after an edit of the box", anew)
		time.Sleep(healthWritten)

		alone := s.atOnce(b)
		t.Add("sweep.rate", ours, alone.rate())
		s.told(t, "swept alone", alone)
		end := s.unrelatedWrites(b)
		beside := s.atOnce(b)
		wrote := end()
		t.Add("sweep.beside", ours, beside.rate())
		t.Add("sweep.requests", ours, float64(total(alone.requests)+total(beside.requests)))
		s.told(t, fmt.Sprintf("swept beside %.0f writes a second", wrote), beside)
	}
}

// sweep is a world whose resources can all be made due at the same moment.
type sweep struct {
	*world

	clock    stopped
	registry *prometheus.Registry
}

// apply gives the box a resync.
func (s *sweep) apply(b *testing.B, resync time.Duration) {
	b.Helper()
	_, err := s.cluster.KubectlApply(b.Context(), fmt.Sprintf(sideBox, resync, "b"))
	must(b, err)
}

// went is what one sweep came to.
type went struct {
	results  map[string]float64 // reconciles by result
	took     time.Duration
	requests map[string]int
}

func (w went) sum() (n float64) {
	for _, count := range w.results {
		n += count
	}
	return n
}

func (w went) rate() float64 { return w.sum() / w.took.Seconds() }

func (s *sweep) told(t *sheet, how string, w went) {
	var results []string
	for _, result := range slices.Sorted(maps.Keys(w.results)) {
		if n := w.results[result]; n != 0 {
			results = append(results, fmt.Sprintf("%v %s", n, result))
		}
	}
	t.Note("%v resources %s in %.3g s: %v; requests: %s.", w.sum(), how, w.took.Seconds(), results, listed(w.requests, 1))
}

// counts gives the reconciles of the box so far, by result.
func (s *sweep) counts(b *testing.B) map[string]float64 {
	b.Helper()
	families, err := s.registry.Gather()
	must(b, err)
	counts := map[string]float64{}
	for _, f := range families {
		if f.GetName() != "orkestra_reconcile_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if labels["box"] == "applied" {
				counts[labels["result"]] = m.GetCounter().GetValue()
			}
		}
	}
	return counts
}

// awaits waits until reconciles have begun, and ended, which the counter tells. Where nobody knows when the sweep began (the zero time), it counts from
// the first look at which some had ended, and without these.
func (s *sweep) awaits(b *testing.B, before map[string]float64, began time.Time) went {
	b.Helper()
	const rest, pause = 500 * time.Millisecond, time.Millisecond
	var last time.Time // when the counter moved
	now, late := before, time.Now().Add(patience)
	for ; last.IsZero() || time.Since(last) < rest; time.Sleep(pause) {
		seen, at := s.counts(b), time.Now()
		switch {
		case !maps.Equal(seen, now) && began.IsZero():
			began, before, last = at, seen, at
		case !maps.Equal(seen, now):
			last = at
		case last.IsZero() && at.After(late):
			b.Fatalf("nothing was reconciled within %s", patience)
		}
		now = seen
	}
	requests, _ := s.tally.since()
	return went{less(now, before), last.Sub(began), requests}
}

// atOnce has all resources due at the same moment: nobody is told the time for longer than a resync lasts, so that the workers stand still and
// the queue fills. What counts is the time from then on.
func (s *sweep) atOnce(b *testing.B) went {
	b.Helper()
	before := s.counts(b)
	s.clock.stop()
	time.Sleep(oftenResynced + oftenResynced/10)
	s.tally.since()
	began := time.Now()
	s.clock.goOn()
	return s.awaits(b, before, began)
}

// less takes counts from others.
func less(all, of map[string]float64) map[string]float64 {
	left := maps.Clone(all)
	for what, n := range of {
		left[what] -= n
	}
	return left
}

// unrelatedWrites changes objects that are nobody's children, until end is called, which gives how many times a second.
func (s *sweep) unrelatedWrites(b *testing.B) (end func() float64) {
	b.Helper()
	var all []*corev1.ConfigMap
	for i := range unrelated {
		c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "unrelated-", Namespace: "default"}, Data: map[string]string{"i": fmt.Sprint(i)}}
		must(b, s.kube.Create(b.Context(), c))
		all = append(all, c)
	}
	ctx, cancel := context.WithCancel(b.Context())
	var writing sync.WaitGroup
	var failed error
	written, began := 0, time.Now()
	writing.Go(func() {
		tick := time.NewTicker(time.Second / unrelated)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"data":{"n":"%d"}}`, written))
			err := s.kube.Patch(ctx, all[written%unrelated], patch)
			if ctx.Err() != nil {
				return // it may not have been answered any more
			}
			if failed = err; failed != nil {
				return
			}
			written++
		}
	})
	return func() float64 {
		cancel()
		writing.Wait()
		must(b, failed)
		return float64(written) / time.Since(began).Seconds()
	}
}

// stopped is a clock that tells nobody the time between stop and goOn.
type stopped struct {
	clock.RealClock

	mu sync.RWMutex
}

func (c *stopped) stop() { c.mu.Lock() }
func (c *stopped) goOn() { c.mu.Unlock() }

// Now implements clock.Clock.
func (c *stopped) Now() time.Time {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.RealClock.Now()
}
