package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// vector is what all vectors can do.
type vector interface {
	prometheus.Collector
	DeletePartialMatch(labels prometheus.Labels) int
}

// descriptions are those of the catalog, by name.
type descriptions map[string]Series

func newDescriptions() descriptions {
	d := descriptions{}
	for _, s := range Catalog() {
		d[s.Name] = s
	}
	return d
}

func (d descriptions) counter(name string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: d[name].Help}, d[name].Labels)
}

func (d descriptions) gauge(name string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: d[name].Help}, d[name].Labels)
}

// What native histograms hold: buckets that grow by a fifth, about ten for each power of ten that is measured. There are some histograms for each
// box, so they must stay small.
const (
	nativeFactor     = 1.2
	nativeMaxBuckets = 80
	nativeReset      = time.Hour
)

// histogram gives one that is sent with native buckets to scrapers that ask for the protobuf format, and with those of the catalog to all.
func (d descriptions) histogram(name string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: name, Help: d[name].Help, Buckets: d[name].Buckets,
		NativeHistogramBucketFactor: nativeFactor, NativeHistogramMaxBucketNumber: nativeMaxBuckets, NativeHistogramMinResetDuration: nativeReset,
	}, d[name].Labels)
}

// desc is the description of what is read when it is collected.
func (d descriptions) desc(name string) *prometheus.Desc {
	return prometheus.NewDesc(name, d[name].Help, d[name].Labels, nil)
}

// reading is a gauge without labels that is read when it is collected, from when somebody has said how.
type reading struct {
	desc *prometheus.Desc

	mu   sync.Mutex
	read func() (value float64, ok bool) // guarded by mu; nil: there is nothing to read
}

// Describe implements prometheus.Collector.
func (r *reading) Describe(out chan<- *prometheus.Desc) { out <- r.desc }

// Collect implements prometheus.Collector.
func (r *reading) Collect(out chan<- prometheus.Metric) {
	r.mu.Lock()
	read := r.read
	r.mu.Unlock()
	if read == nil {
		return
	}
	if value, ok := read(); ok {
		out <- prometheus.MustNewConstMetric(r.desc, prometheus.GaugeValue, value)
	}
}

// DeletePartialMatch implements vector: it is no box's.
func (*reading) DeletePartialMatch(prometheus.Labels) int { return 0 }

func (r *reading) set(read func() (value float64, ok bool)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read = read
}

// byBox holds how something of each box is read. It is read when the series are collected, and not set on changes: a worker that hangs would
// never report one. It is safe for concurrent use.
type byBox[T any] struct {
	mu  sync.Mutex
	all map[string]func() (value T, ok bool) // by box; guarded by mu
}

// measure says how it is read of a box, until the box is forgotten. read must not block. Its ok is false while the box has nothing to show.
func (b *byBox[T]) measure(box string, read func() (value T, ok bool)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all == nil {
		b.all = map[string]func() (T, bool){}
	}
	b.all[box] = read
}

// each reads it of all boxes that have something to show.
func (b *byBox[T]) each(show func(box string, value T)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for box, read := range b.all {
		if value, ok := read(); ok {
			show(box, value)
		}
	}
}

// DeletePartialMatch implements vector.
func (b *byBox[T]) DeletePartialMatch(labels prometheus.Labels) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, known := b.all[labels[labelBox]]; !known {
		return 0
	}
	delete(b.all, labels[labelBox])
	return 1
}
