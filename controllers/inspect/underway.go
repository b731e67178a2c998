package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/overview"
)

// reasonFirst is that of a resource which a manager has taken up, and of which no reconcile has ended yet.
const reasonFirst = "FirstReconcile"

// health gives the health of a box. Without one, it is empty, and the error says why.
func (i *Inspector) health(ctx context.Context, box string) (*v1alpha1.CRDHealth, error) {
	known, found := i.healths[box]
	if !found {
		known.health = &v1alpha1.CRDHealth{}
		known.err = i.Own.Get(ctx, types.NamespacedName{Name: box}, known.health)
		i.healths[box] = known
	}
	return known.health, known.err
}

// boxHealth is the health of a box, or why it is not known.
type boxHealth struct {
	health *v1alpha1.CRDHealth
	err    error
}

// begun says of a resource of a box's own whose status does not say how it stands what its marks tell: they are written at the beginning of a
// reconcile, and the status at its end.
func (i *Inspector) begun(ctx context.Context, res *Resource, box *v1alpha1.OperatorBox) {
	marks := res.object.GetAnnotations()
	if res.Reason != reasonUnseen || marks[v1alpha1.AnnotationManagedBy] != box.Name {
		return
	}
	health, _ := i.health(ctx, box.Name) // what may not be read names nothing
	if f := failingOf(health, res); f != nil {
		res.fails(f)
		return
	}
	if c := meta.FindStatusCondition(box.Status.Conditions, v1alpha1.ConditionStatusWritable); c != nil && c.Status == metav1.ConditionFalse {
		res.Message = "its status has no condition Ready: " + c.Message
		return
	}
	res.Reason, res.Message = reasonFirst, "a manager has taken it up"+ago(i.now, marks[v1alpha1.AnnotationManagedSince])+", and its first reconcile has not ended"
}

// later says of a resource whose status is of an older generation what the health of the box knows of it since: where the status can't be written, nothing
// else does.
func (i *Inspector) later(ctx context.Context, res *Resource, box *v1alpha1.OperatorBox) {
	if res.Reason != reasonOutdated {
		return
	}
	health, _ := i.health(ctx, box.Name) // what may not be read names nothing
	f := failingOf(health, res)
	if f == nil || strings.Contains(res.Message, f.Message) { // or it is what failed before
		return
	}
	res.Notes = append(res.Notes, "Its own status is older: "+res.Message)
	res.fails(f)
}

// ago says when something was, where that is known.
func ago(now time.Time, at string) string {
	t, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return "" // somebody has changed it
	}
	return fmt.Sprintf(" at %s, %s ago", at, duration.HumanDuration(now.Sub(t)))
}

// overdue says of a resource whose reconcile is past its deadline and does not end that it is: nothing else is written of it until then.
func (i *Inspector) overdue(ctx context.Context, res *Resource, box *v1alpha1.OperatorBox) {
	health, _ := i.health(ctx, box.Name)
	if !slices.Contains(health.Status.Overdue, v1alpha1.ResourceReference{Namespace: res.Namespace, Name: res.Name}) {
		return
	}
	const why = "a reconcile of it is past its deadline and does not end: what runs in it does not heed its context"
	if res.Ready {
		res.Notes = append(res.Notes, "Its status is of the time before: "+why)
		return
	}
	switch res.Reason {
	case reasonUnseen: // there is no more to say
		res.Message = why
	case reasonFirst:
		res.Message = why + "; " + res.Message
	default:
		res.Message = why + "; before that: " + res.Said()
	}
	res.Unknown, res.Reason = false, v1alpha1.ReasonOverdue
}

// notMade says of the children that nothing seems to keep from being made what does, as far as the resource says it: no child is rendered here, and
// nothing is tried to be written.
func (r *Resource) notMade() {
	for n := range r.Declarations {
		d := &r.Declarations[n]
		rest, unhindered := strings.CutPrefix(d.Reason, overview.Unhindered)
		if !unhindered || d.State != overview.StateMissing {
			continue
		}
		failed, ofGroup := strings.CutPrefix(r.Message, d.Group+": ")
		why, ofIt := strings.CutPrefix(failed, d.Declaration+": ")
		switch {
		case r.Reason == reasonFirst || r.Reason == v1alpha1.ReasonOverdue:
			d.Reason = "the reconcile that is to make it has not ended" + rest
		case why == d.Reason: // of an object of others it is said by what its declarations say
		case ofIt && ofGroup:
			d.State, d.Reason = overview.StateError, why
		case ofIt:
			d.State, d.Reason = overview.StateWaiting, why
		case ofGroup:
			d.Reason = "the last reconcile failed" + rest
			if why, ofChild := notTaken(failed, rest); ofChild {
				d.State, d.Reason = overview.StateError, why
			}
		case r.Failed:
			d.Reason = "the last reconcile failed before it came to it" + rest
		case r.Reason == v1alpha1.ReasonWaitingForDependency:
			d.State, d.Reason = overview.StateWaiting, r.Message
		}
	}
}

// notChanged says of a child that is there, and that the API server does not take as it is declared now, why. What is held is not declared so: it is that
// of an earlier spec.
func (r *Resource) notChanged() {
	if !r.Failed || r.Reason == v1alpha1.ReasonHeld {
		return
	}
	for n := range r.Declarations {
		d := &r.Declarations[n]
		if d.child == nil {
			continue
		}
		if why, is := strings.CutPrefix(r.Message, fmt.Sprintf("%s: applying %s %q: ", d.Group, d.Kind, d.child.GetName())); is {
			d.State, d.Reason = overview.StateError, why
		}
	}
}

// notTaken gives why a child could not be applied, where that is what has failed, and the child is the one that is not there.
func notTaken(failed, missing string) (why string, is bool) {
	applied, isApplied := strings.CutPrefix(failed, "applying ")
	_, child, isNamed := strings.Cut(missing, "there is no ")
	if !isApplied || !isNamed {
		return "", false
	}
	return strings.CutPrefix(applied, child+": ")
}
