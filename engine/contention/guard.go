package contention

import (
	"maps"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// Guard is what is remembered of the writes to the children of one resource, from cycle to cycle. It begins anew when somebody edits
// the resource, so that an edit takes effect without a pause. The zero value remembers nothing.
type Guard struct {
	attempt string // the attempt key (see attemptOf) for which it remembers
	loop    loop

	mu       sync.Mutex // children are written at the same time
	children map[childName]*contention
	begun    int // how many of them began to be held back since Begun was called last
}

// Delay is how long a resource must wait because its cycles write without end; zero or less: it need not.
func (g *Guard) Delay(resource *unstructured.Unstructured, now time.Time) time.Duration {
	if g.attempt != attemptOf(resource) || g.loop.until.IsZero() {
		return 0
	}
	return g.loop.until.Sub(now)
}

// Begin begins a cycle of a resource, and forgets what is over.
func (g *Guard) Begin(resource *unstructured.Unstructured, now time.Time) {
	if attempt := attemptOf(resource); attempt != g.attempt {
		g.attempt, g.loop, g.children = attempt, loop{}, nil
	}
	maps.DeleteFunc(g.children, func(_ childName, c *contention) bool { return c.over(now) })
}

// Applier gives what writes the children of a resource in one cycle. A deletion is not throttled.
func (g *Guard) Applier(writer stage.Applier, cache Cache, resource *unstructured.Unstructured, now time.Time, resync time.Duration) stage.Applier {
	if resource.GetDeletionTimestamp() != nil {
		return writer
	}
	return &throttled{Applier: writer, cache: cache, guard: g, namespace: resource.GetNamespace(), now: now, resync: resync}
}

// Count counts the writes of one cycle. message says which writes do not end, where that makes a pause begin; else it is empty.
func (g *Guard) Count(writes []stage.Written, now time.Time, resync time.Duration) (message string) {
	return g.loop.count(writes, now, resync)
}

// of gives the contention of a child; nil where there is none.
func (g *Guard) of(name childName) *contention {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.children[name]
}

// Begun gives how many children and patches began to be corrected less often since it was called last.
func (g *Guard) Begun() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.begun
	g.begun = 0
	return n
}

func (g *Guard) began() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.begun++
}

func (g *Guard) add(name childName) *contention {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.children == nil {
		g.children = map[childName]*contention{}
	}
	c := &contention{}
	g.children[name] = c
	return c
}

// attemptOf gives a key that changes with each edit of the spec, and with each new value of the annotation reconcile-at.
func attemptOf(resource *unstructured.Unstructured) string {
	return strconv.FormatInt(resource.GetGeneration(), 10) + resource.GetAnnotations()[v1alpha1.AnnotationReconcileAt]
}
