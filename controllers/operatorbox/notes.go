package operatorbox

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// The message of Compiled: notes stand behind it.
const (
	specIsValid   = "the spec is valid"
	noteSeparator = "; "
	addedOnCreate = "onCreate declarations that are new ("
)

// noteAdded notes on a new plan which of its onCreate declarations the running plan does not have: resources that are
// Active do not run them. The note stays while the spec stays as it is. After a restart there is no running plan to compare with, and the
// note is read from the box's status.
func (p *planner) noteAdded(box *v1alpha1.OperatorBox, plan *pipeline.Plan) {
	running := p.Engine.Plan(box.Name)
	switch {
	case running == plan:
	case running == nil, running.UID != plan.UID, running.OnCreateIDs == nil:
		plan.Notes = append(plan.Notes, addedInStatus(box)...)
	case running.Generation == plan.Generation:
		plan.Notes = append(plan.Notes, slices.DeleteFunc(slices.Clone(running.Notes), isNotAdded)...)
	default:
		added := slices.DeleteFunc(slices.Clone(plan.OnCreateIDs), func(id string) bool { return slices.Contains(running.OnCreateIDs, id) })
		if len(added) > 0 {
			plan.Notes = append(plan.Notes, addedOnCreate+strings.Join(added, ", ")+") do not run for resources that are Active already")
		}
	}
}

// addedInStatus reads that note from a box's status, if the status is of the current spec.
func addedInStatus(box *v1alpha1.OperatorBox) []string {
	c := meta.FindStatusCondition(box.Status.Conditions, v1alpha1.ConditionCompiled)
	if c == nil || c.ObservedGeneration != box.Generation || c.Reason != v1alpha1.ReasonCompiled {
		return nil
	}
	return slices.DeleteFunc(strings.Split(c.Message, noteSeparator), isNotAdded)
}

func isNotAdded(note string) bool { return !strings.HasPrefix(note, addedOnCreate) }
