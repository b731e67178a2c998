package engine

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/pipeline"
)

const (
	// maxRewrites is how many cycles within rewriteWindow may write new content to children of one resource.
	maxRewrites = 10
	// rewriteWindow is also how long the first pause is.
	rewriteWindow = 10 * time.Second
)

// brake slows a resource down whose children get new content again and again: mostly their templates read what they write,
// such as a counter. Nothing else would end that, since each write is a change to what the next cycle reads.
type brake struct {
	generation int64
	since      time.Time // the first of the writes that count
	writes     int
	pauses     int
	until      time.Time // the next cycle is not before
}

// holds says whether a resource must wait. Whoever edits it is not made to.
func (b *brake) holds(stored *unstructured.Unstructured, now time.Time) bool {
	return now.Before(b.until) && stored.GetGeneration() == b.generation && stored.GetDeletionTimestamp() == nil
}

// note counts a cycle, and says of it where there are too many.
func (b *brake) note(run *pipeline.Run, resync time.Duration) {
	name := rewritten(run)
	now := run.Now
	if generation := run.Stored.GetGeneration(); generation != b.generation {
		*b = brake{generation: generation}
	}
	if now.Sub(b.since) > rewriteWindow {
		b.since, b.writes = now, 0
		if name == "" {
			b.pauses = 0
		}
	}
	if name == "" {
		return
	}
	if b.writes++; b.writes < maxRewrites {
		return
	}
	b.until = now.Add(min(rewriteWindow<<min(b.pauses, maxRewrites), max(resync, rewriteWindow)))
	b.since, b.writes, b.pauses = b.until, 0, b.pauses+1
	run.Waits = append(run.Waits, pipeline.Wait{Reason: v1alpha1.ReasonRetrying, Message: fmt.Sprintf(
		"%s gets new content in every cycle, so that cycles are slowed down: do its templates read what they write?", name)})
}

// rewritten names the first child that got new content.
func rewritten(run *pipeline.Run) string {
	for _, w := range run.Writes {
		if w.Action == apply.Changed {
			return fmt.Sprintf("%s %q", w.Kind, w.Name)
		}
	}
	return ""
}
