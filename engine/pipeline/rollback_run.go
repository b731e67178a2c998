package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/outcome"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/rollback"
	"github.com/orkspace/orkestra/engine/value"
)

// NewRunTo gives a run that makes the children of a snapshot. The plan is that of the snapshot's revision. What says whose the
// children are is the resource as it is now; what templates read of it is the snapshot.
func (p *Plan) NewRunTo(s rollback.Snapshot, stored *unstructured.Unstructured, now time.Time, ports Ports) *Run {
	r := p.NewRun(stored, now, ports)
	r.Restoring = true
	metadata, _ := r.Object["metadata"].(map[string]any)
	delete(metadata, "labels")
	delete(metadata, "annotations")
	maps.Copy(metadata, runtime.DeepCopyJSON(s.Metadata))
	delete(r.Object, "spec")
	if s.Spec != nil {
		r.Object["spec"] = runtime.DeepCopyJSON(s.Spec)
	}
	return r
}

// GoBack makes the children of the snapshot that the run is for, and prunes those that it does not have. Calls that change something are
// not made, and Jobs are left as they are, because what they did can't be undone. Having to wait is an error too: the resource has not gone
// back then. An error is always a *StepError.
func (p *Plan) GoBack(ctx context.Context, r *Run) error {
	defer r.CountWrites()
	for _, s := range p.restoring {
		next, err := s.Run(r.Ports.Begin(ctx, s.Name()), r)
		r.Ports.Ended(s.Name(), err)
		if err != nil {
			return stage.Classify(s.Name(), err)
		}
		if next != stage.Next && len(r.Waits) > 0 {
			return &StepError{Step: s.Name(), Class: Transient, Err: errors.New(outcome.Awaited(r.Cycle.Cycle, r.Living))}
		}
	}
	return nil
}

// RollBackTo makes the children of a snapshot in a run of its own, with the plan of the snapshot's revision, and takes over what came
// of it.
func (r *Run) RollBackTo(ctx context.Context, to *Plan, s rollback.Snapshot) error {
	back := to.NewRunTo(s, r.Stored, r.Now, r.Ports)
	back.Account = r.Account
	back.Succeeded = true // there is nothing further to go back to: what it does not declare goes, whatever is waited for
	err := to.GoBack(ctx, back)
	r.Writes, r.Events, r.LeftBehind = back.Writes, back.Events, back.LeftBehind
	r.Stored = back.Stored // going back may have marked it
	r.Inputs = back.Inputs.As(&r.Plan.Plan, r.Stored)
	return err
}

// RunOnRollback runs the groups of onRollback for the resource as it is stored, with a snapshot as .previous. Nothing is pruned.
// An error is always a *StepError.
func (p *Plan) RunOnRollback(ctx context.Context, r *Run, s rollback.Snapshot) error {
	defer r.CountWrites()
	previous := map[string]any{"metadata": runtime.DeepCopyJSON(s.Metadata)}
	if s.Spec != nil {
		previous["spec"] = runtime.DeepCopyJSON(s.Spec)
	}
	r.Previous = previous
	if p.onRollback == nil {
		return nil
	}
	_, err := p.onRollback.Run(r.Ports.Begin(ctx, stage.StepOnRollback), r)
	r.Ports.Ended(stage.StepOnRollback, err)
	if err != nil {
		return stage.Classify(stage.StepOnRollback, err)
	}
	return nil
}

// WriteBack puts the mark on the resource of a run.
func (r *Run) WriteBack(ctx context.Context, m *rollback.Mark) error {
	text, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encoding what is rolled back: %w", err)
	}
	return r.MarkWith(ctx, v1alpha1.AnnotationRolledBack, string(text))
}

// settleStage notes that the cycle came to its end, so that nothing is rolled back any more. Where the resource was rolled back before, the
// mark of that is taken off.
type settleStage struct{}

func compileSettle(c *compiler) Stage {
	if c.plan.Rollback == nil {
		return nil
	}
	return settleStage{}
}

// Name implements Stage.
func (settleStage) Name() string { return stage.StepSettle }

// Run implements Stage.
func (settleStage) Run(ctx context.Context, r *Run) (stage.Outcome, error) {
	r.Completed = true
	if value.Annotation(r.Stored, v1alpha1.AnnotationRolledBack) == "" {
		return stage.Next, nil
	}
	return stage.Next, r.Mark(ctx)
}
