package stage

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
)

// Report is what the stages of one cycle found and did. They write it while they run, and nobody else does.
type Report struct {
	// Waits are what the resource waits for, in the order in which they were met.
	Waits []Wait
	// Events to send.
	Events []Event
	// Writes that were made.
	Writes []Written
	// Shown is what code has set of the status.
	Shown Shown
	// Notes are what people should know of a cycle that succeeds.
	Notes []string
	// LeftBehind counts children of former boxes that no declaration stands for.
	LeftBehind int32
	// Deleting is set while clean-up runs.
	Deleting bool
	// Released is set when the resource is let go: nothing may be written to it any more.
	Released bool
	// AwaitsDependency says that the resource is not Active yet, and waits for what its box depends on: nothing was evaluated.
	AwaitsDependency bool
	// DryRunPassed says that the dry run was asked, and had nothing against what the cycle was about to do.
	DryRunPassed bool
	// Completed says that the cycle came to its end, so that nothing is rolled back any more. Only plans with rollback tell.
	Completed bool
	// SnapshotError says why the snapshot of a resource that has succeeded could not be kept; nil: it was, or none was taken.
	SnapshotError error
}

// Shown is what code sets of the status of its resource.
type Shown struct {
	// Fields by their paths below status, such as database.users. They win over those that the box declares.
	Fields []ShownField
	// Conditions, which are none of Orkestra's own.
	Conditions []metav1.Condition
	// Gone are the types of conditions that code has set before, and does not set any more.
	Gone []string
}

// ShownField is one field of the status that code sets.
type ShownField struct {
	// Path below status.
	Path string
	// Value as JSON.
	Value any
}

// Wait is one thing that a resource waits for.
type Wait struct {
	// Reason of the Reconciling condition.
	Reason string
	// Message names what is waited for: field, wanted, actual.
	Message string
	// Of is what waits: the id of a child, or the name of what is read; empty: that is not told apart.
	Of string
	// Unready says that the resource is not Ready meanwhile, whatever status.ready of its box says.
	Unready bool
}

// Event is something that happened and that people should see.
type Event struct {
	// Warning, or normal.
	Warning bool
	// Reason in UpperCamel.
	Reason string
	// Message on one line.
	Message string
	// OfBox says that the event is one of the box: the resource's namespace takes no events any more.
	OfBox bool
	// About is another object that the event is about; empty: it is about the resource.
	About corev1.ObjectReference
	// Related is the other object that the event is about, beside the resource; empty: there is none, or there are several.
	Related corev1.ObjectReference
}

// Pruned is the action of a child that is deleted because no declaration stands for it.
const Pruned apply.Action = "pruned"

// Written is one write to a child.
type Written struct {
	// Group of the API, and Kind, of the child.
	Group, Kind string
	// Name of the child, after its namespace where that is not the resource's.
	Name string
	// Action that was taken.
	Action apply.Action
	// Patch says that it is no child, but an object of others of which fields were set.
	Patch bool
}

// Wait notes what is waited for. of is what waits: the id of a child, or the name of what is read.
func (r *Report) Wait(of, reason, message string) {
	r.Waits = append(r.Waits, Wait{Reason: reason, Message: message, Of: of})
}

// Contend notes who keeps changing a child. What somebody has to end stands before what comes by itself.
func (r *Report) Contend(message string) {
	at := slices.IndexFunc(r.Waits, func(w Wait) bool { return w.Reason != v1alpha1.ReasonFighting || w.Message > message })
	if at < 0 {
		at = len(r.Waits)
	}
	r.Waits = slices.Insert(r.Waits, at, Wait{Reason: v1alpha1.ReasonFighting, Message: message})
}

// Warn notes a warning for the resource.
func (r *Report) Warn(reason, message string) {
	r.Events = append(r.Events, Event{Warning: true, Reason: reason, Message: message})
}

// Blocker is one thing that stands between a cycle without error and a resource that is Ready with nothing left to do.
type Blocker struct {
	Wait

	// Weight says which blocker is named before which.
	Weight Weight
	// Gives is the name by which others need what this is about.
	Gives string
	// Needs are the names of what it waits for.
	Needs []string
}

// Weight says which blocker is named before which: the smaller first.
type Weight int

// The weights.
const (
	ChildFailed   Weight = iota // a child that goes no further by itself
	ChildTroubled               // a child that says what is wrong, and goes on when that is mended
	Waiting                     // a gate, or whatever else is waited for
	ChildOnItsWay               // a child that has not settled yet
	NotReadyYet                 // status.readyWhen
)
