package pipeline

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// unsettled gives the children that have not settled, or have failed. One that is about to be pruned is neither: it is what an earlier
// spec made.
func (r *Run) unsettled(ctx context.Context) ([]blocker, error) {
	var left []blocker
	items := map[*declare.Declaration]map[string]instance{}
	for _, child := range r.children.All() {
		d := r.Plan.declared.Of(idOf(child))
		if d == nil || r.stands.complete && !r.covers(child) && child.GetDeletionTimestamp() == nil {
			continue
		}
		of, why, err := r.stateOf(ctx, d, child, items)
		if err != nil {
			return nil, fmt.Errorf("%s %q: %w", child.GetKind(), r.ChildName(child), err)
		}
		if why == "" {
			continue
		}
		reason := v1alpha1.ReasonChildrenNotCurrent
		if of == childFailed {
			reason = v1alpha1.ReasonChildFailed
		}
		why = fmt.Sprintf("%s %q: %s", child.GetKind(), r.ChildName(child), why)
		left = append(left, r.children.Blocker(Wait{Reason: reason, Message: why, Of: idOf(child)}, of))
	}
	return left, nil
}

// stateOf says why a child is not current: by the conditions of its declaration, or else by what it says itself. The conditions decide
// whether it is current, and not whether it has failed.
func (r *Run) stateOf(
	ctx context.Context, d *declare.Declaration, child *unstructured.Unstructured, items map[*declare.Declaration]map[string]instance,
) (weight, string, error) {
	of, why := wordsOfChild(d, child)
	if d.ReadyWhen == nil || stale(child) {
		return of, why, nil
	}
	in := instanceOf(d)
	if d.ReadyWhen.ReadsItem {
		if items[d] == nil {
			items[d] = r.instancesByID(ctx, d)
		}
		var found bool
		if in, found = items[d][idOf(child)]; !found {
			// A gate keeps the child of an item that is gone. What the conditions ask of it is gone with the item.
			return of, why, nil
		}
	}
	unmet, err := r.unmet(ctx, in, child)
	switch {
	case err != nil || unmet == "":
		return childOnItsWay, "", err
	case why != "" && of < waiting:
		return of, why, nil
	default:
		return childOnItsWay, unmet, nil
	}
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
func (r *Run) instancesByID(ctx context.Context, d *declare.Declaration) map[string]instance {
	byID := map[string]instance{}
	instances, err := r.instances(ctx, d)
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
	if in.ReadyWhen == nil {
		return "", nil
	}
	data := r.Data(in.ReadyWhen.UsesChildren)
	if in.item != nil {
		in.item.give(in.Loop, data)
	}
	data[compile.RootObject] = kinds.View(child)
	res, err := in.ReadyWhen.Gate.Eval(ctx, data, r.Now)
	if err != nil {
		return "", stage.Evaluating("readyWhen", v1alpha1.ReasonConditionError, err)
	}
	r.ReconcileAt(res.NextFlip)
	return res.Message(), nil
}
