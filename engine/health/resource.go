package health

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

const maxMessage = 256 // characters of an error that users see

// resource is what is known of one resource.
type resource struct {
	name types.NamespacedName
	// known: seeded or observed, and so counted. Without it, only the failing list of a former process has named it.
	known bool
	// observed: this process has looked at it; what its status said before means nothing any more.
	observed                bool
	ready, waiting, failing bool
	leftBehind              int32 // children of former boxes
	failures                int64 // in a row
	step, message           string
	since                   time.Time // of the first failure in this row
	listed                  bool      // in worstList.list
	rolledBack              bool
}

// recount changes a resource and keeps the counts in step.
func (t *Tracker) recount(r *resource, f func()) notice {
	before := t.counts
	t.add(r, -1)
	f()
	t.add(r, 1)
	if t.counts == before || t.restored != nil {
		return quiet
	}
	return slow
}

func (t *Tracker) add(r *resource, n int32) {
	if !r.known {
		return
	}
	t.counts.Total += n
	if r.ready {
		t.counts.Ready += n
	}
	if r.waiting {
		t.counts.Waiting += n
	}
	if r.failing {
		t.counts.Failing += n
	}
	t.counts.LeftBehind += n * r.leftBehind
}

// note takes over what the resource shows. A resource that only waits does not fail; one that is retried does both.
func (r *resource) note(o Observation) {
	switch {
	case o.Back, !o.Counts && r.failures > 0: // the look was no success: what failed still fails
		r.failing = true
	case !o.Counts:
		r.failing = r.failing && !o.Ready && !o.Waiting
	case o.Failed:
		r.failing = true
	default:
		r.failing = !o.Ready && !o.Waiting
	}
	r.ready = o.Ready && !r.failing
	r.waiting = o.Waiting
	if !o.Failed && (o.Counts || o.LeftBehind > 0) { // the first look of a process does not count, and has found them
		r.leftBehind = o.LeftBehind
	}
}

func (t *Tracker) fail(r *resource, o Observation) notice {
	now, message := t.lastReconcile, cut(o.Message, maxMessage)
	t.failures++
	t.consecutive++
	t.lastFailure = &v1alpha1.Failure{
		Time:     metav1.NewTime(now),
		Resource: v1alpha1.ResourceReference{Namespace: r.name.Namespace, Name: r.name.Name},
		Step:     o.Step,
		Message:  message,
	}
	if r.failures == 0 {
		r.since = now
		t.inFailure++
	}
	r.failures++
	said := r.step == o.Step && r.message == message
	r.step, r.message = o.Step, message
	if t.worst.rank(r) || (r.listed && !said) {
		return urgent
	}
	return slow
}

func (t *Tracker) succeed(r *resource, o Observation) notice {
	t.successes++
	t.consecutive = 0
	t.lastSuccess = t.lastReconcile
	if o.Revision != "" {
		t.goodRevision = o.Revision
	}
	return t.unlist(r)
}

// unlist ends the row of failures of a resource.
func (t *Tracker) unlist(r *resource) notice {
	if r.failures == 0 {
		return quiet
	}
	r.failures, r.step, r.message, r.since = 0, "", "", time.Time{}
	t.inFailure--
	if t.worst.drop(r, t.inFailure) {
		return urgent
	}
	return quiet
}

// Fails says whether the last counted reconciles of a resource have failed, be it in a former process.
func (t *Tracker) Fails(name types.NamespacedName) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.resources[name]
	return r != nil && r.failures > 0
}

func (t *Tracker) remove(name types.NamespacedName) notice {
	r := t.resources[name]
	if r == nil {
		return quiet
	}
	told := t.recount(r, func() { r.known = false })
	told = max(told, t.unlist(r), r.goBack(t, ""))
	delete(t.resources, name)
	return told
}

func (t *Tracker) restoreFailing(f v1alpha1.FailingResource) {
	name := types.NamespacedName{Namespace: f.Namespace, Name: f.Name}
	if f.Name == "" || f.ConsecutiveFailures < 1 || t.resources[name] != nil { // a person wrote this, we did not
		return
	}
	r := t.get(name)
	r.failing, r.failures, r.since = true, f.ConsecutiveFailures, f.Since.Time
	r.step, r.message = f.Step, cut(f.Message, maxMessage)
	t.inFailure++
	t.worst.rank(r)
}

// cut shortens by characters, never inside one. Invalid UTF-8 would come back from the API server changed, and would be
// written again for ever. The copy does not keep a long original in memory.
func cut(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	for i := range s {
		if n == 0 {
			return strings.Clone(s[:i])
		}
		n--
	}
	return s
}
