package engine

import (
	"math"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/contention"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/worker"
)

// state is what the engine remembers of one resource between reconciles. The queue hands a resource to one worker at a
// time, so a state needs no lock of its own.
type state struct {
	uid      types.UID
	inputs   *pipeline.Inputs // what the last cycle read; nil: look again whatever happens
	class    pipeline.Class   // of the last cycle's error; empty: none
	ready    bool
	waiting  bool
	written  string // resourceVersion of our last write to the resource
	looked   time.Time
	due      time.Time     // after a failure that may pass: not before it, unless an input changes
	pause    time.Duration // until due, as it was chosen
	missing  *access.Right // after a 403: what the manager may not do
	backoff  worker.Backoff
	repeats  bool             // this cycle asks again what was counted before
	unsure   string           // resourceVersion over which a status was written without an answer; empty: none
	echoes   int              // status writes in a row that only such writes led to
	happened []pipeline.Event // those that were sent, so that each is sent once
	shown    metav1.Condition // Ready as it was last found
	released bool
	writes   contention.Guard // what keeps its children from being written without end
	version  string           // of the resource after the last cycle
	attempts attempts         // of a box with rollback
}

// maxEchoes is how many status writes in a row may lead to a further cycle of a box that reads the status it writes. One that
// is computed from itself, such as a counter, would be written for ever.
const maxEchoes = 10

// wrote notes our own write of the status.
func (s *state) wrote(stored, answer *unstructured.Unstructured) {
	s.written, s.unsure = answer.GetResourceVersion(), ""
	if s.echoes++; s.echoes >= maxEchoes {
		s.inputs.StatusWritten(stored, answer)
		s.echoes = 0
	}
}

// doubt ends a doubt about the status. Of a write without an answer nobody knows whether it was done; what the next cycle found was
// compared with a cache that did not show it. So when the resource has changed, it is evaluated again, whatever has changed.
func (s *state) doubt(stored *unstructured.Unstructured) {
	if s.doubted(stored) {
		s.unsure, s.inputs = "", nil
	}
}

func (s *state) doubted(stored *unstructured.Unstructured) bool {
	return s.unsure != "" && s.unsure != stored.GetResourceVersion()
}

// inputsOf are what the last cycle read, as far as it can be relied upon for a resource as it is now.
func (s *state) inputsOf(stored *unstructured.Unstructured) *pipeline.Inputs {
	if s.doubted(stored) {
		return nil
	}
	return s.inputs
}

// wait sets when the resource is due.
func (s *state) wait(now time.Time, pause time.Duration) { s.due, s.pause = now.Add(pause), pause }

// isDue says whether the pause is over. If there is more left of it than there ever was, the clock has been set back.
func (s *state) isDue(now time.Time) bool { return !now.Before(s.due) || s.due.Sub(now) > s.pause }

// since is the time since the last cycle; for ever, where the clock has been set back since.
func (s *state) since(now time.Time) time.Duration {
	if now.Before(s.looked) {
		return math.MaxInt64
	}
	return now.Sub(s.looked)
}

// readyBefore is Ready before this cycle: as the resource shows it, or as it was last found where no status can show it.
func (s *state) readyBefore(stored *unstructured.Unstructured) metav1.Condition {
	if c := conditionOf(stored, v1alpha1.ConditionReady); c.Type != "" {
		return c
	}
	return s.shown
}

// states are the states of a box's resources.
type states struct {
	mu  sync.Mutex
	all map[types.NamespacedName]*state // guarded by mu
	// orphans are the resources that were deleted with the request to leave their children: of each name the last one. Guarded by mu.
	orphans map[types.NamespacedName]types.UID
}

// note remembers what only one version of a resource may show: the garbage collector takes the orphan finalizer off at once.
func (s *states) note(obj *unstructured.Unstructured) {
	if obj.GetDeletionTimestamp() == nil || !slices.Contains(obj.GetFinalizers(), metav1.FinalizerOrphanDependents) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.orphans == nil {
		s.orphans = map[types.NamespacedName]types.UID{}
	}
	s.orphans[keyOf(obj)] = obj.GetUID()
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
