// Package act does what people ask for on the page: to reconcile a resource, to pause it, to suspend a box, to go back to a revision. Whoever writes,
// the person in question must be allowed to. The manager and `orkestra ui` use the same code; docs/design/control-center.md says why the manager
// writes, and what it asks for first.
package act

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/revision"
	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/person"
)

// Ports are what is read and written for one person.
type Ports struct {
	// Own reads OperatorBoxes as far as the person may.
	Own client.Reader
	// Resource reads one as far as the person may; nil: there is none of this name.
	Resource func(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error)
	// ResourceOf finds how a kind stands in the API.
	ResourceOf func(kind schema.GroupVersionKind) (schema.GroupResource, error)
	// Boxes reads OperatorBoxes as they are now, with their managed fields, and writes them.
	Boxes Boxes
	// Writer gives what writes the resources of a box. The error says why nobody does.
	Writer func(box *v1alpha1.OperatorBox) (client.Writer, error)
	// Revisions of boxes.
	Revisions Revisions
	// May says whether the person has a right. The error says why nobody could be asked; then the answer is no.
	May func(ctx context.Context, want person.Right) (bool, error)
	// For is who asks, where somebody else writes: then verbs of Orkestra are asked for, and what is written names the person. nil: the person writes,
	// and the API server decides about all but buttons.
	For *person.Person
	// Absent says why no manager seems to be at work; empty: one is, or nobody knows. nil: whoever asks has one before them.
	Absent func(ctx context.Context) string
	// Tell sends an event about an object; nil: nobody does.
	Tell func(about runtime.Object, reason, action, note string)
	// Clock tells the time.
	Clock clock.PassiveClock
}

// Boxes reads from the API server itself, and writes to it.
type Boxes interface {
	client.Reader
	client.Writer
}

// Revisions are the specs that are kept of boxes.
type Revisions interface {
	// List gives those of a box, the newest first.
	List(ctx context.Context, box string) ([]appsv1.ControllerRevision, error)
	// Read gives the spec of one.
	Read(ctx context.Context, box string, of revision.Ref) (*v1alpha1.OperatorBoxSpec, error)
}

// Hand does what one person asks for.
type Hand struct{ Ports }

// The verbs that RBAC names, beside Kubernetes' own.
const (
	verbReconcile = "reconcile"
	verbPause     = "pause"
	verbSuspend   = "suspend"
	verbRollback  = "rollback"

	verbPatch = "patch"
)

// conflict is the error of what does not fit an object as it is now.
func conflict(format string, args ...any) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusConflict, Reason: metav1.StatusReasonConflict, Message: fmt.Sprintf(format, args...),
	}}
}

// noSuchAction is the error of an action that is none.
func noSuchAction(action api.ActionName, known ...api.ActionName) error {
	slices.Sort(known)
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound, Message: fmt.Sprintf("There is no action %q here: wanted one of %q", action, known),
	}}
}

// said is what an error says where it is shown beside others: why an action would be refused. Any other error is given on.
func said(err error) (why string, other error) {
	switch {
	case err == nil:
		return "", nil
	case apierrors.IsForbidden(err), apierrors.IsConflict(err):
		return err.Error(), nil
	default:
		return "", err
	}
}

// errReplaced is the error of an order about an object that was made again since.
func errReplaced(kind, name string) error {
	return conflict("%s %q was deleted and made again since it was shown: look at it, and ask once more", kind, name)
}

// last is what the annotation last-action holds.
type last struct {
	Action api.ActionName `json:"action"`
	Person string         `json:"person"`
	Time   string         `json:"time"`
}

// lastAction is the value of the annotation that names the person; empty where the person writes: then the API server's own audit log does.
func (h *Hand) lastAction(action api.ActionName, now time.Time) (string, error) {
	if h.For == nil {
		return "", nil
	}
	text, err := json.Marshal(last{Action: action, Person: h.For.Name, Time: now.UTC().Format(time.RFC3339Nano)})
	if err != nil {
		return "", fmt.Errorf("naming who has asked: %w", err)
	}
	return string(text), nil
}

// outcome is a sentence on what was done, and what comes of it: soon, where a manager is at work that does it.
func (h *Hand) outcome(ctx context.Context, done, soon string) string {
	if soon != "" && h.Absent != nil {
		if why := h.Absent(ctx); why != "" {
			return done + ". No manager seems to be at work (" + why + "): it is done when one is"
		}
	}
	return done + soon
}

// maxNote is how long the note of an event may be, in bytes: the API server takes 1,024 at most.
const maxNote = 1000

// tell sends an event that names the person.
func (h *Hand) tell(about runtime.Object, reason string, action api.ActionName, what string) {
	if h.Tell == nil || h.For == nil {
		return
	}
	note := fmt.Sprintf("%s: asked for by %q by the Control Center", what, h.For.Name)
	h.Tell(about, reason, string(action), strings.ToValidUTF8(note[:min(len(note), maxNote)], ""))
}

// errNoOrder is the error of an order without what its action needs.
var errNoOrder = errors.New("wanted revision and generation, as GET …/revisions/{revision} shows them")
