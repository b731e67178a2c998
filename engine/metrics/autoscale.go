package metrics

import "github.com/prometheus/client_golang/prometheus"

// scale is how autoscale of a box stands.
type scale struct {
	active  bool
	reason  string
	changes int
}

// scales say how autoscale of boxes stands. Boxes without autoscale have none.
type scales struct {
	byBox[scale]

	active, changes *prometheus.Desc
}

func newScales(d descriptions) *scales {
	return &scales{active: d.desc("orkestra_autoscale_active"), changes: d.desc("orkestra_autoscale_changes_total")}
}

// Describe implements prometheus.Collector.
func (s *scales) Describe(out chan<- *prometheus.Desc) {
	out <- s.active
	out <- s.changes
}

// Collect implements prometheus.Collector.
func (s *scales) Collect(out chan<- prometheus.Metric) {
	s.each(func(box string, now scale) {
		value := 0.0
		if now.active {
			value = 1
		}
		out <- prometheus.MustNewConstMetric(s.active, prometheus.GaugeValue, value, box, now.reason)
		out <- prometheus.MustNewConstMetric(s.changes, prometheus.CounterValue, float64(now.changes), box)
	})
}

// MeasureAutoscale reads how autoscale of a box stands each time that the series are collected, until the box is forgotten: whether limits are
// replaced, which fields decide that, and how often it has changed. reason becomes a label: it must stay the same while the rule does, so it has no
// figures. ok is false while the box has no autoscale. read must not block.
func (r *Recorder) MeasureAutoscale(box string, read func() (active bool, reason string, changes int, ok bool)) {
	if r == nil {
		return
	}
	r.scales.measure(box, func() (now scale, ok bool) {
		now.active, now.reason, now.changes, ok = read()
		return now, ok
	})
}
