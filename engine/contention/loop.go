package contention

import (
	"fmt"
	"slices"
	"time"

	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

const (
	// maxRewrites is how many cycles within rewriteWindow may write new content to children of one resource, or delete some.
	maxRewrites = 10
	// rewriteWindow is also how long the first pause is.
	rewriteWindow = 10 * time.Second
)

// loop slows a resource down whose children get new content in each cycle, mostly because their templates read what they write, such
// as a counter; or whose children are deleted and created in each cycle, because their names depend on the children that exist.
// Nothing else would end that, since each write changes what the next cycle reads.
type loop struct {
	since  time.Time // the first of the writes that count
	writes int
	pauses int
	until  time.Time // the next cycle is not before
}

// count counts a cycle. message says which writes do not end, where that makes a pause begin; else it is empty.
func (l *loop) count(writes []stage.Written, now time.Time, resync time.Duration) (message string) {
	message = endless(writes)
	if now.Sub(l.since) > rewriteWindow {
		l.since, l.writes = now, 0
		if message == "" {
			l.pauses = 0
		}
	}
	if message == "" {
		return ""
	}
	if l.writes++; l.writes < maxRewrites {
		return ""
	}
	// Twice as long each time, up to resync; the exponent is bounded, so that the shift does not overflow.
	l.until = now.Add(min(rewriteWindow<<min(l.pauses, maxRewrites), max(resync, rewriteWindow)))
	l.since, l.writes, l.pauses = l.until, 0, l.pauses+1
	return message
}

// endless says which write of a cycle may repeat for ever: a child got new content, or was pruned because its declaration now makes
// another one, or none. Empty: there is none.
func endless(writes []stage.Written) string {
	first := func(actions ...apply.Action) string {
		at := slices.IndexFunc(writes, func(w stage.Written) bool { return slices.Contains(actions, w.Action) })
		if at < 0 {
			return ""
		}
		return fmt.Sprintf("%s %q", writes[at].Kind, writes[at].Name)
	}
	if child := first(apply.Changed, apply.Replaced); child != "" {
		return child + " gets new content in every cycle, so that cycles are slowed down: do its templates read what they write?"
	}
	if child := first(stage.Pruned); child != "" {
		return child + " is deleted, as others were, in every cycle, so that cycles are slowed down: do names, gates or loops read what they make?"
	}
	return ""
}
