package engine

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/pipeline"
)

const (
	// maxRewrites is how many cycles within rewriteWindow may write new content to children of one resource, or delete some.
	maxRewrites = 10
	// rewriteWindow is also how long the first pause is.
	rewriteWindow = 10 * time.Second
)

// brake slows a resource down that would otherwise be written for ever: loops, which it goes round by itself, and fights, which
// it has with others. Both begin anew when somebody edits the resource: whoever does is not made to wait.
type brake struct {
	edition string
	loop    loop
	fights  fights
}

// renew forgets everything where the resource was edited.
func (b *brake) renew(stored *unstructured.Unstructured) {
	if edition := attemptOf(stored); edition != b.edition {
		*b = brake{edition: edition}
	}
}

// attemptOf is what an edit changes, or a new value of reconcile-at.
func attemptOf(stored *unstructured.Unstructured) string {
	return strconv.FormatInt(stored.GetGeneration(), 10) + stored.GetAnnotations()[v1alpha1.AnnotationReconcileAt]
}

// left is how long a resource must wait; zero or less: it need not.
func (b *brake) left(stored *unstructured.Unstructured, now time.Time) time.Duration {
	if b.edition != attemptOf(stored) || b.loop.until.IsZero() {
		return 0
	}
	return b.loop.until.Sub(now)
}

// note counts a cycle, and says of it where there are too many.
func (b *brake) note(run *pipeline.Run, resync time.Duration) {
	b.renew(run.Stored)
	b.loop.note(run, resync)
	if run.Stored.GetDeletionTimestamp() == nil {
		b.fights.note(run)
	}
}

// loop slows a resource down whose children get new content again and again: mostly their templates read what they write,
// such as a counter. Or they are deleted again and again: their names read what there is, and others are made for them. Nothing else would end that, since each write is a change to what the next cycle reads.
type loop struct {
	since  time.Time // the first of the writes that count
	writes int
	pauses int
	until  time.Time // the next cycle is not before
}

func (l *loop) note(run *pipeline.Run, resync time.Duration) {
	message := restless(run)
	now := run.Now
	if now.Sub(l.since) > rewriteWindow {
		l.since, l.writes = now, 0
		if message == "" {
			l.pauses = 0
		}
	}
	if message == "" {
		return
	}
	if l.writes++; l.writes < maxRewrites {
		return
	}
	l.until = now.Add(min(rewriteWindow<<min(l.pauses, maxRewrites), max(resync, rewriteWindow)))
	l.since, l.writes, l.pauses = l.until, 0, l.pauses+1
	run.Waits = append(run.Waits, pipeline.Wait{Reason: v1alpha1.ReasonRetrying, Message: message})
}

// restless says what a cycle has done that may go on for ever: a child got new content, or was deleted because its declaration makes
// another one, or none, now. Empty: nothing of that.
func restless(run *pipeline.Run) string {
	first := func(actions ...apply.Action) string {
		at := slices.IndexFunc(run.Writes, func(w pipeline.Written) bool { return slices.Contains(actions, w.Action) })
		if at < 0 {
			return ""
		}
		return fmt.Sprintf("%s %q", run.Writes[at].Kind, run.Writes[at].Name)
	}
	if child := first(apply.Changed, apply.Replaced); child != "" {
		return child + " gets new content in every cycle, so that cycles are slowed down: do its templates read what they write?"
	}
	if child := first(pipeline.Pruned); child != "" {
		return child + " is deleted, as others were, in every cycle, so that cycles are slowed down: do names, gates or loops read what they make?"
	}
	return ""
}
