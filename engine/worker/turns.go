package worker

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// turns are whose turn it is among namespaces: of the keys that wait in one order at the same priority, one of each namespace is taken before
// a second one of any, however many one of them has. Each key gets the number of its round when it is placed, so that an order stays one tree:
// the next round of its namespace, but none that is over. The zero value has begun no round.
type turns struct {
	rounds map[lane]uint64 // of the last key that was placed
	now    map[bool]uint64 // the round of the last key that was taken, by whether it is low
	most   int             // rounds that are kept before those that are over are forgotten
}

// lane is where the keys of one namespace and priority wait, one behind another.
type lane struct {
	namespace string
	low       bool
}

// next gives the round of a key that is placed now.
func (t *turns) next(namespace string, low bool) uint64 {
	if t.rounds == nil {
		t.rounds, t.now = map[lane]uint64{}, map[bool]uint64{}
	}
	l, round := lane{namespace, low}, t.now[low]
	if last, known := t.rounds[l]; known {
		round = max(round, last+1)
	}
	t.rounds[l] = round
	return round
}

// taken notes that a key was taken. Namespaces whose last round is over are forgotten: without a round they begin with the one that is now.
func (t *turns) taken(round uint64, low bool) {
	if t.rounds == nil {
		return // it was placed when there were no turns
	}
	t.now[low] = max(t.now[low], round)
	const few = 64
	if len(t.rounds) <= max(few, t.most) {
		return
	}
	maps.DeleteFunc(t.rounds, func(l lane, last uint64) bool { return last < t.now[l.low] })
	t.most = 2 * len(t.rounds) // so that each key pays for looking at one or two
}

// Wait is how long the keys of a namespace have waited that are due.
type Wait struct {
	// Namespace of the keys.
	Namespace string
	// Longest that one of them has waited.
	Longest time.Duration
}

// Waits gives the namespaces of which a key waits, the longest first. It looks at all keys.
func (q *Queue) Waits() []Wait {
	q.mu.Lock()
	defer q.mu.Unlock()
	longest := map[string]time.Duration{}
	now := q.clock.Now()
	for key, e := range q.keys {
		if !e.from.IsZero() {
			longest[key.Namespace] = max(longest[key.Namespace], now.Sub(e.from))
		}
	}
	all := make([]Wait, 0, len(longest))
	for namespace, wait := range longest {
		all = append(all, Wait{Namespace: namespace, Longest: wait})
	}
	slices.SortFunc(all, func(a, b Wait) int {
		return cmp.Or(cmp.Compare(b.Longest, a.Longest), cmp.Compare(a.Namespace, b.Namespace))
	})
	return all
}
