package watch

import (
	"sync/atomic"
	"time"

	"github.com/orkspace/orkestra/engine/packed"
)

// Gauges are told of every watch, so that it is known how long each has told nothing, and how much its cache holds.
type Gauges interface {
	// Watch notes the watch of a resource, such as deployments.apps, of which there may be several, until forget is called. state may be
	// called at any time, and blocks nobody. bytes are those of the objects as JSON.
	Watch(resource string, state func() (quiet time.Duration, objects, bytes int64)) (forget func())
}

// noGauges note nothing.
type noGauges struct{}

// Watch implements Gauges.
func (noGauges) Watch(string, func() (time.Duration, int64, int64)) func() { return func() {} }

// held is how much a cache holds. It is counted as objects come and go, so that asking for it costs nothing, however many they are.
type held struct{ objects, bytes atomic.Int64 }

// change takes that an object has become another one; nil: there was none, or there is none any more.
func (h *held) change(old, obj *packed.Object) {
	if old != nil {
		h.objects.Add(-1)
		h.bytes.Add(-old.Size())
	}
	if obj != nil {
		h.objects.Add(1)
		h.bytes.Add(obj.Size())
	}
}

// more is what they take beside others that are counted elsewhere, such as whole objects beside their heads.
func (h *held) more() (quiet time.Duration, objects, bytes int64) { return 0, 0, h.bytes.Load() }

// state is how long the watch has told nothing, and how much its cache holds.
func (i *informer) state() (quiet time.Duration, objects, bytes int64) {
	return i.watchdog.age(), i.held.objects.Load(), i.held.bytes.Load()
}
