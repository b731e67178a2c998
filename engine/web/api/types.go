// Package api has the types that GET /api/v1 answers with. They are for programs as much as for the page: names are those of the objects that
// they speak of, times are RFC 3339, and what is not known is left out. docs/design/control-center.md says how they are served.
package api

import (
	_ "embed"
	"time"
)

// OpenAPI describes the API (OpenAPI 3.1). It is generated of the types.
//
//go:embed openapi.json
var OpenAPI []byte

// Fleet is the answer to GET /api/v1/fleet: all boxes, and who runs them.
type Fleet struct {
	// Manager says whether one is at work.
	Manager Manager `json:"manager"`
	// Person is as whom is read.
	Person Person `json:"person"`
	// Policies says which admission policies are not in force that the manager relies on; absent where all are.
	Policies *Policies `json:"policies,omitempty"`
	// Boxes by name.
	Boxes []Box `json:"boxes"`
	// Notes are sentences on what could not be read.
	Notes []string `json:"notes,omitempty"`
}

// Manager is the answer to GET /api/v1/manager: whether one is at work.
type Manager struct {
	// State of it. While one is away, nothing is made or corrected, and what is shown may be old.
	State ManagerState `json:"state"`
	// Message says in one or two sentences why none is at work, or why that is not known, or that one has answered which does not lead.
	Message string `json:"message,omitempty"`
}

// ManagerState says whether a manager is at work.
type ManagerState string

// The states of a manager.
const (
	ManagerRunning ManagerState = "running"
	ManagerAway    ManagerState = "away"
	ManagerUnknown ManagerState = "unknown"
)

// Policies are admission policies that are not in force, as the condition PoliciesInstalled of the boxes says it.
type Policies struct {
	// Reason and Message of the condition.
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Since is from when on that is so.
	Since *time.Time `json:"since,omitempty"`
	// Alert of the chart that speaks of it, with its runbook.
	Alert Alert `json:"alert"`
}

// Person is as whom is read.
type Person struct {
	// Name of the user, as the API server knows it; empty where it does not tell.
	Name string `json:"name,omitempty"`
	// Groups of the user.
	Groups []string `json:"groups,omitempty"`
}

// Session is the answer to GET /api/v1/session: who asks, and what they can do about that.
type Session struct {
	// Person is as whom is read.
	Person Person `json:"person"`
	// SignIn is where somebody can sign in who counts as everybody; empty where they can't, or have.
	SignIn string `json:"signIn,omitempty"`
	// SignOut is where who has signed in signs out, by a POST; empty where nobody has.
	SignOut string `json:"signOut,omitempty"`
}

// State is how something fares, in one word: that of a box is the state of its CRDHealth.
type State string

// The states of boxes.
const (
	Pending   State = "Pending"
	Starting  State = "Starting"
	Healthy   State = "Healthy"
	Degraded  State = "Degraded"
	Suspended State = "Suspended"
	Stopped   State = "Stopped"
)

// The states of resources. The first that is true counts.
const (
	Deleting   State = "Deleting"   // it is being deleted
	Paused     State = "Paused"     // an annotation keeps it as it is
	RolledBack State = "RolledBack" // it has gone back to its last good state
	Failing    State = "Failing"    // its last reconcile failed, or a child of it has
	Waiting    State = "Waiting"    // something is under way
	Ready      State = "Ready"      // all that is declared is so
	Unknown    State = "Unknown"    // nobody has said yet
)

// Box is one line of the fleet.
type Box struct {
	// Name of the box.
	Name string `json:"name"`
	// CRD is <plural>.<group>; Kind is that of its resources.
	CRD  string `json:"crd,omitempty"`
	Kind string `json:"kind,omitempty"`
	// Created is when the box was made, StartedAt when it began to run.
	Created   time.Time  `json:"created"`
	StartedAt *time.Time `json:"startedAt,omitempty"`
	// State of the box. Degraded and Stopped are trouble.
	State State `json:"state"`
	// Reason and Message say in one line why it is not Healthy, or what there is to know although it is. Both may be absent.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Since is when the condition changed that Reason is of; absent where there is no reason.
	Since *time.Time `json:"since,omitempty"`
	// Resources counts its resources.
	Resources Counts `json:"resources"`
	// ConsecutiveFailures counts failed reconciles in a row; at FailureThreshold the box is Degraded.
	ConsecutiveFailures int64 `json:"consecutiveFailures"`
	FailureThreshold    int32 `json:"failureThreshold,omitempty"`
	// SuccessCount and FailureCount count reconciles since the box was made.
	SuccessCount int64 `json:"successCount"`
	FailureCount int64 `json:"failureCount"`
	// LastReconcile and LastFailure are the last ones.
	LastReconcile *time.Time `json:"lastReconcile,omitempty"`
	LastFailure   *Failure   `json:"lastFailure,omitempty"`
	// Worst is the resource that has failed most often in a row of those that fail now, with the time since when; absent where none fails.
	Worst *Failure `json:"worst,omitempty"`
	// Workers and QueueDepth are those of its sub-controller.
	Workers    int32 `json:"workers"`
	QueueDepth int32 `json:"queueDepth"`
	// Revision is the plan that runs.
	Revision string `json:"revision,omitempty"`
	// Suspended says that its spec asks for it.
	Suspended bool `json:"suspended,omitempty"`
	// Hour is how it fared in the last hour; absent where nobody remembers. In the fleet it has only what fails.
	Hour *Hour `json:"hour,omitempty"`
	// Alerts are the alerts of the chart that speak of such a box now, with their runbooks.
	Alerts []Alert `json:"alerts,omitempty"`
}

// Hour is the last hour of a box, as the manager that leads remembers it: one value for each minute, the oldest first. It is lost when that manager
// ends.
type Hour struct {
	// Since is from when on it remembers.
	Since time.Time `json:"since"`
	// From and To are the times of the first and the last value. Those between them stand a minute apart.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Total, Ready, Waiting and Failing count the resources, Queue those that waited for a worker, at the end of each minute.
	Total   []int32 `json:"total,omitempty"`
	Ready   []int32 `json:"ready,omitempty"`
	Waiting []int32 `json:"waiting,omitempty"`
	Failing []int32 `json:"failing"`
	Queue   []int32 `json:"queue,omitempty"`
	// Reconciles and Failures count the reconciles of each minute.
	Reconciles []int32 `json:"reconciles,omitempty"`
	Failures   []int32 `json:"failures,omitempty"`
	// P95 are the seconds that 95 % of the reconciles of each minute took at most, up to a fifth too long; 0: there was none.
	P95 []float64 `json:"p95,omitempty"`
}

// Counts counts resources.
type Counts struct {
	// Total is all of them.
	Total int32 `json:"total"`
	// Ready have settled.
	Ready int32 `json:"ready"`
	// Waiting have something under way, and don't fail.
	Waiting int32 `json:"waiting"`
	// Failing have failed, or are rolled back.
	Failing int32 `json:"failing"`
}

// Failure is a reconcile that failed.
type Failure struct {
	// Time of the failure.
	Time time.Time `json:"time"`
	// Resource that failed.
	Resource Reference `json:"resource"`
	// Step of the pipeline, such as validation.
	Step string `json:"step,omitempty"`
	// Message is the error.
	Message string `json:"message"`
}

// Reference names a resource of a box.
type Reference struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Alert names an alert of the chart, and its runbook.
type Alert struct {
	// Name of the alert, such as OrkestraBoxDegraded.
	Name string `json:"name"`
	// Runbook is the page that leads on.
	Runbook string `json:"runbook"`
}

// BoxDetail is the answer to GET /api/v1/boxes/{box}.
type BoxDetail struct {
	Box

	// Todo says in one or two sentences what to do about Reason; absent where nothing is to be done.
	Todo string `json:"todo,omitempty"`
	// Page is the address of the documentation that says more.
	Page string `json:"page,omitempty"`
	// Conditions of the box, and of its CRDHealth.
	Conditions       []Condition `json:"conditions"`
	HealthConditions []Condition `json:"healthConditions"`
	// Cycle is what a reconcile goes through, and how each step fared.
	Cycle Steps `json:"cycle"`
	// Failing are the ten worst of the resources that fail.
	Failing []FailingResource `json:"failing"`
	// Overdue are resources whose reconciles do not end.
	Overdue []Reference `json:"overdue,omitempty"`
	// DependsOn are the boxes that this one waits for, Dependents those that wait for it.
	DependsOn  []Dependency `json:"dependsOn,omitempty"`
	Dependents []Dependency `json:"dependents,omitempty"`
	// Rollback says whether resources are rolled back.
	Rollback *Rollback `json:"rollback,omitempty"`
	// LastKnownGood is the newest revision under which a reconcile has succeeded while the box was healthy.
	LastKnownGood *KnownGood `json:"lastKnownGood,omitempty"`
	// Autoscale says which limits are replaced now.
	Autoscale *Autoscale `json:"autoscale,omitempty"`
	// ManagedKinds are those of its children, as <apiVersion> <kind>.
	ManagedKinds []string `json:"managedKinds,omitempty"`
	// Declarations are what the box declares, in its order.
	Declarations []BoxDeclaration `json:"declarations"`
	// Revisions that are kept, the newest first.
	Revisions []Revision `json:"revisions"`
	// YAML of the box, without managed fields.
	YAML string `json:"yaml"`
	// Notes are sentences on what could not be read.
	Notes []string `json:"notes,omitempty"`
}

// Condition is one of an object.
type Condition struct {
	Type string `json:"type"`
	// Status is True, False or Unknown.
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Since is when the status changed last.
	Since *time.Time `json:"since,omitempty"`
	// ObservedGeneration is the generation that it speaks of.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// FailingResource is a resource that fails.
type FailingResource struct {
	Reference

	// ConsecutiveFailures counts the failed reconciles in a row.
	ConsecutiveFailures int64 `json:"consecutiveFailures"`
	// Reason of its condition Stalled, else of Ready; Step of the pipeline, and the error.
	Reason  string `json:"reason,omitempty"`
	Step    string `json:"step,omitempty"`
	Message string `json:"message"`
	// Since is when it first failed.
	Since time.Time `json:"since"`
}

// Dependency is one box that waits for another.
type Dependency struct {
	// Box is the other one.
	Box string `json:"box"`
	// Condition that it must have reached, such as Healthy.
	Condition string `json:"condition"`
	// Met says whether it has.
	Met bool `json:"met"`
}

// Rollback says whether resources of a box are rolled back.
type Rollback struct {
	Active bool       `json:"active"`
	Count  int32      `json:"count"`
	Since  *time.Time `json:"since,omitempty"`
	Reason string     `json:"reason,omitempty"`
}

// KnownGood is a revision that has been healthy.
type KnownGood struct {
	Revision string    `json:"revision"`
	Time     time.Time `json:"time"`
}

// Autoscale says which limits of a box are replaced now.
type Autoscale struct {
	Active bool       `json:"active"`
	Since  *time.Time `json:"since,omitempty"`
	Reason string     `json:"reason"`
}

// BoxDeclaration is one declaration of a box.
type BoxDeclaration struct {
	// Declaration names it as messages do, such as deployments/web; Path is its place in the box.
	Declaration string `json:"declaration"`
	Path        string `json:"path"`
	// Kind of its object.
	Kind string `json:"kind"`
	// Conditional says that it has a gate; Loop that it is made for each item of a list.
	Conditional bool `json:"conditional,omitempty"`
	Loop        bool `json:"loop,omitempty"`
}

// Revision is a spec of the box that is kept.
type Revision struct {
	// Name of the revision, Number its place in the order.
	Name   string `json:"name"`
	Number int64  `json:"number"`
	// Created is when it was kept.
	Created time.Time `json:"created"`
	// Current says that it runs.
	Current bool `json:"current,omitempty"`
	// Changes are the fields that differ from the revision before it, as lines such as "spec.workers: 3 → 5"; at most 100.
	Changes []string `json:"changes,omitempty"`
}
