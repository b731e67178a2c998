package bench_test

import (
	"runtime"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// measureIdle looks at what boxes take that have nothing to do, by what this process has without and with them.
func measureIdle(b *testing.B, t *sheet) {
	b.Helper()
	w := newWorld(b)
	watches, err := w.watches()
	must(b, err)
	for turn := range t.turns {
		heap, goroutines := w.held(b, t.idle)
		before := watches.read(b)
		names := plainNames("idle", string(rune('a'+turn)), t.many)
		boxes, err := w.follow(b.Context(), boxKind, client.InNamespace(""))
		must(b, err)
		must(b, each(names, func(name string) error { return w.applyDefining(b, name) }))
		must(b, boxesReady(boxes, names...))
		boxes.stop()
		heapWith, goroutinesWith := w.held(b, t.idle)
		t.Add("idle.heap", ours, (heapWith-heap)/1024/float64(t.many))
		t.Add("idle.goroutines", ours, float64(goroutinesWith-goroutines)/float64(t.many))
		t.Add("idle.watches", ours, (watches.read(b)-before)/float64(t.many))
		must(b, w.noBoxes(b))
	}
}

// read gives the value at this moment.
func (g *gauge) read(b *testing.B) float64 {
	b.Helper()
	page, err := pageOf(b.Context(), g.client, g.url)
	must(b, err)
	value, found := valueOf(page, g.series, g.label)
	if !found {
		b.Fatalf("%s has no %s", g.url, g.series)
	}
	return value / g.unit
}

// held gives the heap that is in use, and the goroutines, once nothing is under way.
func (w *world) held(b *testing.B, idle time.Duration) (heap float64, goroutines int) {
	b.Helper()
	w.audit.quiet(b, w.user)
	time.Sleep(idle)
	runtime.GC()
	runtime.GC() // what the first one found finalizers for
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc), runtime.NumGoroutine()
}
