// Package history remembers what the reconciles of this process did lately, and how its boxes fared in the last hour. It keeps a bounded number of
// bytes, the oldest go first, and all of it is lost when the process ends: Since says from when on it remembers.
package history

import (
	"container/list"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

const (
	// most is how many reconciles of a resource are remembered. Equal ones that follow each other count as one.
	most = 10
	// maxBytes is what all remembered reconciles together may take.
	maxBytes = 8 << 20
	// maxText is how much is kept of a message, in bytes.
	maxText = 512
	// maxWrites is how many writes of one reconcile are kept, each with its name.
	maxWrites = 20
)

// Cycle is one reconcile of a resource. It is handed out as shared memory, and never changes once it was noted.
type Cycle struct {
	// At is when it began, Took how long it lasted.
	At   time.Time
	Took time.Duration
	// Times is how often in a row it came to the same, and First when that was so for the first time.
	Times int
	First time.Time
	// Woken says what has woken the resource, Action what was decided, and Why.
	Woken, Action, Why string
	// Outcome is success, waiting, or the class of what failed. Stage is the one that failed.
	Outcome, Stage string
	// Reason and Message are those of the condition Ready that it came to.
	Reason, Message string
	// Stages that ran, in their order.
	Stages []Stage
	// Writes are the first ones, and Unnamed how many more there were.
	Writes  []Write
	Unnamed int
}

// Stage is a step of a reconcile.
type Stage struct {
	Name string
	Took time.Duration
}

// Write is one write to an object.
type Write struct {
	// Action is what was done, such as created.
	Action string
	// Group and Kind of the object.
	Group, Kind string
	// Namespace and Name of the object.
	Namespace, Name string
	// Patch says that fields of an object of others were set.
	Patch bool
}

// History remembers. It is safe for concurrent use; where it is nil, nothing is remembered.
type History struct {
	clock clock.WithTicker

	mu     sync.Mutex
	since  time.Time       // zero: it does not remember yet
	boxes  map[string]*box // guarded by mu
	recent *list.List      // all rings, the one that was noted last in front; guarded by mu
	bytes  int             // of all rings; guarded by mu
}

// ring has the reconciles of one resource, the oldest first.
type ring struct {
	box    string
	key    types.NamespacedName
	cycles []*Cycle
	bytes  int
}

// New gives a history that remembers nothing until Start.
func New(clk clock.WithTicker) *History {
	return &History{clock: clk, boxes: map[string]*box{}, recent: list.New()}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: who does not lead reconciles nothing.
func (*History) NeedLeaderElection() bool { return true }

// Start remembers, and looks at all boxes each minute, until the context ends.
func (h *History) Start(ctx context.Context) error {
	h.mu.Lock()
	h.since = h.clock.Now()
	h.mu.Unlock()
	ticks := h.clock.NewTicker(step)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C():
			h.look()
		}
	}
}

// Since is from when on everything is remembered; zero: this process does not remember.
func (h *History) Since() time.Time {
	if h == nil {
		return time.Time{}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.since
}

// Note takes a reconcile, which the caller does not change any more.
func (h *History) Note(name string, key types.NamespacedName, c *Cycle) {
	if h == nil {
		return
	}
	c.Message = strings.Clone(clip(c.Message))
	if more := len(c.Writes) - maxWrites; more > 0 {
		c.Writes, c.Unnamed = slices.Clone(c.Writes[:maxWrites]), more
	}
	c.Times, c.First = 1, c.At
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.since.IsZero() {
		return
	}
	b := h.boxLocked(name)
	b.count(c)
	b.countSteps(key, c, h.clock.Now())
	at := b.rings[key]
	if at == nil {
		at = h.recent.PushFront(&ring{box: name, key: key, bytes: sizeOfRing + len(key.Namespace) + len(key.Name)})
		b.rings[key] = at
		h.bytes += at.Value.(*ring).bytes //nolint:forcetypeassert // the list has nothing else
	}
	h.recent.MoveToFront(at)
	h.bytes += at.Value.(*ring).add(c) //nolint:forcetypeassert // the list has nothing else
	for h.bytes > maxBytes {
		h.dropLocked(h.recent.Back())
	}
}

// add gives by how many bytes the ring has grown.
func (r *ring) add(c *Cycle) int {
	before := r.bytes
	if n := len(r.cycles); n > 0 && r.cycles[n-1].same(c) {
		last := r.cycles[n-1]
		c.Times, c.First, c.Message = last.Times+1, last.First, last.Message
		r.cycles[n-1] = c // what was handed out stays as it was
		r.bytes += c.size() - last.size()
		return r.bytes - before
	}
	if len(r.cycles) == most {
		r.bytes -= r.cycles[0].size()
		r.cycles = slices.Delete(r.cycles, 0, 1)
	}
	r.cycles = append(r.cycles, c)
	r.bytes += c.size()
	return r.bytes - before
}

// same says whether two reconciles came to the same, and neither of them wrote.
func (c *Cycle) same(other *Cycle) bool {
	return len(c.Writes)+len(other.Writes) == 0 && c.Woken == other.Woken && c.Action == other.Action && c.Outcome == other.Outcome && c.Stage == other.Stage &&
		c.Reason == other.Reason && c.Message == other.Message
}

// What things take in the heap, rounded up.
const (
	sizeOfRing  = 512 // with its places in the list and the map
	sizeOfCycle = 288
	sizeOfStage = 48 // slices grow by doubling
	sizeOfWrite = 112
)

func (c *Cycle) size() int {
	bytes := sizeOfCycle + sizeOfStage*len(c.Stages) + sizeOfWrite*cap(c.Writes) + len(c.Message) + len(c.Woken)
	for _, w := range c.Writes {
		bytes += len(w.Namespace) + len(w.Name) // the rest is of few words that all share
	}
	return bytes
}

func (h *History) dropLocked(at *list.Element) {
	gone := h.recent.Remove(at).(*ring) //nolint:forcetypeassert // the list has nothing else
	h.bytes -= gone.bytes
	delete(h.boxes[gone.box].rings, gone.key)
}

// Drop forgets a resource that is gone.
func (h *History) Drop(name string, key types.NamespacedName) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if b := h.boxes[name]; b != nil && b.rings[key] != nil {
		h.dropLocked(b.rings[key])
	}
}

// Forget forgets a box that does not run any more. One of this name that comes later may be of other resources, which others may see.
func (h *History) Forget(name string) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if b := h.boxes[name]; b != nil {
		for _, at := range b.rings {
			h.dropLocked(at)
		}
		delete(h.boxes, name)
	}
}

// Cycles gives the last reconciles of a resource, the newest first.
func (h *History) Cycles(name string, key types.NamespacedName) []*Cycle {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.boxes[name]
	if b == nil || b.rings[key] == nil {
		return nil
	}
	all := slices.Clone(b.rings[key].Value.(*ring).cycles) //nolint:forcetypeassert // the list has nothing else
	slices.Reverse(all)
	return all
}

// clip cuts a text that is too long, at the end of a character.
func clip(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}
