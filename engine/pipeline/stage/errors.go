package stage

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/external"
	"github.com/orkspace/orkestra/engine/provider"
)

// Class says what may mend an error, and so when the resource is reconciled again (design: recovery.md, "Errors and load").
type Class string

// The classes of errors.
const (
	// Transient errors may go away by themselves: the resource is tried again with exponential backoff.
	Transient Class = "transient"
	// Permanent errors are mended only by a change of what the failing step read.
	Permanent Class = "permanent"
	// Refused means that the API server says no for a reason that Orkestra can't watch: tried again once per resync.
	Refused Class = "refused"
	// Permission means that the manager lacks a right: tried again when it is granted.
	Permission Class = "permission"
	// Panic is a bug: tried again with exponential backoff.
	Panic Class = "panic"
)

// StepError is the error of one stage. Its text begins with the stage's name.
type StepError struct {
	// Step is the name of the stage.
	Step string
	// Class says what may mend it.
	Class Class
	// Reason is the reason of the Stalled condition; empty for classes that do not stall.
	Reason string
	// Err is what happened.
	Err error
}

// Error gives the step and what happened, on one line, in words that are the same for the same error.
func (e *StepError) Error() string {
	return e.Step + ": " + normalizeError(e.Err)
}

// Unwrap gives what happened.
func (e *StepError) Unwrap() error { return e.Err }

// Stalls says whether a retry can't mend the error.
func (e *StepError) Stalls() bool {
	return e.Class == Permanent || e.Class == Refused || e.Class == Permission
}

// Within gives the error of a step that runs inside of another one; nil where there is none.
func Within(step string, err error) error {
	if err == nil {
		return nil
	}
	return Classify(step, err)
}

// AsStepError gives err as a StepError; an error that names no step is classified and counted to the step "reconcile".
func AsStepError(err error) *StepError {
	if step, ok := errors.AsType[*StepError](err); ok {
		return step
	}
	return Classify("reconcile", err)
}

// StatusError gives the error of a status that could not be written.
func StatusError(err error) *StepError { return Classify(StepStatus, err) }

// reasonError carries the reason that a stage gives its own permanent errors.
type reasonError struct {
	reason string
	err    error
}

func (e *reasonError) Error() string { return e.err.Error() }
func (e *reasonError) Unwrap() error { return e.err }

// NewPermanent makes an error that only a change of its inputs mends.
func NewPermanent(reason string, err error) error {
	return &reasonError{reason: reason, err: err}
}

// BudgetOf names the budget over which a step has gone, as a word of a fixed list; empty: over none.
func BudgetOf(e *StepError) string {
	if e == nil {
		return ""
	}
	if limit, ok := errors.AsType[*budget.ExceededError](e); ok {
		return strings.ReplaceAll(strings.ToLower(string(limit.Limit)), " ", "_")
	}
	switch {
	case errors.As(e, new(*budget.PoolError)):
		return "pool"
	case e.Reason == v1alpha1.ReasonBudgetExceeded:
		return "objects"
	default:
		return ""
	}
}

// Classify finds the class of an error by what it is, not by what it says, wherever Kubernetes allows that.
func Classify(step string, err error) *StepError {
	e := &StepError{Step: step, Err: err}
	var (
		limit  *budget.ExceededError
		pool   *budget.PoolError
		own    *reasonError
		child  *apply.RefusedError
		noKind *meta.NoKindMatchError
		noRes  *meta.NoResourceMatchError
		call   *external.Error
		made   *provider.Error
	)
	switch {
	case errors.As(err, new(*PanicError)):
		e.Class = Panic
	case errors.As(err, &limit):
		e.Class, e.Reason = Permanent, v1alpha1.ReasonBudgetExceeded
	case errors.As(err, &pool):
		e.Class = Transient
	case errors.As(err, &own):
		e.Class, e.Reason = Permanent, own.reason
		if own.reason == v1alpha1.ReasonDuplicateChild {
			e.Class = Refused
		}
	case errors.As(err, &child):
		e.Class, e.Reason = Refused, child.Reason
	case errors.As(err, &call):
		e.Class = Transient
		if call.Refused {
			// Orkestra can't watch why the host, or the operator's list of hosts, refuses the call.
			e.Class, e.Reason = Refused, v1alpha1.ReasonExternalFailed
		}
	case errors.As(err, &made):
		e.Class, e.Reason = classifyProvider(made)
	case errors.As(err, &noKind), errors.As(err, &noRes):
		e.Class = Transient
	default:
		e.Class, e.Reason = classifyAPI(err)
	}
	return e
}

// classifyProvider gives the class of what the service of a provider says. What it refuses is mended by a change of the declaration, which is
// an input, or by somebody at the service, which can't be watched.
func classifyProvider(err *provider.Error) (class Class, reason string) {
	switch err.Class {
	case provider.Denied:
		return Permission, v1alpha1.ReasonProviderDenied
	case provider.NotOwned:
		return Refused, v1alpha1.ReasonNotOwned
	case provider.Duplicate:
		return Refused, v1alpha1.ReasonDuplicateChild
	case provider.Invalid, provider.InUse:
		return Refused, v1alpha1.ReasonProviderRefused
	default:
		return Transient, ""
	}
}

func classifyAPI(err error) (class Class, reason string) {
	text := MessageOf(err)
	switch {
	case InTerminatingNamespace(err):
		return Transient, ""
	case apierrors.IsForbidden(err):
		return classifyForbidden(text)
	case strings.HasPrefix(text, "failed to create typed patch object"):
		// A field that the kind does not have, or one of another type: server-side apply says so with 500.
		return Refused, v1alpha1.ReasonInvalidChild
	case apierrors.IsInvalid(err) && admission.MatchString(text):
		// A ValidatingAdmissionPolicy says no with 422 unless its author chose another code.
		return Refused, v1alpha1.ReasonAdmissionDenied
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		return Refused, v1alpha1.ReasonInvalidChild
	default:
		return Transient, ""
	}
}

// classifyForbidden tells the three meanings of 403 apart: quota, authorizer, and everything else, which is admission.
func classifyForbidden(text string) (class Class, reason string) {
	switch {
	case overQuota(text):
		return Transient, ""
	case deniedByAuthorizer(text):
		return Permission, v1alpha1.ReasonForbidden
	default:
		return Refused, v1alpha1.ReasonAdmissionDenied
	}
}

// MessageOf is what the API server says, also where the error shows something else.
func MessageOf(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Message
	}
	return err.Error()
}

// Evaluating wraps an error of a template or a condition.
func Evaluating(what, reason string, err error) error {
	return NewPermanent(reason, fmt.Errorf("%s: %w", what, err))
}
