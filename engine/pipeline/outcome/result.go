package outcome

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
func (p *Plan) Result(ctx context.Context, c *stage.Cycle, children Children, err error) (status.Result, error) {
	// What the stages gave may have used the limit up: the status says so nevertheless.
	ctx, giveBack := budget.WithCycle(ctx, nil)
	defer giveBack()
	res := status.Result{Generation: c.Stored.GetGeneration()}
	succeeded := err == nil
	var left []stage.Blocker
	if err == nil {
		var unknown error
		if left, unknown = p.Blockers(ctx, c, children); unknown != nil {
			err = stage.Classify(stage.StepStatus, unknown)
		}
	}
	if err != nil {
		left = waitsOf(c, children)
	}
	p.conditions(c, &res, err, left)
	fields, conditions, fieldsErr := p.evaluate(ctx, c, shown(failureOf(err), &res))
	if succeeded && fieldsErr != nil {
		err = stage.Classify(stage.StepStatus, fieldsErr)
		p.conditions(c, &res, err, left)
	}
	res.Fields, res.Conditions = fields, conditions
	stage.ShowMisread(&res.Ready, c.Stored.GetAnnotations())
	res.Conditions = append(res.Conditions, rolledBack(c, err, res.Ready)...)
	return res, err
}

// Unstorable gives the result of a cycle whose declared fields the API server refuses to store: all else, and the refusal
// where err is nil. The CRD's schema says more than Compile can check, such as enums and patterns.
func (p *Plan) Unstorable(c *stage.Cycle, children Children, res status.Result, err, refused error) (status.Result, error) {
	res.Fields, res.Conditions = nil, nil
	if err == nil {
		err = stage.Classify(stage.StepStatus, stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("fields: %w", refused)))
		p.conditions(c, &res, err, waitsOf(c, children))
	}
	return res, err
}

func (p *Plan) conditions(c *stage.Cycle, res *status.Result, err error, left []stage.Blocker) {
	res.Stalled = status.NotStalled()
	switch {
	case err != nil:
		step := stage.AsStepError(err)
		res.Ready = status.Failed(step.Error())
		res.Reconciling = status.Progressing(v1alpha1.ReasonRetrying, step.Error())
		if step.Stalls() {
			res.Reconciling = status.Settled()
			if len(left) > 0 {
				root, message := summarize(left)
				res.Reconciling = status.NotProgressing(root.Reason, message) // tools take what is both Reconciling and Stalled for either
			}
			res.Stalled = status.StalledBy(step.Reason, step.Error())
		}
	case c.Deleting:
		message := "cleaning up"
		if len(left) > 0 {
			_, message = summarize(left)
		}
		res.Ready = status.NotReady(v1alpha1.ReasonDeleting, message)
		res.Reconciling = status.Progressing(v1alpha1.ReasonDeleting, message)
	case len(left) > 0:
		p.blocked(c, res, left)
	default:
		res.Ready = status.Succeeded(c.Notes...)
		res.Reconciling = status.Settled()
	}
}

// blocked says what stands in the way. A child that has failed ends it, whatever else is under way: nothing comes of that until somebody
// mends the child. Otherwise something is under way, and the resource may be Ready nevertheless, unless it lacks what it can't be Ready
// without. What does not meet status.readyWhen is always under way: tools would otherwise take a resource that is not Ready for one that
// never will be.
func (p *Plan) blocked(c *stage.Cycle, res *status.Result, left []stage.Blocker) {
	root, message := summarize(left)
	unmet := slices.IndexFunc(left, func(b stage.Blocker) bool { return b.Weight == stage.NotReadyYet || b.Unready })
	res.Reconciling = status.Progressing(root.Reason, message)
	switch {
	case root.Weight == stage.ChildFailed:
		res.Reconciling = status.Settled()
		if len(left) > 1 {
			res.Reconciling = status.NotProgressing(root.Reason, message)
		}
		res.Stalled = status.StalledBy(root.Reason, message)
		res.Ready = status.NotReady(root.Reason, message)
	case c.AwaitsDependency, p.Ready == v1alpha1.ReadyCurrent:
		res.Ready = status.NotReady(root.Reason, message)
	case unmet >= 0:
		res.Ready = status.NotReady(left[unmet].Reason, left[unmet].Message)
	default:
		res.Ready = status.Succeeded(c.Notes...)
	}
}
