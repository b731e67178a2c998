package deletion

import (
	"cmp"
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/settle"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/value"
)

// runDeclarations runs the declarations, and says what is waited for. Without an order, one that fails holds up none of the others; the
// first error is the one that people read.
func (d *deletion) runDeclarations(ctx context.Context, c *children.Cycle, finished map[string]string) (waiting []string, first error) {
	for _, decl := range d.cleanup {
		messages, err := d.runDeclaration(ctx, c, decl, finished)
		waiting, first = append(waiting, messages...), cmp.Or(first, err)
		if d.ordered && (len(waiting) > 0 || first != nil) {
			break
		}
	}
	return waiting, first
}

// runDeclaration runs one onDelete declaration, for each of its items.
func (d *deletion) runDeclaration(ctx context.Context, c *children.Cycle, decl *declare.Declaration, finished map[string]string) (waiting []string, first error) {
	unexpanded := children.InstanceOf(decl)
	if decl.Loop == nil && isFinished(finished, unexpanded) {
		return nil, c.Jobs.ExpireFinished(ctx, unexpanded) // what its gate and its templates read may be gone
	}
	if !decl.GateReadsItem {
		// As in the other groups: what the gate waits for may be what the loop goes over.
		open, message, err := d.askGate(ctx, c, unexpanded, finished)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", unexpanded.Label(ctx, c), err)
		}
		if !open {
			return nonEmpty(message), nil
		}
	}
	if c.NotInstalled(unexpanded) {
		return nil, nil
	}
	instances, err := c.Instances(ctx, decl)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", unexpanded.Label(ctx, c), err)
	}
	for _, in := range instances {
		message, err := d.runInstance(ctx, c, in, finished)
		if err != nil {
			first = cmp.Or(first, fmt.Errorf("%s: %w", in.Label(ctx, c), err))
		}
		waiting = append(waiting, nonEmpty(message)...)
		if d.ordered && (len(waiting) > 0 || first != nil) {
			break
		}
	}
	return waiting, first
}

func nonEmpty(message string) []string {
	if message == "" {
		return nil
	}
	return []string{message}
}

// askGate asks the gate of an instance. A message says what a closed one waits for.
func (d *deletion) askGate(ctx context.Context, c *children.Cycle, in children.Instance, finished map[string]string) (open bool, message string, err error) {
	res, err := in.Ask(ctx, c)
	if err != nil || res.Open || res.Choice || in.Optional {
		return res.Open, "", err
	}
	message, err = d.heldBack(ctx, c, in, finished, fmt.Sprintf("%s: %s", in.Label(ctx, c), res.Message()))
	return false, message, err
}

// heldBack says what a closed gate that waits still holds back. What was made before it closed is seen to its end: the children that
// the gate reads may be gone since.
func (d *deletion) heldBack(ctx context.Context, c *children.Cycle, in children.Instance, finished map[string]string, why string) (string, error) {
	all := []children.Instance{in}
	if in.ForAll() {
		var err error
		if all, err = c.Instances(ctx, in.Declaration); err != nil || len(all) == 0 {
			return why, nil //nolint:nilerr // what the gate waits for may be what the loop goes over
		}
	}
	for _, one := range all {
		if isFinished(finished, one) {
			continue
		}
		begun := c.Living.Find(one)
		if len(begun) == 0 || !c.Declared.OnlyOnDelete(one.ID) {
			return why, nil
		}
		message, err := d.awaited(ctx, c, one, begun[0])
		if err != nil || message != "" {
			return message, err
		}
		note(finished, one, cmp.Or(value.Annotation(begun[0], v1alpha1.AnnotationApplied), v1alpha1.True))
	}
	return "", nil
}

// runInstance runs one instance. A message says what is still waited for.
func (d *deletion) runInstance(ctx context.Context, c *children.Cycle, in children.Instance, finished map[string]string) (string, error) {
	if isFinished(finished, in) {
		return "", c.Jobs.ExpireFinished(ctx, in)
	}
	if in.GateReadsItem {
		if open, message, err := d.askGate(ctx, c, in, finished); err != nil || !open {
			return message, err
		}
	}
	obj, err := in.Render(ctx, c)
	if err != nil {
		return "", err
	}
	if err := c.Reach(ctx, obj); err != nil {
		return "", err
	}
	child := in.Child(obj)
	child.CleanUp = true
	out, err := c.Ports.Applier.Apply(ctx, c.Owner, child)
	if stage.InTerminatingNamespace(err) {
		// Nor can an event be made there.
		c.Events = append(c.Events, stage.Event{Warning: true, Reason: v1alpha1.ReasonCleanupSkipped, OfBox: c.AtHome(obj), Message: fmt.Sprintf(
			"clean-up of %s/%s skips %s: namespace %q is being deleted", c.Home(), c.Stored.GetName(), in.Label(ctx, c), obj.GetNamespace())})
		note(finished, in, drift.Hash(obj)) // a namespace does not come back from there
		return "", nil
	}
	if err != nil && !in.Quoted {
		err = stage.WithoutValues(err, in.Called(obj))
	}
	if err != nil {
		return "", err
	}
	c.Wrote(out.Object, out.Action)
	if out.Action == apply.Terminating {
		return beingDeleted(c, obj), nil
	}
	message, err := d.awaited(ctx, c, in, out.Object)
	if err == nil && message == "" {
		note(finished, in, drift.Hash(obj))
	}
	return message, err
}

// cleanUpMark stands before the id in the mark of what onDelete has finished. Marks of Jobs that ran while the resource lived say
// nothing of its clean-up, although they may have the same id.
const cleanUpMark = "onDelete:"

func isFinished(finished map[string]string, in children.Instance) bool {
	return finished[cleanUpMark+in.ID] != ""
}

func note(finished map[string]string, in children.Instance, hash string) {
	finished[cleanUpMark+in.ID] = hash
}

// awaited says what an object of the clean-up is still waited for. One that is no Job, and has no readyWhen, is finished when it is
// made.
func (d *deletion) awaited(ctx context.Context, c *children.Cycle, in children.Instance, live *unstructured.Unstructured) (string, error) {
	if live.GetDeletionTimestamp() != nil {
		return beingDeleted(c, live), nil
	}
	if !in.IsJob() {
		why, err := in.Unmet(ctx, c, live)
		if why != "" {
			why = fmt.Sprintf("%s %q: %s", live.GetKind(), c.ChildName(live), why)
		}
		return why, err
	}
	switch settle.JobState(live) {
	case batchv1.JobComplete:
		return "", nil
	case batchv1.JobFailed:
		if in.FailurePolicy == v1alpha1.JobFailureContinue {
			return "", nil
		}
		return "", stage.NewPermanent(v1alpha1.ReasonCleanupFailed, fmt.Errorf(
			"clean-up Job %q failed and holds the deletion: mend the cause and delete the Job to run it again, or set the annotation %s: \"true\" on the resource",
			c.ChildName(live), v1alpha1.AnnotationSkipCleanup))
	default:
		return fmt.Sprintf("waiting for clean-up Job %q to finish", c.ChildName(live)), nil
	}
}

func beingDeleted(c *children.Cycle, child *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %q is being deleted", child.GetKind(), c.ChildName(child))
}
