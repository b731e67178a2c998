package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Load is how busy a box is at one moment.
type Load struct {
	// Queued is the number of resources that wait for a worker, and Oldest how long the first of them has.
	Queued int
	Oldest time.Duration
	// Workers is the number of workers that the box may use.
	Workers int
	// Busy is the number of workers that reconcile.
	Busy int
	// Overdue is the number of workers whose reconcile is past its deadline and does not end.
	Overdue int
}

// loads are how busy boxes are.
type loads struct {
	byBox[Load]

	queued, oldest, workers, busy, overdue *prometheus.Desc
}

func newLoads(d descriptions) *loads {
	return &loads{
		queued: d.desc("orkestra_queue_depth"), oldest: d.desc("orkestra_queue_oldest_seconds"),
		workers: d.desc("orkestra_workers_wanted"), busy: d.desc("orkestra_workers_busy"), overdue: d.desc("orkestra_reconciles_overdue"),
	}
}

// Describe implements prometheus.Collector.
func (l *loads) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{l.queued, l.oldest, l.workers, l.busy, l.overdue} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (l *loads) Collect(out chan<- prometheus.Metric) {
	l.each(func(box string, now Load) {
		for desc, value := range map[*prometheus.Desc]float64{
			l.queued: float64(now.Queued), l.oldest: now.Oldest.Seconds(),
			l.workers: float64(now.Workers), l.busy: float64(now.Busy), l.overdue: float64(now.Overdue),
		} {
			out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, box)
		}
	})
}

// Measure reads the load of a box each time that the series are collected, until the box is forgotten. load must not block.
func (r *Recorder) Measure(box string, load func() Load) {
	if r != nil {
		r.loads.measure(box, func() (Load, bool) { return load(), true })
	}
}
