package children

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/settle"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// Unsettled gives the children that have not settled, or have failed. One that is about to be pruned is neither: it is what an earlier
// spec made.
func (l *Living) Unsettled(ctx context.Context) ([]stage.Blocker, error) {
	var left []stage.Blocker
	items := map[*declare.Declaration]map[string]Instance{}
	for _, child := range l.All() {
		d := l.cycle.Declared.Of(IDOf(child))
		if d == nil || l.cycle.Prunable(child) {
			continue
		}
		weight, why, err := l.StateOf(ctx, d, child, items)
		if err != nil {
			return nil, fmt.Errorf("%s %q: %w", child.GetKind(), l.cycle.ChildName(child), err)
		}
		if why == "" {
			continue
		}
		reason := v1alpha1.ReasonChildrenNotCurrent
		if weight == stage.ChildFailed {
			reason = v1alpha1.ReasonChildFailed
		}
		why = fmt.Sprintf("%s %q: %s", child.GetKind(), l.cycle.ChildName(child), why)
		left = append(left, l.Blocker(stage.Wait{Reason: reason, Message: why, Of: IDOf(child)}, weight))
	}
	return left, nil
}

// StateOf says why a child is not current: by the conditions of its declaration, or else by what it says itself. The conditions decide
// whether it is current, and not whether it has failed.
func (l *Living) StateOf(
	ctx context.Context, d *declare.Declaration, child *unstructured.Unstructured, items map[*declare.Declaration]map[string]Instance,
) (stage.Weight, string, error) {
	in := InstanceOf(d)
	if d.ReadyWhen != nil && d.ReadyWhen.ReadsItem {
		if items[d] == nil {
			items[d] = l.instancesByID(ctx, d)
		}
		var found bool
		if in, found = items[d][IDOf(child)]; !found {
			// A gate keeps the child of an item that is gone. What the conditions ask of it is gone with the item.
			weight, why := settle.Why(d, child)
			return weight, why, nil
		}
	}
	return stateOf(ctx, l.cycle, in, child)
}

// stateOf says why the child of an instance is not current; "" where it is.
func stateOf(ctx context.Context, c *Cycle, in Instance, child *unstructured.Unstructured) (stage.Weight, string, error) {
	weight, why := settle.Why(in.Declaration, child)
	if in.ReadyWhen == nil || settle.Stale(child) {
		return weight, why, nil
	}
	unmet, err := in.Unmet(ctx, c, child)
	switch {
	case err != nil || unmet == "":
		return stage.ChildOnItsWay, "", err
	case why != "" && weight < stage.Waiting:
		return weight, why, nil
	default:
		return stage.ChildOnItsWay, unmet, nil
	}
}

// instancesByID gives the instances of a declaration by the ids of their children. It gives none where the loop can't be evaluated: the
// declaration's gate is closed then, or its stage would have failed.
func (l *Living) instancesByID(ctx context.Context, d *declare.Declaration) map[string]Instance {
	byID := map[string]Instance{}
	instances, err := l.cycle.Instances(ctx, d)
	if err != nil {
		return byID
	}
	for _, in := range instances {
		byID[in.ID] = in
	}
	return byID
}

// Blocker gives what is known of something that waits.
func (l *Living) Blocker(w stage.Wait, weight stage.Weight) stage.Blocker {
	b := stage.Blocker{Wait: w, Weight: weight, Gives: w.Of}
	if d := l.cycle.Declared.Named(w.Of); d != nil {
		b.Gives, b.Needs = d.ID, d.Needs
	}
	return b
}
