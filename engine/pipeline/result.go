package pipeline

import (
	"context"
	"fmt"
	"slices"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/status"
)

// Result says what the resource shows after the cycle that ended with err (nil: success).
func (r *Run) Result(ctx context.Context, err error) (status.Result, error) {
	// What the stages gave may have used the limit up: the status says so nevertheless.
	ctx, giveBack := budget.WithCycle(ctx, nil)
	defer giveBack()
	res := status.Result{Generation: r.Stored.GetGeneration()}
	fields, conditions, fieldsErr := r.Plan.statusFields(ctx, r)
	if err == nil && fieldsErr != nil {
		err = stage.Classify(stage.StepStatus, fieldsErr)
	}
	res.Fields, res.Conditions = fields, conditions
	var left []blocker
	if err == nil {
		var unknown error
		if left, unknown = r.blockers(ctx); unknown != nil {
			err = stage.Classify(stage.StepStatus, unknown)
		}
	}
	r.conditions(&res, err, left)
	stage.ShowMisread(&res.Ready, r.Stored.GetAnnotations())
	res.Conditions = append(res.Conditions, r.backCondition(err, res.Ready)...)
	return res, err
}

// Unstorable gives the result of a cycle whose declared fields the API server refuses to store: all else, and the refusal
// where err is nil. The CRD's schema says more than Compile can check, such as enums and patterns.
func (r *Run) Unstorable(res status.Result, err, refused error) (status.Result, error) {
	res.Fields, res.Conditions = nil, nil
	if err == nil {
		err = stage.Classify(stage.StepStatus, stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("fields: %w", refused)))
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
		res.Ready = status.Succeeded(r.Notes...)
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
		res.Ready = status.Succeeded(r.Notes...)
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
