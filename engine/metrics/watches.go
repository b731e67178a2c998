package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// watches are the watches that run, and what their caches hold. They are read when the series are collected.
type watches struct {
	age, objects, bytes *prometheus.Desc

	mu  sync.Mutex
	all map[*watch]bool // guarded by mu
}

// watch is one watch: of which kind, and what tells how it is.
type watch struct {
	kind  string
	state func() (quiet time.Duration, objects, bytes int64)
}

// watched is how the watches of one kind are together.
type watched struct {
	quiet          time.Duration
	objects, bytes int64
}

func newWatches(d descriptions) *watches {
	return &watches{
		age: d.desc("orkestra_watch_age_seconds"), objects: d.desc("orkestra_cache_objects"), bytes: d.desc("orkestra_cache_bytes"),
		all: map[*watch]bool{},
	}
}

// Describe implements prometheus.Collector.
func (w *watches) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{w.age, w.objects, w.bytes} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (w *watches) Collect(out chan<- prometheus.Metric) {
	for kind, of := range w.byKind() {
		for desc, value := range map[*prometheus.Desc]float64{w.age: of.quiet.Seconds(), w.objects: float64(of.objects), w.bytes: float64(of.bytes)} {
			out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, kind)
		}
	}
}

// byKind puts together the watches of each kind: the longest silence, and the sum of what they hold.
func (w *watches) byKind() map[string]watched {
	w.mu.Lock()
	defer w.mu.Unlock()
	kinds := map[string]watched{}
	for one := range w.all {
		quiet, objects, bytes := one.state()
		of := kinds[one.kind]
		kinds[one.kind] = watched{quiet: max(of.quiet, quiet), objects: of.objects + objects, bytes: of.bytes + bytes}
	}
	return kinds
}

// DeletePartialMatch implements vector: watches are no box's.
func (*watches) DeletePartialMatch(prometheus.Labels) int { return 0 }

// Watch notes a watch of a kind, which is named by its resource (deployments.apps). How long it has told nothing, how many objects its cache holds,
// and how many bytes of JSON, is exported until forget is called. There may be several of one kind. state must not block.
func (r *Recorder) Watch(kind string, state func() (quiet time.Duration, objects, bytes int64)) (forget func()) {
	if r == nil {
		return func() {}
	}
	one := &watch{kind: kind, state: state}
	r.watches.mu.Lock()
	defer r.watches.mu.Unlock()
	r.watches.all[one] = true
	return func() {
		r.watches.mu.Lock()
		defer r.watches.mu.Unlock()
		delete(r.watches.all, one)
	}
}
