package health

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/value"
)

const maxMessage = 256 // characters of an error that users see

// resource is what is known of one resource.
type resource struct {
	name types.NamespacedName
	// known: seeded or observed, and so counted. Without it, only the failing list of a former process has named it.
	known bool
	// observed: this process has reconciled it; what its status said before means nothing any more.
	observed                bool
	ready, waiting, failing bool
	leftBehind              int32 // children of former boxes
	trouble
	since      time.Time // it has been in trouble
	listed     bool      // in worstList.list
	rolledBack bool
}

// trouble is why a resource fails; the zero value: it does not, or this process has not reconciled it yet.
type trouble struct {
	failures              int64 // reconciles in a row that failed; 0: they succeed, and it fails for another reason (a child has failed)
	reason, step, message string
}

func (is trouble) any() bool { return is != trouble{} }

// recount changes a resource and keeps the counts in step.
func (t *Tracker) recount(r *resource, f func()) notice {
	before := t.counts
	t.add(r, -1)
	f()
	t.add(r, 1)
	if t.counts == before || t.restored != nil { // CRDHealth shows the restored counts until the caches have synced
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
	if r.waiting && !r.failing { // one that fails and is tried again is counted once
		t.counts.Waiting += n
	}
	if r.failing {
		t.counts.Failing += n
	}
	t.counts.LeftBehind += n * r.leftBehind
}

// observe takes over what a reconcile found. A resource that only waits does not fail; one that waits for a retry does both.
func (r *resource) observe(o Observation) {
	switch {
	case o.Back, !o.Counts && r.failures > 0: // a reconcile that does not count is no success: what failed before still fails
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
	if !o.Failed && (o.Counts || o.LeftBehind > 0) { // the first reconcile of a process does not count, but may have found some
		r.leftBehind = o.LeftBehind
	}
}

// count counts a reconcile that evaluated the pipeline.
func (t *Tracker) count(o Observation) {
	t.lastReconcile = t.clock.Now()
	if o.Failed {
		t.failures++
		t.consecutive++
		t.lastFailure = &v1alpha1.Failure{
			Time:     metav1.NewTime(t.lastReconcile),
			Resource: v1alpha1.ResourceReference{Namespace: o.Resource.Namespace, Name: o.Resource.Name},
			Step:     o.Step,
			Message:  value.Excerpt(o.Message, maxMessage),
		}
		return
	}
	t.successes++
	t.consecutive = 0
	t.lastSuccess = t.lastReconcile
	if o.Revision != "" {
		t.goodRevision = o.Revision
	}
}

// troubleAfter says why a resource fails, once observe has taken the observation over.
func (r *resource) troubleAfter(o Observation) trouble {
	switch {
	case o.Counts && o.Failed:
		return trouble{failures: r.failures + 1, reason: o.Reason, step: o.Step, message: value.Excerpt(o.Message, maxMessage)}
	case !o.Counts && r.failures > 0:
		was := r.trouble
		// What failed stays to be told. Its reason is that of today: one that is rolled back may be held, and a former version wrote less.
		if o.Back || o.Failed && o.Step == was.step && value.Excerpt(o.Message, maxMessage) == was.message {
			was.reason = cmp.Or(o.Reason, was.reason)
		}
		return was
	case r.failing:
		return trouble{reason: o.Reason, step: o.Step, message: value.Excerpt(o.Message, maxMessage)}
	default:
		return trouble{}
	}
}

// blame notes why a resource fails, or that it does not, and keeps the list in step.
func (t *Tracker) blame(r *resource, is trouble) notice {
	was := r.trouble
	if is == was {
		return quiet
	}
	r.trouble = is
	switch {
	case !was.any():
		r.since = t.clock.Now()
		t.inFailure++
	case !is.any():
		r.since = time.Time{}
		t.inFailure--
	}
	// One with fewer failures than before may not be among the worst any more. Taking it off has the list filled anew where others wait.
	visible := is.failures < was.failures || !is.any()
	if visible {
		visible = t.worst.drop(r, t.inFailure)
	}
	if is.any() {
		sameWords := is.reason == was.reason && is.step == was.step && is.message == was.message
		visible = t.worst.rank(r) || r.listed && !sameWords || visible
	}
	if visible {
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
	news := t.recount(r, func() { r.known = false })
	news = max(news, t.blame(r, trouble{}), r.setRolledBackLocked(t, ""))
	delete(t.resources, name)
	return news
}

func (t *Tracker) restoreFailing(f v1alpha1.FailingResource) {
	name := types.NamespacedName{Namespace: f.Namespace, Name: f.Name}
	is := trouble{failures: max(0, f.ConsecutiveFailures), reason: f.Reason, step: f.Step, message: value.Excerpt(f.Message, maxMessage)}
	if f.Name == "" || is.failures == 0 && is.reason == "" || t.resources[name] != nil { // somebody has edited the status by hand
		return
	}
	r := t.get(name)
	r.failing, r.trouble, r.since = true, is, f.Since.Time
	t.inFailure++
	t.worst.rank(r)
}
