package pipeline

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/status"
)

// Wait is one thing that a resource waits for.
type Wait struct {
	// Reason of the Reconciling condition.
	Reason string
	// Message names what is waited for: field, wanted, actual.
	Message string

	of string // what waits: the id of a child, or the name of what is read; empty: that is not told apart
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
}

// Written is one write to a child.
type Written struct {
	// Kind of the child.
	Kind string
	// Name of the child, after its namespace where that is not the resource's.
	Name string
	// Action that was taken.
	Action apply.Action
}

// Run is one reconcile of one resource. It is made fresh each time and used by one goroutine, but for the writes of one
// wave, which only read it.
type Run struct {
	// Plan that runs.
	Plan *Plan
	// Stored is the resource as it is in the cluster. Marks replace it with the API server's answer.
	Stored *unstructured.Unstructured
	// Object is the working copy that normalize and mutation change. It is never written.
	Object map[string]any
	// Now is the time of this reconcile.
	Now time.Time
	// Ports are the side effects.
	Ports Ports

	// Waits are what the resource waits for, in the order in which they were met.
	Waits []Wait
	// Events to send.
	Events []Event
	// LeftBehind counts children of former boxes that no declaration stands for.
	LeftBehind int32
	// Writes that were made.
	Writes []Written
	// Succeeded says that the resource has succeeded before at this generation and plan. Only boxes with rollback are told.
	Succeeded bool
	// Orphan says that somebody asked for the children to stay when the resource was deleted.
	Orphan bool
	// Deleting is set while clean-up runs.
	Deleting bool
	// Released is set when the resource is let go: nothing may be written to it any more.
	Released bool
	// AwaitsDependency says that the resource is not Active yet, and waits for what its box depends on: nothing was evaluated.
	AwaitsDependency bool
	// Inputs are what this cycle read.
	Inputs *Inputs

	children *children
	cross    map[string]any // by source; filled by its stage
	// secretCross is cross with what Secrets hold, for the templates of children alone (design: security.md).
	secretCross map[string]any
	external    map[string]any // by call; filled by its stage
	// known are the sources and calls that this cycle has come to: also what is absent is known then.
	known map[compile.Outside]bool
	// lacking are those that are required and absent: what reads them does not act.
	lacking map[compile.Outside]bool
	// notes are what people should know of a cycle that succeeds.
	notes     []string
	stands    standing
	due       dueJobs
	notActive bool
	newMarks  map[string]string
	reached   []string // namespaces that templates have led to, and that are not noted yet
	// scaleTargets are the objects that autoscalers of this box scale; nil until it is asked.
	scaleTargets map[childKey]bool
	owner        apply.Owner
	back         backing
	isActive     bool
	finalizers   []string
	// taken says that this cycle has taken hold of the resource, and that nobody has looked since whether it is still there.
	taken bool
}

// NewRun gives a run for a resource.
func (p *Plan) NewRun(stored *unstructured.Unstructured, now time.Time, ports Ports) *Run {
	r := &Run{
		Plan: p, Stored: stored, Now: now, Ports: ports,
		Object:     runtime.DeepCopyJSON(stored.Object),
		owner:      apply.Owner{Resource: stored, Box: p.Box, Label: kinds.LabelValue(stored.GetName())},
		isActive:   stored.GetAnnotations()[v1alpha1.AnnotationActiveSince] != "",
		finalizers: p.Finalizers,
		newMarks:   map[string]string{},
		known:      map[compile.Outside]bool{},
		lacking:    map[compile.Outside]bool{},
		stands:     newStanding(),
		due:        newDueJobs(),
		Inputs:     newInputs(p, stored, now),
	}
	r.back.read = stored
	r.children = newChildren(r)
	return r
}

// Execute runs the stages in their order until one ends the cycle. An error is always a *StepError.
func (p *Plan) Execute(ctx context.Context, r *Run) error {
	r.warnMisread()
	for _, s := range p.stages {
		outcome, err := s.Run(ctx, r)
		if err != nil {
			return classify(s.Name(), err)
		}
		if outcome != Next {
			return nil
		}
	}
	return nil
}

// UID of the resource.
func (r *Run) UID() types.UID { return r.Stored.GetUID() }

// data gives the template context. Children are read from the watch cache, only where they are used.
func (r *Run) data(usesChildren bool) expr.Data {
	d := expr.Data{
		"apiVersion":       r.Object["apiVersion"],
		"kind":             r.Object["kind"],
		"metadata":         r.Object["metadata"],
		"spec":             r.Object["spec"],
		compile.RootStatus: r.Object[compile.RootStatus],
		"box":              r.Plan.boxData,
	}
	if r.cross != nil {
		d[compile.RootCross] = r.cross
	}
	if r.external != nil {
		d[compile.RootExternal] = r.external
	}
	if r.back.previous != nil {
		d[compile.RootPrevious] = r.back.previous
	}
	if usesChildren {
		d["children"] = r.children.view()
	}
	return d
}

// wait notes what is waited for. of is what waits: the id of a child, or the name of what is read.
func (r *Run) wait(of, reason, message string) {
	r.Waits = append(r.Waits, Wait{Reason: reason, Message: message, of: of})
}

// flipAt notes a moment at which the resource must be looked at again.
func (r *Run) flipAt(t time.Time) {
	if !t.IsZero() && (r.Inputs.expires.IsZero() || t.Before(r.Inputs.expires)) {
		r.Inputs.expires = t
	}
}

// LookAt makes the resource be looked at again at a moment, or earlier. It is called before the next look is queued.
func (r *Run) LookAt(t time.Time) { r.flipAt(t) }

// marks are the finalizers and annotations that the resource must carry now.
func (r *Run) marks() apply.Marks {
	stored := r.Stored.GetAnnotations()
	annotations := map[string]string{v1alpha1.AnnotationManagedBy: r.Plan.Box}
	for _, k := range []string{
		v1alpha1.AnnotationManagedSince, v1alpha1.AnnotationActiveSince, v1alpha1.AnnotationDone, v1alpha1.AnnotationCalled,
		v1alpha1.AnnotationOrphan, v1alpha1.AnnotationSnapshots,
	} {
		if v := stored[k]; v != "" {
			annotations[k] = v
		}
	}
	if own := apply.OwnFinalizers(r.finalizers); own != "" {
		annotations[v1alpha1.AnnotationFinalizers] = own
	}
	if annotations[v1alpha1.AnnotationManagedSince] == "" {
		annotations[v1alpha1.AnnotationManagedSince] = r.Now.UTC().Format(time.RFC3339)
	}
	if note, noted := r.elsewhere(); noted {
		annotations[v1alpha1.AnnotationNamespaces] = note
	}
	if back := stored[v1alpha1.AnnotationRolledBack]; back != "" && r.Plan.Rollback != nil && !r.back.settled {
		annotations[v1alpha1.AnnotationRolledBack] = back
	}
	maps.Copy(annotations, r.newMarks)
	return apply.Marks{Finalizers: r.finalizers, Annotations: annotations}
}

// mark writes the marks if some are missing, and goes on with the answer.
func (r *Run) mark(ctx context.Context) error {
	answer, err := r.Ports.Marker.Mark(ctx, r.Stored, r.marks())
	if err != nil {
		return err
	}
	r.taken = r.taken || !slices.Contains(r.Stored.GetFinalizers(), v1alpha1.Finalizer)
	r.Stored = answer
	r.owner.Resource = answer
	return nil
}

// Result says what the resource shows after the cycle that ended with err (nil: success).
func (r *Run) Result(ctx context.Context, err error) (status.Result, error) {
	// What the stages gave may have used the limit up: the status says so nevertheless.
	ctx, giveBack := expr.WithCycle(ctx, nil)
	defer giveBack()
	res := status.Result{Generation: r.Stored.GetGeneration()}
	fields, conditions, fieldsErr := r.Plan.statusFields(ctx, r)
	if err == nil && fieldsErr != nil {
		err = classify(stepStatus, fieldsErr)
	}
	res.Fields, res.Conditions = fields, conditions
	var left []blocker
	if err == nil {
		var unknown error
		if left, unknown = r.blockers(ctx); unknown != nil {
			err = classify(stepStatus, unknown)
		}
	}
	r.conditions(&res, err, left)
	ShowMisread(&res.Ready, r.Stored.GetAnnotations())
	res.Conditions = append(res.Conditions, r.backCondition(err, res.Ready)...)
	return res, err
}

// Unstorable gives the result of a cycle whose declared fields the API server refuses to store: all else, and the refusal
// where err is nil. The CRD's schema says more than Compile can check, such as enums and patterns.
func (r *Run) Unstorable(res status.Result, err, refused error) (status.Result, error) {
	res.Fields, res.Conditions = nil, nil
	if err == nil {
		err = classify(stepStatus, permanent(v1alpha1.ReasonTemplateError, fmt.Errorf("fields: %w", refused)))
		r.conditions(&res, err, nil)
	}
	return res, err
}

func (r *Run) conditions(res *status.Result, err error, left []blocker) {
	res.Stalled = status.NotStalled()
	switch {
	case err != nil:
		step := AsStepError(err)
		res.Ready = status.Failed(step.Error())
		res.Reconciling = status.Progressing(v1alpha1.ReasonRetrying, step.Error())
		if step.Stalls() {
			res.Reconciling = status.Settled()
			res.Stalled = status.StalledBy(step.Reason, step.Error())
		}
	case r.Deleting:
		message := "cleaning up"
		if len(left) > 0 {
			_, message = told(left)
		}
		res.Ready = status.NotReady(v1alpha1.ReasonDeleting, message)
		res.Reconciling = status.Progressing(v1alpha1.ReasonDeleting, message)
	case len(left) > 0:
		r.blocked(res, left)
	default:
		res.Ready = status.Succeeded(r.notes...)
		res.Reconciling = status.Settled()
	}
}

// blocked says what stands in the way. A child that has failed ends it, whatever else is under way: nothing comes of that until somebody
// mends the child. Otherwise something is under way, and the resource may be Ready nevertheless. What does not meet status.readyWhen is
// always under way: tools would otherwise take a resource that is not Ready for one that never will be.
func (r *Run) blocked(res *status.Result, left []blocker) {
	root, message := told(left)
	unmet := slices.IndexFunc(left, func(b blocker) bool { return b.weight == notReadyYet })
	res.Reconciling = status.Progressing(root.Reason, message)
	switch {
	case root.weight == childFailed:
		res.Reconciling = status.Settled()
		if len(left) > 1 {
			res.Reconciling = status.NotProgressing(root.Reason, message)
		}
		res.Stalled = status.StalledBy(root.Reason, message)
		res.Ready = status.NotReady(root.Reason, message)
	case r.AwaitsDependency, r.Plan.readyPolicy == v1alpha1.ReadyCurrent:
		res.Ready = status.NotReady(root.Reason, message)
	case unmet >= 0:
		res.Ready = status.NotReady(left[unmet].Reason, left[unmet].Message)
	default:
		res.Ready = status.Succeeded(r.notes...)
	}
}

// awaited says what the cycle waits for.
func (r *Run) awaited() string {
	left := make([]blocker, 0, len(r.Waits))
	for _, w := range r.Waits {
		left = append(left, r.blocker(w, waiting))
	}
	_, message := told(left)
	return message
}

// told gives the root of what stands in the way, and what a condition says of it.
func told(left []blocker) (root blocker, message string) {
	root, others := rootOf(left)
	if others == 0 {
		return root, root.Message
	}
	return root, status.WithEnd(root.Message, fmt.Sprintf(" (and %d more)", others))
}

// oneLine makes a message fit for a condition.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
