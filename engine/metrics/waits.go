package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// named is of how many namespaces of a box the wait is shown by their names.
const named = 10

// Wait is how long a resource of a namespace has waited for a worker.
type Wait struct {
	// Namespace of the resource.
	Namespace string
	// Longest that one of its resources has waited.
	Longest time.Duration
}

// waits are how long resources wait, by namespace. There are no more series than named and one: that of all other namespaces has an empty name.
type waits struct {
	byBox[[]Wait]

	longest *prometheus.Desc
}

func newWaits(d descriptions) *waits {
	return &waits{longest: d.desc("orkestra_queue_namespace_wait_seconds")}
}

// Describe implements prometheus.Collector.
func (w *waits) Describe(out chan<- *prometheus.Desc) { out <- w.longest }

// Collect implements prometheus.Collector.
func (w *waits) Collect(out chan<- prometheus.Metric) {
	w.each(func(box string, all []Wait) {
		for i, wait := range all[:min(len(all), named+1)] {
			if i == named {
				wait.Namespace = ""
			}
			out <- prometheus.MustNewConstMetric(w.longest, prometheus.GaugeValue, wait.Longest.Seconds(), box, wait.Namespace)
		}
	})
}

// MeasureWaits reads how long resources of a box wait each time that the series are collected, until the box is forgotten: by namespace, the
// longest first. ok is false while its namespaces take no turns. read must not block.
func (r *Recorder) MeasureWaits(box string, read func() (waits []Wait, ok bool)) {
	if r != nil {
		r.byNamespace.measure(box, read)
	}
}
