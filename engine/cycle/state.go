package cycle

import (
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/contention"
	"github.com/orkspace/orkestra/engine/hook/protocol"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/provision"
	"github.com/orkspace/orkestra/engine/rollback"
	"github.com/orkspace/orkestra/engine/worker"
)

// state is what is remembered of one resource between its cycles. The queue hands a resource to one worker at a time, so a
// state needs no lock of its own.
type state struct {
	uid        types.UID
	last       last
	own        ownWrites
	retry      retry
	writes     contention.Guard  // what keeps its children from being written without end
	attempts   rollback.Attempts // of a box with rollback
	provided   provision.Memory  // what providers have answered
	answers    protocol.Memory   // what the webhook of the box has answered
	released   bool              // the marks were taken off, and the cache does not show that yet
	sentEvents []pipeline.Event  // those that were sent, so that each is sent once
	handed     bool              // the reconciler of a constructor has succeeded once
	again      bool              // it asked for another call soon
	conflicts  int               // its last answers in a row that were conflicts
	panicked   string            // the last panic whose stack was logged
	unlisted   bool              // the list of snapshots was taken off; one that stands there still is somebody else's
}

// last is what the last cycle came to.
type last struct {
	inputs  *pipeline.Inputs // that it read; nil: reconcile whatever happens
	class   pipeline.Class   // of its error; empty: none
	at      time.Time
	missing *access.Right    // after a 403: what the manager may not do
	version string           // resourceVersion of the resource after it
	ready   metav1.Condition // as it was found
}

// ownWrites are our own writes to a resource, whose events lead to further cycles.
type ownWrites struct {
	version       string // resourceVersion of the last one
	unconfirmed   string // resourceVersion over which a status was written without an answer; empty: none
	selfTriggered int    // status writes in a row that only such writes led to
}

// retry says when a resource is tried again whose failure may pass.
type retry struct {
	due     time.Time     // not before it, unless an input changes
	pause   time.Duration // until due, as it was chosen
	backoff worker.Backoff
}

// wait sets when the resource is due.
func (r *retry) wait(now time.Time, pause time.Duration) { r.due, r.pause = now.Add(pause), pause }

// isDue says whether the pause is over. If there is more left of it than there ever was, the clock has been set back.
func (r *retry) isDue(now time.Time) bool { return !now.Before(r.due) || r.due.Sub(now) > r.pause }

// maxSelfTriggered is how many status writes in a row may each lead to a further cycle, where templates read the status that the box
// writes. Without a limit, a status that is computed from itself, such as a counter, would be written for ever.
const maxSelfTriggered = 10

// wrote notes our own write of the status.
func (s *state) wrote(stored, answer *unstructured.Unstructured) {
	s.own.version, s.own.unconfirmed = answer.GetResourceVersion(), ""
	if s.own.selfTriggered++; s.own.selfTriggered >= maxSelfTriggered {
		// The inputs are set to the status that was just written, so that its event counts as no change.
		s.last.inputs.StatusWritten(stored, answer)
		s.own.selfTriggered = 0
	}
}

// rewritten says whether the resource has a version that this process has neither evaluated nor written.
func (s *state) rewritten(stored *unstructured.Unstructured) bool {
	version := stored.GetResourceVersion()
	return !s.last.at.IsZero() && version != s.last.version && version != s.own.version
}

// unconfirmed says whether the resource as it is now may have a status of ours whose write was never answered, for example after a
// timeout. Cycles since then have compared with a cache that did not show that write. So once the resource has a new version, it is
// evaluated again, whatever has changed in it.
func (s *state) unconfirmed(stored *unstructured.Unstructured) bool {
	return s.own.unconfirmed != "" && s.own.unconfirmed != stored.GetResourceVersion()
}

// resolveUnconfirmed drops the inputs of the last cycle where a write is unconfirmed: the cycle that begins evaluates the resource.
func (s *state) resolveUnconfirmed(stored *unstructured.Unstructured) {
	if s.unconfirmed(stored) {
		s.own.unconfirmed, s.last.inputs = "", nil
	}
}

// inputsOf are what the last cycle read; nil where that can't be relied upon, because a write is unconfirmed.
func (s *state) inputsOf(stored *unstructured.Unstructured) *pipeline.Inputs {
	if s.unconfirmed(stored) {
		return nil
	}
	return s.last.inputs
}

// since is the time since the last cycle; for ever, where the clock has been set back since.
func (s *state) since(now time.Time) time.Duration {
	if now.Before(s.last.at) {
		return math.MaxInt64
	}
	return now.Sub(s.last.at)
}

// readyBefore is Ready before this cycle: as the resource shows it, or as it was last found where no status can show it.
func (s *state) readyBefore(stored *unstructured.Unstructured) metav1.Condition {
	if c := conditionOf(stored, v1alpha1.ConditionReady); c.Type != "" {
		return c
	}
	return s.last.ready
}

// states are those of a box's resources.
type states struct {
	mu  sync.Mutex
	all map[types.NamespacedName]*state
	// orphans are the resources that were deleted with the request to leave their children: of each name the last one.
	orphans map[types.NamespacedName]types.UID
}

// noteOrphan remembers that a resource was deleted with propagationPolicy: Orphan. Only one of its versions may show it: the garbage
// collector takes the finalizer "orphan" off at once.
func (s *states) noteOrphan(obj *unstructured.Unstructured) {
	if obj.GetDeletionTimestamp() == nil || !slices.Contains(obj.GetFinalizers(), metav1.FinalizerOrphanDependents) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.orphans == nil {
		s.orphans = map[types.NamespacedName]types.UID{}
	}
	s.orphans[client.ObjectKeyFromObject(obj)] = obj.GetUID()
}

// orphan says whether the children of a deleted resource are to stay.
func (s *states) orphan(key types.NamespacedName, uid types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.orphans[key] == uid
}

// of gives the state of a resource; one with another UID is another resource.
func (s *states) of(key types.NamespacedName, uid types.UID) *state {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[types.NamespacedName]*state{}
	}
	st := s.all[key]
	if st == nil || st.uid != uid {
		st = &state{uid: uid}
		s.all[key] = st
	}
	return st
}

func (s *states) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.orphans, key)
	delete(s.all, key)
}

// inherit takes over the backoff of each resource, and nothing else: inputs and our own writes are resource versions as the informers
// of the former sub-controller showed them.
func (s *states) inherit(former *states) {
	former.mu.Lock()
	defer former.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = map[types.NamespacedName]*state{}
	for key, was := range former.all {
		st := &state{uid: was.uid}
		st.retry.backoff, st.last.ready = was.retry.backoff, was.last.ready
		s.all[key] = st
	}
	s.orphans = maps.Clone(former.orphans)
}

// waiters are the resources whose last cycle lacked a right. The zero value is empty. It is safe for concurrent use.
type waiters struct {
	mu  sync.Mutex
	all map[types.NamespacedName]bool // whether rights have changed since; guarded by mu
}

// note says whether a resource lacks a right after its cycle.
func (w *waiters) note(key types.NamespacedName, lacks bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !lacks {
		delete(w.all, key)
		return
	}
	if w.all == nil {
		w.all = map[types.NamespacedName]bool{}
	}
	w.all[key] = false
}

// wake gives all of them, and notes that rights have changed.
func (w *waiters) wake() []types.NamespacedName {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key := range w.all {
		w.all[key] = true
	}
	return slices.Collect(maps.Keys(w.all))
}

// woken says whether rights have changed since a resource lacked one.
func (w *waiters) woken(key types.NamespacedName) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all[key]
}

// RightsChanged gives the resources that lacked a right in their last cycles. Their next cycles ask for it anew.
func (r *Reconciler) RightsChanged() []types.NamespacedName { return r.waiters.wake() }
