package cycle

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/observe"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/provider"
	"github.com/orkspace/orkestra/engine/status"
	"github.com/orkspace/orkestra/engine/worker"
)

// execute runs a plan: that of the box, or that of a snapshot where the record says so. It says false where the process stops, or
// no longer leads: what was not finished is neither a success nor a failure.
func (c *cycle) execute(ctx context.Context) bool {
	ctx, sent := worker.CountRequests(ctx)
	c.st.released, c.st.again = false, false
	c.record.Repeats = c.repeats()
	reading := c.Observer.For(c.record.Key)
	c.record.Run = c.record.Plan.NewRun(c.stored, c.record.Began, c.ports(reading))
	var err error
	if c.leavingSince.IsZero() {
		err = mayRead(ctx, reading, c.record.Plan.CRD.Kind, c.stored)
	}
	if err == nil {
		err = c.runPlan(ctx)
	}
	if reading.End(c.record.Back == nil && c.record.Run.Marks.Active) {
		c.Notifier.BoxChanged(c.Box)
	}
	// An external call that ran into the deadline, or panicked, has not got its slot back.
	if !c.slot.Take(ctx) || ctx.Err() != nil {
		return false
	}
	if v := c.record.Run.Stored.GetResourceVersion(); v != c.stored.GetResourceVersion() {
		c.st.own.version = v
	}
	c.conclude(c.laps.Begin(ctx, stage.StepStatus), err)
	c.laps.Lap(stage.StepStatus, c.record.Status.Err)
	c.waiters.note(c.record.Key, c.record.Class == pipeline.Permission || reading.Refused())
	c.record.Requests, c.record.Unreached = sent.Requests(), sent.Unreached()
	return true
}

// mayRead asks whether the account of the box may read the resource, which comes from the manager's caches. Deletions are served whatever it
// may.
func mayRead(ctx context.Context, reading *observe.Reading, kind schema.GroupVersionKind, resource *unstructured.Unstructured) error {
	if resource.GetDeletionTimestamp() != nil {
		return nil
	}
	_, err := reading.Reads(ctx, kind, resource.GetNamespace(), "")
	if errors.As(err, new(*pipeline.WithheldError)) {
		return &pipeline.StepError{Step: stepReconcile, Class: pipeline.Permission, Reason: v1alpha1.ReasonForbidden, Err: err}
	}
	return err
}

// ports are what a plan acts through. A rollback has no dry run, since what it makes has succeeded before; and it takes off no
// finalizers, so that it need not know those of former revisions.
func (c *cycle) ports(reading *observe.Reading) pipeline.Ports {
	plan, now := c.record.Plan, c.record.Began
	c.st.writes.Begin(c.stored, now)
	c.laps = laps{clock: c.Clock, recorder: c.Metrics, box: c.Box, last: now, kept: reporting{c}.remember()}
	ports := pipeline.Ports{
		Inventory: c.Inventory, Applier: c.st.writes.Applier(c.Writer, c.Children, c.stored, now, plan.Runtime.Resync), LoopGuard: &c.st.writes,
		Marker: c.Writer, Patcher: c.st.writes.Patcher(c.Patcher, c.stored, now, plan.Runtime.Resync), PatchOf: c.PatchOf, Kinds: c.Kinds, Observer: reading, Access: reading,
		Caller: yieldingCaller{next: c.Caller, slot: c.slot}, Answers: &c.st.answers, Client: c.Code,
		Providers: yieldingProviders{next: c.Caller, slot: c.slot, memory: &c.st.provided}, Tokens: c.Tokens,
		Laps: &c.laps,
	}
	if c.record.Back == nil {
		ports.FormerFinalizers, ports.DryRun = c.FormerFinalizers, c.dryRun()
	}
	return ports
}

// runPlan runs the plan once all that it reads is known. Whatever adds a wait, an event or a mark does so here, while it runs.
func (c *cycle) runPlan(ctx context.Context) error {
	run, plan := c.record.Run, c.record.Plan
	run.Orphan = c.states.orphan(c.record.Key, c.stored.GetUID())
	run.Succeeded = c.record.Back != nil || c.succeeded() // a snapshot is of a generation that succeeded
	if c.record.Back != nil {
		// Nothing changes when it is time for another attempt, so the inputs have to expire then.
		defer func() { run.Inputs.ExpireAt(c.record.Back.Mark.Retry(plan.Runtime.Resync)) }()
		if c.record.Back.snapshotErr != nil {
			return c.record.Back.snapshotErr
		}
	}
	run.LeavingSince = c.leavingSince
	err := complete(c.laps.Begin(ctx, stage.StepGather), c)
	c.laps.Lap(stage.StepGather, err)
	if err != nil {
		return err
	}
	return c.within(ctx, func(ctx context.Context) error {
		if c.record.Back != nil {
			return c.runRollback(ctx)
		}
		if plan.Constructor != nil {
			return asking{c}.handOver(ctx)
		}
		return plan.Execute(ctx, run)
	})
}

// complete sees to it that the caches show all that the plan reads.
func complete(ctx context.Context, c *cycle) error {
	if err := c.Inventory.Refill(ctx); err != nil {
		return err
	}
	if c.stored.GetDeletionTimestamp() == nil && c.leavingSince.IsZero() {
		return nil
	}
	// A child whose creation was never answered may exist although no cache shows it, and would be left behind.
	return c.Writer.ResolveUnconfirmed(ctx, c.stored.GetUID())
}

// within runs a part of a cycle under its deadline. A panic is an error of this resource alone.
func (c *cycle) within(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	defer reporting{c}.tellOverdue(ctx)()
	defer c.Overdue.Watch(ctx, c.record.Key, c.slot)() // runs before cancel, which would count as a deadline that has passed
	err := guarded(ctx, f)
	// Stages run code, and writes, on goroutines of their own, which have caught the panic and hand it on as an error.
	if p, ok := errors.AsType[*pipeline.PanicError](err); ok {
		reporting{c}.panicked(ctx, p)
	}
	return timedOut(ctx, err, c.Timeout)
}

// stepReconcile is the step of what went wrong outside of the stages.
const stepReconcile = "reconcile"

// guarded runs f, and gives a panic of it as an error.
func guarded(ctx context.Context, f func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = pipeline.Classify(stepReconcile, &pipeline.PanicError{Value: p, Stack: debug.Stack()})
		}
	}()
	return f(ctx)
}

// timedOut wraps the error of a step that was ended by the deadline: "context deadline exceeded" alone does not say whose deadline.
// An error that is not transient was there before the deadline, and stays as it is.
func timedOut(ctx context.Context, err error, timeout time.Duration) error {
	if err == nil || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return err
	}
	step := pipeline.AsStepError(err)
	if step.Class != pipeline.Transient {
		return err
	}
	return &pipeline.StepError{Step: step.Step, Class: step.Class, Err: fmt.Errorf(
		"the reconcile took longer than %s and was ended: %w", timeout, step.Err)}
}

// conclude finds out what a run came to, shows it on the resource, and remembers it for the next cycle.
func (c *cycle) conclude(ctx context.Context, err error) {
	run, st, rec := c.record.Run, c.st, c.record
	missing, err := confirmDenial(ctx, c.Rights, err)
	result, err := c.result(ctx, err)
	rec.Resource, rec.Status.Before = run.Stored, c.readyBefore(run.Stored)
	st.last = last{inputs: run.Inputs, at: run.Now, version: run.Stored.GetResourceVersion(), ready: st.last.ready}
	var unwritten error
	if !run.Released && c.leavingSince.IsZero() { // what was let go, or left, gets no status any more
		unwritten = c.writeStatus(ctx, run.Stored, result)
		// A declared field may violate the schema in a way that can't be seen beforehand. Then the conditions are written without it.
		if apierrors.IsInvalid(unwritten) && len(result.Fields) > 0 {
			result, err = c.unstorable(result, err, unwritten)
			unwritten = c.writeStatus(ctx, run.Stored, result)
		}
	}
	if err != nil && st.answers.Drop() { // the webhook may answer otherwise when it is asked again, which nothing tells
		run.ReconcileAt(run.NextRead())
	}
	rec.Status.After, rec.Missing = result, missing
	if err != nil {
		rec.Err = pipeline.AsStepError(err)
		rec.Class = rec.Err.Class
		if rec.Err.Reason == v1alpha1.ReasonInvalidChild || rec.Err.Reason == v1alpha1.ReasonTemplateError {
			c.ForgetSchemas(c.Inventory.Kinds()) // a CRD may have changed since its schema was read, which no watch tells
		}
	}
	if unwritten != nil {
		c.statusFailed(ctx, unwritten)
	}
	before := rec.Status.Before
	same := before.Status == result.Ready.Status && before.Reason == result.Ready.Reason && before.Message == result.Ready.Message
	rec.Repeats = rec.Repeats && same && len(run.Writes) == 0 && (rec.failure() == nil || rec.failure().Stalls())
	st.last.class, st.last.missing, st.last.ready = rec.Class, rec.Missing, result.Ready
}

// result is what the resource shows after a run that ended with err. Where the resource has succeeded for the first time, its snapshot
// is saved here, before the status is written: a failure to save it is part of the result.
func (c *cycle) result(ctx context.Context, err error) (status.Result, error) {
	run, before := c.record.Run, c.record.Run.Stored.GetResourceVersion()
	carrySnapshots(ctx, c)
	if v := run.Stored.GetResourceVersion(); v != before {
		c.st.own.version = v
	}
	if c.record.Back != nil {
		return run.ResultBack(ctx, c.record.Back.Mark, err), err
	}
	result, err := run.Result(ctx, err)
	if err != nil || !c.keepsSnapshot(result) {
		return result, err
	}
	failed := c.Snapshots.Save(ctx, run.Stored, run.Snapshot())
	if failed == nil {
		return result, nil
	}
	log.FromContext(ctx).Error(failed, "Snapshot could not be kept")
	run.SnapshotFailed(failed, run.Now.Add(min(snapshotInterval, run.Plan.Runtime.Resync)))
	return run.Result(ctx, nil)
}

// snapshotInterval is the time to the next try where a snapshot could not be kept. Until then there is no way back to this generation.
const snapshotInterval = 10 * time.Second

// keepsSnapshot says whether a resource has succeeded for the first time at its generation and plan: Ready, with nothing that is
// waited for.
func (c *cycle) keepsSnapshot(result status.Result) bool {
	run := c.record.Run
	if run.Plan.Rollback == nil || !run.Completed || len(run.Waits) > 0 || result.Ready.Status != metav1.ConditionTrue {
		return false
	}
	snapshot := run.Snapshot()
	return !c.Snapshots.Has(run.Stored, snapshot.Generation, snapshot.Revision)
}

// unstorable is the result to write instead where the API server refuses the declared fields of the status. A resource that is rolled
// back shows its conditions without any, and it is no error then: the fields are those of a spec that is not in force.
func (c *cycle) unstorable(result status.Result, err, refused error) (status.Result, error) {
	if c.record.Back != nil {
		result.Fields = nil
		return result, err
	}
	return c.record.Run.Unstorable(result, err, refused)
}

// confirmDenial finds the right that an error says is missing, and asks the API server for a review of it. A denial that the review does not
// confirm was one of the moment: the right has been granted meanwhile, or the API server that denied it did not know its roles yet. It may have
// just started, or be another one than that which was asked for the review. A 403 that names no right is of class Refused.
func confirmDenial(ctx context.Context, rights Rights, err error) (missing *access.Right, confirmed error) {
	if err == nil {
		return nil, nil
	}
	step := pipeline.AsStepError(err)
	if step.Class != pipeline.Permission {
		return nil, err
	}
	if errors.As(err, new(*pipeline.WithheldError)) || errors.As(err, new(*provider.Error)) {
		return nil, step // a review has said so, or another service
	}
	missing = pipeline.Denial(step.Err)
	switch {
	case missing == nil:
		return nil, &pipeline.StepError{Step: step.Step, Class: pipeline.Refused, Reason: v1alpha1.ReasonAdmissionDenied, Err: step.Err}
	case rights.Granted(ctx, *missing):
		return nil, &pipeline.StepError{Step: step.Step, Class: pipeline.Transient, Err: step.Err}
	default:
		return missing, step
	}
}
