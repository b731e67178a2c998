package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Load is how busy a box is at one moment.
type Load struct {
	// Queued is the number of resources that wait for a worker.
	Queued int
	// Workers is the number of workers that the box may use.
	Workers int
	// Busy is the number of workers that reconcile.
	Busy int
	// Overdue is the number of workers whose reconcile is past its deadline and does not end.
	Overdue int
}

// loads are how busy boxes are. They are read when the series are collected, and not set on changes: a worker that hangs would never
// report that.
type loads struct {
	queued, workers, busy, overdue *prometheus.Desc

	mu  sync.Mutex
	all map[string]func() Load // by box; guarded by mu
}

func newLoads() *loads {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, []string{labelBox}, nil)
	}
	return &loads{
		queued:  desc("orkestra_queue_depth", "Resources that wait for a worker"),
		workers: desc("orkestra_workers_wanted", "Workers that a box may use"),
		busy:    desc("orkestra_workers_busy", "Workers that reconcile at this moment"),
		overdue: desc("orkestra_reconciles_overdue", "Reconciles that are past their deadline and do not end"),
		all:     map[string]func() Load{},
	}
}

// Describe implements prometheus.Collector.
func (l *loads) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{l.queued, l.workers, l.busy, l.overdue} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (l *loads) Collect(out chan<- prometheus.Metric) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for box, load := range l.all {
		now := load()
		for desc, n := range map[*prometheus.Desc]int{l.queued: now.Queued, l.workers: now.Workers, l.busy: now.Busy, l.overdue: now.Overdue} {
			out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(n), box)
		}
	}
}

// DeletePartialMatch implements vector.
func (l *loads) DeletePartialMatch(labels prometheus.Labels) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.all[labels[labelBox]]; !known {
		return 0
	}
	delete(l.all, labels[labelBox])
	return 1
}

// Measure reads the load of a box each time that the series are collected, until the box is forgotten. load must not block.
func (r *Recorder) Measure(box string, load func() Load) {
	if r == nil {
		return
	}
	r.loads.mu.Lock()
	defer r.loads.mu.Unlock()
	r.loads.all[box] = load
}
