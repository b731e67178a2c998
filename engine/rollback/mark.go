package rollback

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/status"
)

// Mark is what a resource was rolled back from and to. It is an annotation on the resource as long as that is rolled back, and is
// written before the first child is changed, so that a process that takes over goes on with the rollback.
type Mark struct {
	// Generation that failed, and Revision of the box under which it did.
	Generation int64  `json:"generation"`
	Revision   string `json:"revision"`
	// ReconcileAt is the value of the annotation reconcile-at when it failed: another value ends the rollback.
	ReconcileAt string `json:"reconcileAt,omitempty"`
	// Snapshot is the name of the ControllerRevision; ToGeneration and ToRevision are what it holds.
	Snapshot     string `json:"snapshot"`
	ToGeneration int64  `json:"toGeneration"`
	ToRevision   string `json:"toRevision"`
	// SnapshotHash and ToRevisionHash are the full hashes of both (names have a part of them); empty in marks of versions that did not
	// write them.
	SnapshotHash   string `json:"snapshotHash,omitempty"`
	ToRevisionHash string `json:"toRevisionHash,omitempty"`
	// OwnGroups says that the groups of onRollback run, instead of those of the snapshot.
	OwnGroups bool `json:"ownGroups,omitempty"`
	// Held says that the spec is not tried again until something is changed.
	Held bool `json:"held,omitempty"`
	// Since is when it was rolled back, and Count how often from this generation and revision.
	Since metav1.Time `json:"since"`
	Count int         `json:"count"`
	// Trigger says why, as CRDHealth shows it.
	Trigger string `json:"trigger"`
	// Step, Class, Reason and Message are those of the failure.
	Step    string      `json:"step"`
	Class   stage.Class `json:"class"`
	Reason  string      `json:"reason,omitempty"`
	Message string      `json:"message"`
}

// MarkOf reads the mark of a resource; nil where there is none, or where somebody has edited it so that it can't be read: the resource
// is then reconciled as if it were not rolled back.
func MarkOf(resource *unstructured.Unstructured) *Mark {
	text := resource.GetAnnotations()[v1alpha1.AnnotationRolledBack]
	if text == "" {
		return nil
	}
	var m Mark
	if err := json.Unmarshal([]byte(text), &m); err != nil || m.Snapshot == "" || m.Revision == "" {
		return nil
	}
	return &m
}

// Failed notes what failed, in the words that people read.
func (m *Mark) Failed(err *stage.StepError) {
	m.Step, m.Class, m.Reason, m.Message = err.Step, err.Class, err.Reason, status.Truncate(err.Error())
}

// Why is the trigger; empty where nothing is rolled back.
func (m *Mark) Why() string {
	if m == nil {
		return ""
	}
	return m.Trigger
}

// Unavailable makes the error of a rollback that can't succeed until somebody changes something, such as one without its snapshot.
func Unavailable(err error) error {
	return &stage.StepError{Step: "rollback", Class: stage.Refused, Reason: v1alpha1.ReasonRollbackFailed, Err: err}
}

// Stands says whether the resource is still rolled back by this mark: none of the things has changed that would end it, which are the
// resource's generation, the revision of the box, and the annotation reconcile-at. No mark (nil) does not stand.
func (m *Mark) Stands(revision string, resource *unstructured.Unstructured) bool {
	return m != nil && m.Generation == resource.GetGeneration() && m.Revision == revision &&
		m.ReconcileAt == resource.GetAnnotations()[v1alpha1.AnnotationReconcileAt]
}

const (
	// firstRetryDelay is the time before the first new attempt of a resource that is not held, where what failed may pass by itself.
	firstRetryDelay = 10 * time.Second
	// maxRetryDelay is the longest time between two attempts, where resync is not longer.
	maxRetryDelay = 1000 * time.Second
)

// Retry is when a resource that is not held is tried again; zero: it is held. Where the failure may pass without a change of resource
// or box (no answer of the API server, a missing right), that is after 10 s, or one resync if that is shorter; otherwise after one
// resync. The time doubles with each rollback, since each attempt replaces the children and each rollback puts them back.
func (m *Mark) Retry(resync time.Duration) time.Time {
	if m.Held {
		return time.Time{}
	}
	delay, longest := resync, max(resync, maxRetryDelay)
	if m.Class != stage.Permanent && m.Class != stage.Refused {
		delay, longest = min(resync, firstRetryDelay), maxRetryDelay
	}
	for i := 1; i < m.Count && delay < longest; i++ {
		delay *= 2
	}
	return m.Since.Add(min(delay, longest))
}

// MustRetry says whether a resource that is not held is to be tried again now. Since is a time that some process has written: where it
// is in the future, the clock was set back, and the resource is tried at once.
func (m *Mark) MustRetry(resync time.Duration, now time.Time) bool {
	return !m.Held && (!now.Before(m.Retry(resync)) || now.Before(m.Since.Time))
}

// String says for users what failed, and what the children are now.
func (m *Mark) String() string {
	from := fmt.Sprintf("generation %d", m.Generation)
	to := fmt.Sprintf("generation %d", m.ToGeneration)
	if m.Revision != m.ToRevision {
		from += " under box revision " + m.Revision
		to += " under " + m.ToRevision
	}
	failed := "failed in " + m.Step
	if m.Step == stage.StepChildren {
		failed = "failed by a child"
	}
	if m.OwnGroups {
		return fmt.Sprintf("%s %s; onRollback has run, with %s as .previous", from, failed, to)
	}
	return fmt.Sprintf("%s %s; the children are those of %s", from, failed, to)
}

// Next says for users what ends the rollback.
func (m *Mark) Next() string {
	if m.Held {
		return "held: edit the spec, change the box, or set the annotation " + v1alpha1.AnnotationReconcileAt + " to a new value"
	}
	return "it is tried again by itself; edit the spec or the box to mend it"
}
