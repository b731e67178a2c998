package pipeline

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/pipeline/outcome"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// The names of package stage that those who compile and run plans need: the engine, its cycle, the controllers and the commands. They stand
// beside Plan and Run there, so a reader of those packages meets one name for the contract of a plan. Package stage itself is for what the
// stages share, and for packages such as contention and discovery, which may not know plans (.golangci.yml).
type (
	// Stage is one step of a reconcile.
	Stage = stage.Stage[*Run]
	// CRD is a CRD in the version that a plan works in.
	CRD = stage.CRD
	// Rollback says when resources go back.
	Rollback = stage.Rollback
	// Dependency is what new resources wait for.
	Dependency = stage.Dependency
	// DependencyState is how a dependency fares.
	DependencyState = stage.DependencyState
	// Ports are all side effects of a run.
	Ports = stage.Ports
	// Inventory reads children.
	Inventory = stage.Inventory
	// Applier writes children.
	Applier = stage.Applier
	// Marker writes the metadata of resources.
	Marker = stage.Marker
	// Kinds resolves kinds.
	Kinds = stage.Kinds
	// Observer reads what the box does not own.
	Observer = stage.Observer
	// WithheldError says that the account of a box may not read something.
	WithheldError = stage.WithheldError
	// Caller calls HTTP services.
	Caller = stage.Caller
	// Providers calls the drivers of providers.
	Providers = stage.Providers
	// DryRun asks the API server what it would say to writes.
	DryRun = stage.DryRun
	// Inputs are what a cycle read.
	Inputs = stage.Inputs
	// Difference is what has changed of them.
	Difference = stage.Difference
	// Event is something that people should see.
	Event = stage.Event
	// StepError is the error of one stage.
	StepError = stage.StepError
	// PanicError is a panic that was caught in code of users, or where a child was written.
	PanicError = stage.PanicError
	// Class says what may mend an error.
	Class = stage.Class
)

// The classes of errors.
const (
	Transient  = stage.Transient
	Permanent  = stage.Permanent
	Refused    = stage.Refused
	Permission = stage.Permission
	Panic      = stage.Panic
)

// StepConstructor is the step of what the reconciler of a constructor says.
const StepConstructor = stage.StepConstructor

// Classify gives the error of a step, with its class.
func Classify(step string, err error) *StepError { return stage.Classify(step, err) }

// NewPermanent makes an error that only a change of its inputs mends.
func NewPermanent(reason string, err error) error { return stage.NewPermanent(reason, err) }

// NamespaceKind is the kind that is asked whether resources of other namespaces may reach into it.
var NamespaceKind = stage.NamespaceKind

// NewCRD picks a version of a CRD: the wanted one, or the storage version. ok is false when it is not served.
func NewCRD(crd *apiextensionsv1.CustomResourceDefinition, version string) (picked CRD, ok bool) {
	return stage.NewCRD(crd, version)
}

// AsStepError gives err as a StepError; an error that names no step is classified and counted to the step "reconcile".
func AsStepError(err error) *StepError { return stage.AsStepError(err) }

// StatusError gives the error of a status that could not be written.
func StatusError(err error) *StepError { return stage.StatusError(err) }

// Denial gives the right that an answer of the API server says is missing; nil for every other answer.
func Denial(err error) *access.Right { return stage.Denial(err) }

// Terminates says whether an error is that a namespace is being deleted: nothing can be made in it any more, no event either.
func Terminates(namespace string, err error) bool { return stage.Terminates(namespace, err) }

// Misread names the first of the given annotations whose value is neither "true" nor "false"; empty: there is none.
func Misread(annotations map[string]string, switches ...string) string {
	return stage.Misread(annotations, switches...)
}

// ShowMisread says so in a condition Ready that is True.
func ShowMisread(ready *metav1.Condition, annotations map[string]string) {
	stage.ShowMisread(ready, annotations)
}

// ChildFailure is what a cycle came to that left a child behind which has failed; nil: there is none.
func ChildFailure(ready metav1.Condition) *StepError { return outcome.ChildFailure(ready) }
