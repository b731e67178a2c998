package engine

import (
	"context"
	"slices"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// confirmDenial gives the missing right behind an error; nil where it is about something else. The API server answers with 403
// also where admission refuses an object, so a review has to confirm what the 403 says.
func confirmDenial(ctx context.Context, rights *access.Reviews, err error) (missing *access.Right, confirmed error) {
	if err == nil {
		return nil, nil
	}
	step := pipeline.AsStepError(err)
	if step.Class != pipeline.Permission {
		return nil, err
	}
	missing = pipeline.Denial(step.Err)
	if missing != nil && !rights.Granted(ctx, *missing) {
		return missing, step
	}
	if missing != nil && slices.Contains([]string{"get", "list", "watch"}, missing.Verb) {
		// Nothing but rights is asked of reads, and this one has been granted meanwhile.
		return nil, &pipeline.StepError{Step: step.Step, Class: pipeline.Transient, Err: step.Err}
	}
	return nil, &pipeline.StepError{Step: step.Step, Class: pipeline.Refused, Reason: v1alpha1.ReasonAdmissionDenied, Err: step.Err}
}
