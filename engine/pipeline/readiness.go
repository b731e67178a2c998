package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/when"
)

// rootObject is the child itself, in the conditions under which it counts as current.
const rootObject = "object"

// readiness is what stands between a cycle without error and a resource that is Ready with nothing left to do.
type readiness struct {
	// notCurrent names the first child that has not settled; "" when all have.
	notCurrent string
	// failed names the first child that has failed, by kstatus, where all others have settled; "" when there is none.
	failed string
	// unmet is the first condition of status.readyWhen that does not hold; "" when all do.
	unmet string
}

// ChildFailure is what a cycle came to that left a child behind which has failed, and goes no further; nil: there is none. It is no
// error of the cycle, and counts as none, but it is a reason to go back.
func ChildFailure(ready metav1.Condition) *StepError {
	if ready.Reason != v1alpha1.ReasonChildFailed {
		return nil
	}
	return &StepError{Step: stepChildren, Class: Refused, Reason: v1alpha1.ReasonChildFailed, Err: errors.New(ready.Message)}
}

// readyGate are conditions of readyWhen.
type readyGate struct {
	gate         *when.Gate
	usesChildren bool
	readsItem    bool
}

// readyWhen compiles status.readyWhen.
func (c *compiler) readyWhen(list []v1alpha1.Condition, at *field.Path) {
	gate, errs := when.CompileAll(list, c.scope, at)
	c.fail(errs...)
	if gate != nil {
		c.plan.readyWhen = &readyGate{gate: gate, usesChildren: c.read(gate.Paths())}
	}
}

// currentWhen compiles the readyWhen of a declaration. Its conditions read what the declaration reads, and the child as object.
func (c *compiler) currentWhen(d *declaration, list []v1alpha1.Condition, scope *expr.Scope, at *field.Path) {
	if len(list) == 0 {
		return
	}
	at = at.Child("readyWhen")
	if d.phase == stepDeletion && d.isJob() {
		c.fail(field.Forbidden(at, "a Job of onDelete is done when it has completed"))
		return
	}
	gate, errs := when.CompileAll(list, scope.WithRoot(rootObject, objectSchema(d.gvk, false)), at)
	c.fail(errs...)
	if gate == nil {
		return
	}
	paths := gate.Paths()
	d.readyWhen = &readyGate{
		gate: gate, usesChildren: c.read(paths), readsItem: d.forEach != nil && slices.ContainsFunc(paths, d.forEach.readsItem),
	}
}

// readiness asks what is left to do.
func (r *Run) readiness(ctx context.Context) (readiness, error) {
	var left readiness
	var err error
	if left.notCurrent, left.failed, err = r.notCurrent(ctx); err != nil {
		return readiness{}, err
	}
	if ready := r.Plan.readyWhen; ready != nil {
		res, err := ready.gate.Eval(ctx, r.data(ready.usesChildren), r.Now)
		if err != nil {
			return readiness{}, evaluating("readyWhen", v1alpha1.ReasonConditionError, err)
		}
		r.flipAt(res.NextFlip)
		if !res.Open {
			left.unmet = "readyWhen: " + res.Message()
		}
	}
	return left, nil
}

// notCurrent names the first child that has not settled. failed is the first one that has failed, which is not waited for.
func (r *Run) notCurrent(ctx context.Context) (message, failed string, err error) {
	items := map[*declaration]map[string]instance{}
	for _, child := range r.children.all() {
		d := r.Plan.declared(idOf(child))
		if d == nil {
			continue
		}
		why, err := r.unsettled(ctx, d, child, items)
		if err != nil {
			return "", "", fmt.Errorf("%s %q: %w", child.GetKind(), r.childName(child), err)
		}
		if why == "" {
			continue
		}
		why = fmt.Sprintf("%s %q: %s", child.GetKind(), r.childName(child), why)
		if d.readyWhen != nil || !hasFailed(child) {
			return why, "", nil
		}
		failed = cmp.Or(failed, why)
	}
	return "", failed, nil
}

// hasFailed says whether kstatus takes a child for one that goes no further, as a Job that was given up.
func hasFailed(child *unstructured.Unstructured) bool {
	res, err := status.Compute(child)
	return err == nil && res.Status == status.FailedStatus
}

// unsettled says why a child is not current: by the conditions of its declaration, or else by kstatus.
func (r *Run) unsettled(ctx context.Context, d *declaration, child *unstructured.Unstructured, items map[*declaration]map[string]instance) (string, error) {
	if d.readyWhen == nil || stale(child) {
		return byKstatus(child), nil
	}
	in := d.whole()
	if d.readyWhen.readsItem {
		if items[d] == nil {
			items[d] = r.instancesByID(ctx, d)
		}
		var found bool
		if in, found = items[d][idOf(child)]; !found {
			// A gate keeps the child of an item that is gone. What the conditions ask of it is gone with the item.
			return byKstatus(child), nil
		}
	}
	return r.unmet(ctx, in, child)
}

// stale says whether the state of an object says nothing of what is declared now: it is being deleted, or its controller has not
// seen the last change.
func stale(child *unstructured.Unstructured) bool {
	// A status of another shape tells nothing of generations.
	observed, found, err := unstructured.NestedInt64(child.Object, "status", "observedGeneration")
	return child.GetDeletionTimestamp() != nil || found && err == nil && observed != child.GetGeneration()
}

// instancesByID gives the instances of a declaration by the ids of their children. It gives none where the loop can't be evaluated: the
// declaration's gate is closed then, or its stage would have failed.
func (r *Run) instancesByID(ctx context.Context, d *declaration) map[string]instance {
	byID := map[string]instance{}
	instances, err := d.instances(ctx, r)
	if err != nil {
		return byID
	}
	for _, in := range instances {
		byID[in.id] = in
	}
	return byID
}

// unmet gives the first condition of an instance's readyWhen that its object does not meet; "" when all are met, or there are none.
func (r *Run) unmet(ctx context.Context, in instance, child *unstructured.Unstructured) (string, error) {
	if in.readyWhen == nil {
		return "", nil
	}
	data := r.data(in.readyWhen.usesChildren)
	if in.item != nil {
		in.forEach.give(data, in.item)
	}
	data[rootObject] = kinds.View(child)
	res, err := in.readyWhen.gate.Eval(ctx, data, r.Now)
	if err != nil {
		return "", evaluating("readyWhen", v1alpha1.ReasonConditionError, err)
	}
	r.flipAt(res.NextFlip)
	return res.Message(), nil
}

func byKstatus(child *unstructured.Unstructured) string {
	res, err := status.Compute(child)
	switch {
	case err != nil:
		return "its status can't be read: " + oneLine(err.Error())
	case res.Status != status.CurrentStatus:
		return oneLine(res.Message)
	default:
		return ""
	}
}
