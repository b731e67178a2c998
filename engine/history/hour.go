package history

import (
	"container/list"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// step is how often boxes are looked at, and minutes how many looks are remembered: an hour.
	step    = time.Minute
	minutes = 60
)

// Sample is how a box is at a moment.
type Sample struct {
	// Total, Ready, Waiting and Failing count its resources; Queue those that wait for a worker.
	Total, Ready, Waiting, Failing, Queue int32
}

// Minute is how a box was at the end of a minute, and what it did in it.
type Minute struct {
	Sample

	// At is the end of the minute.
	At time.Time
	// Reconciles that ran, and Failures among them.
	Reconciles, Failures int32
	// P95 is the time that 95 % of them took at most, up to a fifth too long; 0: there were none.
	P95 time.Duration
}

// box has what is remembered of one.
type box struct {
	read    func() Sample // nil: it does not run
	minutes []Minute      // the oldest first
	current running
	rings   map[types.NamespacedName]*list.Element
	steps   []*stepCounts // in the order in which they were seen first
}

// running is the minute that runs.
type running struct {
	reconciles, failures int32
	took                 [buckets]int32
}

// How long reconciles took is counted in buckets, each a fifth longer than the one before it: from a millisecond to more than two minutes.
const (
	buckets  = 66
	shortest = time.Millisecond
	growth   = 1.2
)

func (h *History) boxLocked(name string) *box {
	b := h.boxes[name]
	if b == nil {
		b = &box{rings: map[types.NamespacedName]*list.Element{}}
		h.boxes[name] = b
	}
	return b
}

// Measure looks at a box each minute, until it is forgotten. read must not block.
func (h *History) Measure(name string, read func() Sample) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.boxLocked(name).read = read
}

// look ends a minute of all boxes. They are read without the lock: a box has locks of its own.
func (h *History) look() {
	h.mu.Lock()
	reads := map[*box]func() Sample{}
	for _, b := range h.boxes {
		if b.read != nil {
			reads[b] = b.read
		}
	}
	h.mu.Unlock()
	now := h.clock.Now()
	for b, read := range reads {
		sample := read()
		h.mu.Lock()
		b.end(now, sample)
		h.mu.Unlock()
	}
}

func (b *box) end(now time.Time, sample Sample) {
	if len(b.minutes) == minutes {
		b.minutes = slices.Delete(b.minutes, 0, 1)
	}
	b.minutes = append(b.minutes, Minute{Sample: sample, At: now, Reconciles: b.current.reconciles, Failures: b.current.failures, P95: b.current.p95()})
	b.current = running{}
}

// The outcomes of a reconcile that has not failed.
const (
	Success = "success"
	Waiting = "waiting"
)

func (b *box) count(c *Cycle) {
	b.current.reconciles++
	if c.Outcome != Success && c.Outcome != Waiting {
		b.current.failures++
	}
	b.current.took[bucketOf(c.Took)]++
}

func bucketOf(took time.Duration) int {
	if took <= shortest {
		return 0
	}
	n := math.Ceil(math.Log(float64(took)/float64(shortest)) / math.Log(growth))
	return min(buckets-1, int(n))
}

func (r *running) p95() time.Duration {
	if r.reconciles == 0 {
		return 0
	}
	const twentieth = 20
	above := r.reconciles / twentieth // may have taken longer
	for n := buckets - 1; n > 0; n-- {
		if above -= r.took[n]; above < 0 {
			return time.Duration(float64(shortest) * math.Pow(growth, float64(n)))
		}
	}
	return shortest
}

// Hour gives the last minutes of a box, the oldest first; none where it was not looked at yet.
func (h *History) Hour(name string) []Minute {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.boxes[name]
	if b == nil {
		return nil
	}
	return slices.Clone(b.minutes)
}
