package operatorbox

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/engine/lifecycle"
)

// verdict is what the condition Compiled of a box says of its current spec.
type verdict int

const (
	open    verdict = iota // not compiled yet
	valid                  // it compiles
	refused                // it has mistakes
)

func verdictOn(box *v1alpha1.OperatorBox) verdict {
	c := meta.FindStatusCondition(box.Status.Conditions, v1alpha1.ConditionCompiled)
	switch {
	case c == nil || c.ObservedGeneration != box.Generation || c.Status == metav1.ConditionUnknown:
		return open
	case c.Status == metav1.ConditionTrue:
		return valid
	default:
		return refused
	}
}

// dependsOn gives what other boxes depend on, so that the compiler finds rings of dependencies (a waits for b, and b for a). The box whose
// spec closes a ring is refused, and those that were valid before go on. So a box with mistakes counts by the plan that it runs, not by
// its spec. Of two boxes that are both not compiled yet, only the younger one sees the spec of the other: else both would be refused.
func (p *planner) dependsOn(ctx context.Context, box *v1alpha1.OperatorBox) func(string) []string {
	return func(name string) []string {
		other := &v1alpha1.OperatorBox{}
		if err := p.Client.Get(ctx, types.NamespacedName{Name: name}, other); err != nil {
			return nil // what is not there depends on nothing, and the cache fails in no other way
		}
		switch verdictOn(other) {
		case valid:
			return dependenciesOf(other)
		case open:
			if crds.Older(other, box) < 0 {
				return dependenciesOf(other)
			}
		case refused: // its spec has no effect
		}
		return p.planDependsOn(name)
	}
}

// planDependsOn gives what the plan depends on that a box runs.
func (p *planner) planDependsOn(name string) []string {
	plan := p.Engine.Plan(name)
	if plan == nil {
		return nil
	}
	names := make([]string, 0, len(plan.DependsOn))
	for _, d := range plan.DependsOn {
		names = append(names, d.Name)
	}
	return names
}

func dependenciesOf(box *v1alpha1.OperatorBox) []string {
	names := make([]string, 0, len(box.Spec.DependsOn))
	for _, d := range box.Spec.DependsOn {
		names = append(names, d.Name)
	}
	return names
}

// dependants gives the boxes with mistakes that depend on a box, directly or by way of others. Their mistake may be a ring of dependencies
// in which this box was a part, and which it has opened now.
func (r *Reconciler) dependants(ctx context.Context, changed client.Object) []reconcile.Request {
	var list v1alpha1.OperatorBoxList
	if err := r.ports.Client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil { // they are only read
		ctrl.LoggerFrom(ctx).Error(err, "Boxes that depend on a box could not be listed", "box", changed.GetName())
		return nil
	}
	on := map[string][]*v1alpha1.OperatorBox{}
	for i := range list.Items {
		for _, name := range dependenciesOf(&list.Items[i]) {
			on[name] = append(on[name], &list.Items[i])
		}
	}
	var requests []reconcile.Request
	seen := map[string]bool{changed.GetName(): true}
	for next := []string{changed.GetName()}; len(next) > 0; next = next[1:] {
		for _, box := range on[next[0]] {
			if seen[box.Name] {
				continue
			}
			seen[box.Name] = true
			next = append(next, box.Name)
			if verdictOn(box) == refused {
				requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Name: box.Name}})
			}
		}
	}
	return requests
}

// specOrVerdictChanged lets the events pass that may open a ring: a changed spec of a box, a changed verdict on it, and its deletion.
type specOrVerdictChanged struct{ predicate.Funcs }

// Create implements predicate.Predicate. One more box opens no ring.
func (specOrVerdictChanged) Create(event.CreateEvent) bool { return false }

// Update implements predicate.Predicate.
func (specOrVerdictChanged) Update(e event.UpdateEvent) bool {
	old, ok := e.ObjectOld.(*v1alpha1.OperatorBox)
	box, isBox := e.ObjectNew.(*v1alpha1.OperatorBox)
	return ok && isBox && (old.Generation != box.Generation || verdictOn(old) != verdictOn(box))
}

// inOrder gives boxes after those that they depend on.
func inOrder(boxes []v1alpha1.OperatorBox) []string {
	byName := map[string]*v1alpha1.OperatorBox{}
	names := make([]string, 0, len(boxes))
	for i := range boxes {
		byName[boxes[i].Name] = &boxes[i]
		names = append(names, boxes[i].Name)
	}
	return slices.Concat(lifecycle.Waves(names, func(name string) []string { return dependenciesOf(byName[name]) })...)
}
