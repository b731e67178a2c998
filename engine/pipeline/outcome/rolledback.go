package outcome

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/rollback"
	"github.com/orkspace/orkestra/engine/status"
)

// RolledBack says what a resource shows that is rolled back. err is the error of the rollback; nil: it is complete. Fields of the
// status are those of the box, as far as they can be told.
func (p *Plan) RolledBack(ctx context.Context, c *stage.Cycle, m *rollback.Mark, err error) status.Result {
	res := goneBack(c.Stored.GetGeneration(), m, err)
	// What can't be evaluated is what failed.
	fields, conditions, _ := p.evaluate(ctx, c, shown(&failure{step: m.Step, reason: m.Reason}, &res))
	res.Fields, res.Conditions = fields, append(conditions, res.Conditions...)
	return res
}

// goneBack are the conditions of a resource that is rolled back.
func goneBack(generation int64, m *rollback.Mark, err error) status.Result {
	res := status.Result{Generation: generation, Ready: status.Failed(m.Message)}
	if err != nil {
		step := stage.AsStepError(err)
		message := fmt.Sprintf("going back to generation %d: %s", m.ToGeneration, step.Error())
		res.Reconciling, res.Stalled = status.Progressing(v1alpha1.ReasonRetrying, message), status.NotStalled()
		if step.Stalls() {
			res.Reconciling, res.Stalled = status.Settled(), status.StalledBy(v1alpha1.ReasonRollbackFailed, message)
		}
		res.Conditions = append(res.Conditions, status.RolledBack(metav1.ConditionFalse, v1alpha1.ReasonRollbackFailed, message))
		return res
	}
	failure := &stage.StepError{Class: m.Class}
	switch {
	case m.Held:
		// What failed goes along: tools that show one message show that of this condition.
		res.Reconciling, res.Stalled = status.Settled(), status.StalledBy(v1alpha1.ReasonHeld, status.WithAdvice(m.Message, m.Next()))
	case failure.Stalls() && m.Reason != "":
		res.Reconciling, res.Stalled = status.Settled(), status.StalledBy(m.Reason, m.Message)
	default:
		res.Reconciling, res.Stalled = status.Progressing(v1alpha1.ReasonRetrying, m.Message), status.NotStalled()
	}
	res.Conditions = append(res.Conditions, status.RolledBack(metav1.ConditionTrue, v1alpha1.ReasonRolledBack, m.String()+"; "+m.Next()))
	return res
}

// rolledBack is what a cycle says of RolledBack: a box without rollback takes the condition away.
func rolledBack(c *stage.Cycle, err error, ready metav1.Condition) []status.Own {
	switch {
	case c.SnapshotError != nil && err == nil:
		return []status.Own{status.RolledBack(metav1.ConditionFalse, v1alpha1.ReasonSnapshotFailed,
			"this generation can't be gone back to, since its snapshot could not be kept: "+c.SnapshotError.Error())}
	case ready.Reason == v1alpha1.ReasonChildFailed && c.Plan.Rollback != nil && !status.IsTrue(c.Stored, v1alpha1.ConditionRolledBack):
		return nil // why nothing is rolled back was said when it failed
	case c.Plan.Rollback == nil && status.HasCondition(c.Stored, v1alpha1.ConditionRolledBack):
		return []status.Own{{Condition: metav1.Condition{Type: v1alpha1.ConditionRolledBack}, Remove: true}}
	case c.Plan.Rollback != nil && c.Completed && err == nil:
		return []status.Own{status.RolledBack(metav1.ConditionFalse, v1alpha1.ReasonSettled, "nothing is rolled back")}
	default:
		return nil
	}
}
