package drain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/output"
	draining "github.com/orkspace/orkestra/controllers/drain"
)

// What is said while no manager has seen that a drain is asked for: at first, and when the time is over.
const (
	unanswered = "waits for the manager's answer"
	noAnswer   = "no manager has answered"
)

// pollInterval is the time between two reads of the Lease and the boxes. That is two requests a second, by one command.
const pollInterval = time.Second

// drain asks the manager, and waits until it holds nothing.
func (d *drainer) drain(ctx context.Context) error {
	if _, installed, err := d.boxes(ctx); err != nil || !installed {
		return err
	}
	if err := d.annotate(ctx, v1alpha1.True); err != nil {
		return err
	}
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, d.progress)
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("not drained in time: %s", cmp.Or(d.said[remaining], "the API server has not answered"))
}

// remaining is the key under which said keeps what is left, which is printed only at the end.
const remaining = ""

// progress prints how far the drain is, and says whether it is complete. An API server that does not answer for a moment is asked again.
func (d *drainer) progress(ctx context.Context) (done bool, err error) {
	lease := &coordinationv1.Lease{}
	if err := d.client.Get(ctx, d.lease, lease); apierrors.IsNotFound(err) {
		return false, fmt.Errorf("following the drain: Lease %q is gone", d.lease)
	} else if err != nil {
		d.unread(fmt.Sprintf("reading Lease %q", d.lease), err)
		return false, nil
	}
	word, asked := lease.Annotations[v1alpha1.AnnotationDrain]
	if !asked {
		return false, fmt.Errorf("somebody has taken the annotation %s off Lease %q: the manager goes on", v1alpha1.AnnotationDrain, d.lease)
	}
	var boxes v1alpha1.OperatorBoxList
	if err := d.client.List(ctx, &boxes); err != nil {
		d.unread("listing OperatorBoxes", err)
		return false, nil
	}
	slices.SortFunc(boxes.Items, func(a, b v1alpha1.OperatorBox) int { return cmp.Compare(a.Name, b.Name) })
	var left []string
	for i := range boxes.Items {
		box := &boxes.Items[i]
		state, held := stateOf(box)
		if !held {
			d.say("operatorbox/"+box.Name, "drained")
			continue
		}
		if !draining.Accepted(word) {
			state = unanswered
		}
		left = append(left, fmt.Sprintf("operatorbox/%s: %s", box.Name, state))
		d.say("operatorbox/"+box.Name, state)
	}
	if !draining.Accepted(word) {
		d.said[remaining] = fmt.Sprintf("%s: does it run in namespace %q? Without one, use --force", noAnswer, d.lease.Namespace)
		return false, nil
	}
	d.said[remaining] = joined(left)
	if len(left) > 0 {
		return false, nil
	}
	_, _ = fmt.Fprintf(d.out, "Nothing is held any more: %s.\n", output.Count(len(boxes.Items), "box", "boxes"))
	return true, nil
}

// unread notes what could not be read. Where the time is over, what was read before stays the last word.
func (d *drainer) unread(what string, err error) {
	if !errors.Is(err, context.DeadlineExceeded) || d.said[remaining] == "" {
		d.said[remaining] = fmt.Sprintf("%s: %v", what, err)
	}
}

// stateOf says whether a box is held, and what the manager says of it. A box without a finalizer counts as held until the manager has
// written that it is drained: one that has not seen the drain yet may be about to put the finalizer on.
func stateOf(box *v1alpha1.OperatorBox) (state string, held bool) {
	ready := meta.FindStatusCondition(box.Status.Conditions, v1alpha1.ConditionReady)
	has := controllerutil.ContainsFinalizer(box, v1alpha1.Finalizer)
	switch {
	case box.DeletionTimestamp != nil && !has:
		return "", false
	case ready == nil, ready.Reason != v1alpha1.ReasonDraining && ready.Reason != v1alpha1.ReasonDrained && ready.Reason != v1alpha1.ReasonDeletionBlocked:
		return "the manager has not looked at it yet", true
	case ready.Reason == v1alpha1.ReasonDrained && !has:
		return "", false
	}
	return ready.Message, true
}

func joined(lines []string) string {
	const most = 20
	text := ""
	for i, line := range lines {
		if i == most {
			return text + fmt.Sprintf("\n  %d more", len(lines)-most)
		}
		text += "\n  " + line
	}
	return text
}
