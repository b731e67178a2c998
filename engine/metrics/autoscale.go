package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// scales say how autoscale of boxes stands. They are read when the series are collected; boxes without autoscale have none.
type scales struct {
	active, changes *prometheus.Desc

	mu  sync.Mutex
	all map[string]func() (active bool, changes int, ok bool) // by box; guarded by mu
}

func newScales(d descriptions) *scales {
	return &scales{
		active: d.desc("orkestra_autoscale_active"), changes: d.desc("orkestra_autoscale_changes_total"),
		all: map[string]func() (bool, int, bool){},
	}
}

// Describe implements prometheus.Collector.
func (s *scales) Describe(out chan<- *prometheus.Desc) {
	out <- s.active
	out <- s.changes
}

// Collect implements prometheus.Collector.
func (s *scales) Collect(out chan<- prometheus.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for box, read := range s.all {
		active, changes, ok := read()
		if !ok {
			continue
		}
		value := 0.0
		if active {
			value = 1
		}
		out <- prometheus.MustNewConstMetric(s.active, prometheus.GaugeValue, value, box)
		out <- prometheus.MustNewConstMetric(s.changes, prometheus.CounterValue, float64(changes), box)
	}
}

// DeletePartialMatch implements vector.
func (s *scales) DeletePartialMatch(labels prometheus.Labels) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.all[labels[labelBox]]; !known {
		return 0
	}
	delete(s.all, labels[labelBox])
	return 1
}

// MeasureAutoscale reads how autoscale of a box stands each time that the series are collected, until the box is forgotten: whether limits are
// replaced, and how often that has changed. ok is false while the box has no autoscale. read must not block.
func (r *Recorder) MeasureAutoscale(box string, read func() (active bool, changes int, ok bool)) {
	if r == nil {
		return
	}
	r.scales.mu.Lock()
	defer r.scales.mu.Unlock()
	r.scales.all[box] = read
}
