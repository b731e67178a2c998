// Package contention keeps the children of a resource from being written without end: by another manager and Orkestra in turns
// (contention), or by Orkestra alone, where templates read what they write (loop). It slows such writes down, and never stops them.
package contention

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/drift"
)

const (
	// maxCorrections is how often one child is put right within correctionWindow before that is throttled.
	maxCorrections   = 10
	correctionWindow = time.Minute
	// firstPause is the first pause between two corrections of a child. Each is twice as long as the one before: up to earlyPause in the
	// first minute, and then up to resync.
	firstPause, earlyPause = time.Second, 2 * time.Second
	// calm is how long a child must stay as Orkestra has corrected it until the resource no longer shows the contention.
	calm = 500 * time.Millisecond
)

// childName names a child, or an object that is patched.
type childName struct {
	kind            schema.GroupVersionKind
	namespace, name string
	patch           string // the field manager of the patch; empty for a child
}

func nameOf(obj *unstructured.Unstructured) childName {
	return childName{kind: obj.GroupVersionKind(), namespace: obj.GetNamespace(), name: obj.GetName()}
}

// contention is that of one child: how often it was corrected, and who makes that necessary. It is used by the one goroutine that
// writes the child.
type contention struct {
	corrections []time.Time // the last maxCorrections; there is one at least
	content     string      // hash of what is declared
	version     string      // resourceVersion of the child after the last correction
	drift       []apply.Correction

	began time.Time     // of being throttled; zero: the child is not
	pause time.Duration // until the next correction
}

// corrected notes that the child was corrected.
func (c *contention) corrected(declared *unstructured.Unstructured, out apply.Outcome, now time.Time, resync time.Duration) {
	c.content, c.version, c.drift = drift.Hash(declared), out.Object.GetResourceVersion(), out.Drift
	c.corrections = append(c.corrections, now)
	c.corrections = c.corrections[max(0, len(c.corrections)-maxCorrections):]
	if !c.throttled() {
		return
	}
	longest := max(resync, firstPause)
	if now.Sub(c.began) < correctionWindow {
		longest = min(longest, earlyPause)
	}
	c.pause = min(2*c.pause, longest)
}

func (c *contention) throttled() bool { return !c.began.IsZero() }

// holds says whether the child is not written now, although somebody may have changed it; live is its resourceVersion in the cache.
// Throttling begins here, and not with the correction before: ten corrections harm nobody if an eleventh is not needed.
func (c *contention) holds(live string, now time.Time) bool {
	changed := live != c.version
	if !c.throttled() && changed && len(c.corrections) == maxCorrections && now.Sub(c.corrections[0]) < correctionWindow {
		c.began, c.pause = now, firstPause
	}
	return c.throttled() && (changed && now.Before(c.until()) || now.Before(c.calmAt()))
}

// next is when to reconcile again: when the pause is over, or, where nobody has changed the child since, when the contention is no
// longer shown.
func (c *contention) next(live string) time.Time {
	if live != c.version {
		return c.until()
	}
	return c.calmAt()
}

func (c *contention) until() time.Time  { return c.last().Add(c.pause) }
func (c *contention) calmAt() time.Time { return c.last().Add(min(calm, c.pause)) }
func (c *contention) last() time.Time   { return c.corrections[len(c.corrections)-1] }

// over says whether the contention is forgotten: there was no correction for so long that the next one starts a new count.
func (c *contention) over(now time.Time) bool {
	return now.Sub(c.last()) > max(correctionWindow, 2*c.pause)
}

// message says who changes what. It stays the same while that goes on, so that the status is not rewritten. namespace is that of the
// resource; a child in another one is named with it.
func (c *contention) message(of childName, namespace string) string {
	who, what := "somebody else", "what a patch sets"
	if len(c.drift) > 0 {
		what = c.drift[0].Path
	}
	if at := slices.IndexFunc(c.drift, func(d apply.Correction) bool { return d.SetBy != "" }); at >= 0 {
		who, what = fmt.Sprintf("manager %q", c.drift[at].SetBy), c.drift[at].Path
	}
	child := of.name
	if of.namespace != "" && of.namespace != namespace {
		child = of.namespace + "/" + of.name
	}
	return fmt.Sprintf("%s %q: %s keeps changing %s, so that it is corrected less often: only one of the two may set it",
		of.kind.Kind, child, who, what)
}

// lacksLabels says whether our labels were taken off before the last correction. The watch cache selects by them, so that a child
// which is not in it may exist all the same.
func (c *contention) lacksLabels() bool {
	return slices.ContainsFunc(c.drift, func(d apply.Correction) bool { return d.Path == apply.LabelsPath })
}
