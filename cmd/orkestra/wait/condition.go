package wait

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/session"
	"github.com/orkspace/orkestra/controllers/center"
	"github.com/orkspace/orkestra/controllers/inspect"
	"github.com/orkspace/orkestra/engine/value"
	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/view"
)

// What is waited for, as --for has it, beside conditions.
const (
	forDelete = "delete"
	forCreate = "create"
)

// goal is what is waited for.
type goal struct {
	// condition that is to have the status; empty: that the object is there, or with gone that it is not.
	condition, status string
	gone              bool
}

// parse reads a value of --for.
func parse(text string) (goal, error) {
	wrong := fmt.Errorf("--for %q: wanted condition=TYPE, condition=TYPE=STATUS, create or delete", text)
	switch text {
	case forDelete:
		return goal{gone: true}, nil
	case forCreate:
		return goal{}, nil
	}
	rest, found := strings.CutPrefix(text, "condition=")
	if !found {
		return goal{}, wrong
	}
	condition, status, given := strings.Cut(rest, "=")
	if !given {
		status = string(metav1.ConditionTrue)
	}
	if condition == "" || status == "" || strings.Contains(status, "=") {
		return goal{}, wrong
	}
	return goal{condition: condition, status: status}, nil
}

func (g goal) String() string {
	switch {
	case g.gone:
		return "its deletion"
	case g.condition == "":
		return "its creation"
	default:
		return fmt.Sprintf("condition %s=%s", g.condition, g.status)
	}
}

// met says whether an object is as it is to be, and in words how it is; nil: it is not there. hopeless says that it goes no further by itself.
func (g goal) met(obj *unstructured.Unstructured) (met, hopeless bool, how string) {
	switch {
	case obj == nil:
		return g.gone, false, "it does not exist"
	case g.gone && obj.GetDeletionTimestamp() == nil:
		return false, false, "nobody has deleted it"
	case g.gone:
		return false, false, "it is being deleted; finalizers: " + strings.Join(obj.GetFinalizers(), ", ")
	case g.condition == "":
		return true, false, "it exists"
	}
	found := conditionOf(obj, g.condition)
	if found == nil {
		return false, false, fmt.Sprintf("it has no condition %s", g.condition)
	}
	stalled := stalledOf(obj)
	how = strings.TrimSuffix(fmt.Sprintf("%s is %s: %s: %s", found.Type, found.Status, telling(obj, found, stalled), found.Message), ": ")
	if !isOfToday(obj, found) {
		return false, false, how + " (of an older generation)"
	}
	if strings.EqualFold(found.Status, g.status) {
		return true, false, how
	}
	hopeless = g.condition == v1alpha1.ConditionReady && strings.EqualFold(g.status, string(metav1.ConditionTrue)) && stalled != nil && isOfToday(obj, stalled)
	return false, hopeless, how
}

// unwritten says why the box of a resource can't write the condition that is waited for; empty: it can, or that is not known.
func unwritten(ctx context.Context, i *session.Inspector, t inspect.Target, g goal) string {
	if g.condition == "" {
		return ""
	}
	for _, box := range i.BoxesOver(t.CRD) {
		plan, err := i.Plan(ctx, box)
		if err != nil {
			continue // then it is waited for
		}
		ours := plan.Conditions[g.condition] || slices.ContainsFunc(ofResources, func(kind string) bool { return strings.EqualFold(kind, g.condition) })
		if why := center.Unwritten(plan); why != nil && ours {
			return why.Message
		}
	}
	return ""
}

// ofResources are the conditions that boxes write to their resources, beside those that they declare.
var ofResources = []string{v1alpha1.ConditionReady, v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled, v1alpha1.ConditionRolledBack}

// stalledOf gives the condition Stalled where it is True; nil: it is not.
func stalledOf(obj *unstructured.Unstructured) *api.Condition {
	if c := conditionOf(obj, v1alpha1.ConditionStalled); c != nil && c.Status == string(metav1.ConditionTrue) {
		return c
	}
	return nil
}

// telling is the reason of a condition; of Ready that of Stalled, as status, get and tree have it: it names the sort of error, and Ready only that there was
// one. A Stalled that is older than Ready is about another error.
func telling(obj *unstructured.Unstructured, found, stalled *api.Condition) string {
	if found.Type == v1alpha1.ConditionReady && found.Status == string(metav1.ConditionFalse) && stalled != nil && (isOfToday(obj, stalled) || !isOfToday(obj, found)) {
		return stalled.Reason
	}
	return found.Reason
}

func conditionOf(obj *unstructured.Unstructured, wanted string) *api.Condition {
	all := view.ResourceConditions(obj)
	for n := range all {
		if strings.EqualFold(all[n].Type, wanted) {
			return &all[n]
		}
	}
	return nil
}

// isOfToday says whether a condition speaks of the newest generation, as far as it, or the status, tells of which it does.
func isOfToday(obj *unstructured.Unstructured, c *api.Condition) bool {
	of := value.SeenGeneration(obj, &metav1.Condition{ObservedGeneration: c.ObservedGeneration})
	return of == 0 || of >= obj.GetGeneration()
}
