package validation

import (
	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/boxspec"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// noted are what a box that compiles leaves to wish for, as far as people would hardly want it so. The box works all the same: the cluster says the first in
// its condition StatusWritable, and of the second nothing.
func noted(box *v1alpha1.OperatorBox, plan *pipeline.Plan) []string {
	var notes []string
	if plan.CRD.Name != "" && plan.Constructor == nil && !plan.CRD.OfOthers {
		if unwritten := plan.Status.Unwritten(plan.CRD.Name, plan.CRD.Kind.Version); unwritten != nil {
			notes = append(notes, unwritten.Message+mend(unwritten.Reason))
		}
	}
	if boxspec.DoesNothing(box) {
		notes = append(notes, "nothing is done for a resource: the box declares no children, no hook, no clean-up, no rules and no status")
	}
	return notes
}

// mend says what to do about what the status of resources lacks.
func mend(reason string) string {
	if reason == v1alpha1.ReasonNoStatusSubresource {
		return ". Add subresources: {status: {}} to the version of the CRD; else kubectl wait and orkestra wait can't tell when a resource is ready"
	}
	return ". Add them to the schema of the CRD"
}
