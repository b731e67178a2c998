package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// watches are the ages of the watches that run. They are read when the series are collected.
type watches struct {
	age *prometheus.Desc

	mu  sync.Mutex
	all map[*watch]bool // guarded by mu
}

type watch struct {
	kind string
	age  func() time.Duration
}

func newWatches() *watches {
	return &watches{
		age: prometheus.NewDesc("orkestra_watch_age_seconds",
			"Time since the watch of a kind last told anything, bookmarks included; of several watches, the one that is quiet for longest",
			[]string{"kind"}, nil),
		all: map[*watch]bool{},
	}
}

// Describe implements prometheus.Collector.
func (w *watches) Describe(out chan<- *prometheus.Desc) { out <- w.age }

// Collect implements prometheus.Collector.
func (w *watches) Collect(out chan<- prometheus.Metric) {
	for kind, age := range w.oldest() {
		out <- prometheus.MustNewConstMetric(w.age, prometheus.GaugeValue, age.Seconds(), kind)
	}
}

func (w *watches) oldest() map[string]time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	ages := map[string]time.Duration{}
	for one := range w.all {
		ages[one.kind] = max(ages[one.kind], one.age())
	}
	return ages
}

// DeletePartialMatch implements vector: watches are no box's.
func (*watches) DeletePartialMatch(prometheus.Labels) int { return 0 }

// Watch notes a watch of a kind, which is named by its resource (deployments.apps). Its age is exported until forget is called. There may be
// several of one kind.
func (r *Recorder) Watch(kind string, age func() time.Duration) (forget func()) {
	if r == nil {
		return func() {}
	}
	one := &watch{kind: kind, age: age}
	r.watches.mu.Lock()
	defer r.watches.mu.Unlock()
	r.watches.all[one] = true
	return func() {
		r.watches.mu.Lock()
		defer r.watches.mu.Unlock()
		delete(r.watches.all, one)
	}
}
