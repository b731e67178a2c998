package pipeline

import (
	"context"
	"errors"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/orkspace/orkestra/engine/rollback"
)

// backing is what a run has to do with going back.
type backing struct {
	// going says that the run makes the children of a snapshot.
	going bool
	// previous is the snapshot, for the templates of onRollback.
	previous map[string]any
	// probing says that the run is a dry one.
	probing bool
	// asked says that the dry run had nothing against what the cycle is about to do.
	asked bool
	// settled says that the cycle came to its end, so that nothing is rolled back any more.
	settled bool
	// read is the resource as the cycle began with it: what was marked since may hold a newer spec.
	read *unstructured.Unstructured
}

// Asked says whether the dry run was asked, and had nothing against it.
func (r *Run) Asked() bool { return r.back.asked }

// Settled says whether the cycle came to its end without an error. Only plans with rollback tell.
func (r *Run) Settled() bool { return r.back.settled }

// Read is the resource as the cycle began with it.
func (r *Run) Read() *unstructured.Unstructured { return r.back.read }

// stages compiles the stages in their order, and which of them a cycle has that goes back: those that make something, and what
// they read. Neither marks nor validates it, and it lets go of nothing.
func (c *compiler) stages() {
	for _, entry := range order() {
		s := entry.compile(c)
		if s == nil {
			continue
		}
		c.plan.stages = append(c.plan.stages, s)
		switch entry.name {
		case stepNormalize, stepMutation, stepCross, stepExternal, stepOnCreate, stepOnReconcile, stepPrune:
			c.plan.goingBack = append(c.plan.goingBack, s)
		}
	}
	if s := newGroup(stepRollback, c.rollbackGroup); s != nil {
		c.plan.onRollback = s
	}
}

// NewRunTo gives a run that makes the children of a snapshot. The plan is that of the snapshot's revision. What says whose the
// children are is the resource as it is now; what templates read of it is the snapshot.
func (p *Plan) NewRunTo(s rollback.Snapshot, stored *unstructured.Unstructured, now time.Time, ports Ports) *Run {
	r := p.NewRun(stored, now, ports)
	r.back.going = true
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

// GoBack makes the children of the snapshot that the run is for, and prunes what it does not have. Calls that change something are
// not made, Jobs are left as they are, and nothing is marked. What it has to wait for is an error too: it has not gone back then. An
// error is always a *StepError.
func (p *Plan) GoBack(ctx context.Context, r *Run) error {
	for _, s := range p.goingBack {
		outcome, err := s.Run(ctx, r)
		if err != nil {
			return classify(s.Name(), err)
		}
		if outcome != Next && len(r.Waits) > 0 {
			return &StepError{Step: s.Name(), Class: Transient, Err: errors.New(r.awaited())}
		}
	}
	return nil
}

// RunOnRollback runs the groups of onRollback for the resource as it is stored, with a snapshot as .previous. Nothing is pruned.
// An error is always a *StepError.
func (p *Plan) RunOnRollback(ctx context.Context, r *Run, s rollback.Snapshot) error {
	previous := map[string]any{"metadata": runtime.DeepCopyJSON(s.Metadata)}
	if s.Spec != nil {
		previous["spec"] = runtime.DeepCopyJSON(s.Spec)
	}
	r.back.previous = previous
	if p.onRollback == nil {
		return nil
	}
	if _, err := p.onRollback.Run(ctx, r); err != nil {
		return classify(stepRollback, err)
	}
	return nil
}

// As gives the inputs of a cycle that ran another plan, or another spec, as those of a plan for a resource as it is stored.
func (in *Inputs) As(p *Plan, stored *unstructured.Unstructured) *Inputs {
	as := *in
	as.plan, as.resource = p, fingerprint(p, stored)
	return &as
}

// ExpireAt makes the inputs change by themselves at a moment; zero: they don't.
func (in *Inputs) ExpireAt(t time.Time) {
	if !t.IsZero() && (in.expires.IsZero() || t.Before(in.expires)) {
		in.expires = t
	}
}
