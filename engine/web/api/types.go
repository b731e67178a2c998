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
	// Boxes by name.
	Boxes []Box `json:"boxes"`
	// Notes are sentences on what could not be read.
	Notes []string `json:"notes,omitempty"`
}

// Manager says whether a manager is at work.
type Manager struct {
	// Running says so. False: what is shown may be old, and nothing is made or corrected.
	Running bool `json:"running"`
	// Message says in one sentence why none is; empty where one is.
	Message string `json:"message,omitempty"`
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
	// Reason and Message say in one line why it is not Healthy.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
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
	// Waiting have something under way; one that fails and is tried again is among them.
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
	// LastKnownGood is the newest revision that has been healthy.
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
	// Reason of its condition Ready, Step of the pipeline, and the error.
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

// Rows is the answer to GET /api/v1/boxes/{box}/resources: one page of them.
//
// Parameters: namespace, state, reason (exact), text (in namespace/name, without case), sort (name, state, age; with - before it in the other
// order), offset, limit (1 to 500; 100).
type Rows struct {
	// Rows of the page.
	Rows []Row `json:"rows"`
	// Matching is how many the filters let through; Total how many there are that the person may see.
	Matching int `json:"matching"`
	Total    int `json:"total"`
	// States, Reasons and Namespaces count what the person may see, before the filters; at most 50 of each, the most frequent first.
	States     []Tally `json:"states"`
	Reasons    []Tally `json:"reasons"`
	Namespaces []Tally `json:"namespaces"`
	// Notes are sentences on what could not be read.
	Notes []string `json:"notes,omitempty"`
}

// Found is the answer to GET /api/v1/resources: the resources of all boxes in which a text is found, one page of them. Those come first whose name is
// the text, then those whose name begins with it, then those in whose namespace/name it is, then those in whose reason or message it is.
//
// Parameters: text (in any case, of 2 to 200 characters), offset, limit (1 to 100; 50).
type Found struct {
	// Rows of the page.
	Rows []FoundRow `json:"rows"`
	// Matching is how many there are that the person may see.
	Matching int `json:"matching"`
	// Notes are sentences on what was not searched.
	Notes []string `json:"notes,omitempty"`
}

// FoundRow is a resource of a box.
type FoundRow struct {
	Row

	// Box of the resource.
	Box string `json:"box"`
}

// Tally is how often a value is there.
type Tally struct {
	Value string `json:"value"`
	Count int    `json:"count"`
}

// Row is one resource in a list.
type Row struct {
	Reference

	// State of the resource.
	State State `json:"state"`
	// Reason and Message are those of the condition that says so.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Created is when it was made, Since since when it is in this state.
	Created time.Time  `json:"created"`
	Since   *time.Time `json:"since,omitempty"`
}

// Resource is the answer to GET /api/v1/boxes/{box}/resources/{namespace}/{name}; for a kind without namespaces the namespace is "-".
type Resource struct {
	Row

	// APIVersion and Kind of the resource, Box and its Revision that the declarations are of.
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Box        string `json:"box"`
	Revision   string `json:"revision,omitempty"`
	// Headline says in one sentence how it is.
	Headline string `json:"headline"`
	// Cause is the first thing that keeps it from being Ready, where one is known.
	Cause *Cause `json:"cause,omitempty"`
	// Declarations of the box, and children of none.
	Declarations []Declaration `json:"declarations"`
	// Provided is what providers have made, one line each.
	Provided []string `json:"provided,omitempty"`
	// Conditions of its status.
	Conditions []Condition `json:"conditions"`
	// History has its last reconciles.
	History History `json:"history"`
	// Snapshots that it can go back to; absent where its box rolls nothing back.
	Snapshots *Snapshots `json:"snapshots,omitempty"`
	// Events of the API server about it and its children, the newest first; at most 50.
	Events []Event `json:"events"`
	// EventsNote says why events are not known; absent where they are.
	EventsNote string `json:"eventsNote,omitempty"`
	// YAML without managed fields. What a Secret holds is masked.
	YAML string `json:"yaml"`
	// Notes are sentences on what could not be read, and what else there is to know.
	Notes []string `json:"notes,omitempty"`
}

// Cause is the first thing that keeps a resource from being Ready.
type Cause struct {
	// Declaration that it is about; empty where it is about the resource as a whole.
	Declaration string `json:"declaration,omitempty"`
	// Path of that declaration in the box.
	Path string `json:"path,omitempty"`
	// Field, Wanted and Actual are those of the condition of a gate that does not hold; empty where it is no gate.
	Field  string `json:"field,omitempty"`
	Wanted string `json:"wanted,omitempty"`
	Actual string `json:"actual,omitempty"`
	// Message says it in one sentence.
	Message string `json:"message"`
}

// Declaration is how a declaration stands for a resource.
type Declaration struct {
	// Declaration names it as messages do; Group and Path say where it stands in the box.
	Declaration string `json:"declaration"`
	Group       string `json:"group,omitempty"`
	Path        string `json:"path,omitempty"`
	// APIVersion, Kind, Namespace and Name of its child. Without a name there is none.
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
	// Created is when the child was made.
	Created *time.Time `json:"created,omitempty"`
	// State in one word, as orkestra status has it, and Reason on one line.
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
	// Gate is what its conditions say.
	Gate Gate `json:"gate"`
	// YAML of the child without managed fields. What a Secret holds is masked.
	YAML string `json:"yaml,omitempty"`
}

// Gate is what the conditions of a declaration say.
type Gate struct {
	// State is open, closed or unknown; empty where there is none.
	State string `json:"state,omitempty"`
	// Field, Wanted and Actual are those of the first condition that does not hold.
	Field  string `json:"field,omitempty"`
	Wanted string `json:"wanted,omitempty"`
	Actual string `json:"actual,omitempty"`
}

// History has the last reconciles of a resource, as the manager that leads remembers them. They are lost when that manager ends, and the oldest go
// when there are too many in all.
type History struct {
	// Since is from when on it remembers; absent where the one that answers remembers nothing.
	Since *time.Time `json:"since,omitempty"`
	// Note says in a sentence why there is none, or what is left out.
	Note string `json:"note,omitempty"`
	// Cycles are the reconciles that ran, the newest first; at most 10. One that had nothing to do is not among them.
	Cycles []Cycle `json:"cycles"`
}

// Cycle is one reconcile, or several in a row that came to the same.
type Cycle struct {
	// Time is when it began, the last one of several; Seconds how long it took.
	Time    time.Time `json:"time"`
	Seconds float64   `json:"seconds"`
	// Times is how many there were in a row, and First when the first of them began.
	Times int       `json:"times"`
	First time.Time `json:"first"`
	// Woken says what has woken the resource; Action what was decided, such as Reconcile, and Why.
	Woken  string `json:"woken"`
	Action string `json:"action"`
	Why    string `json:"why"`
	// Outcome is success, waiting, or the class of the error, such as Transient. Stage is the one that failed.
	Outcome string `json:"outcome"`
	Stage   string `json:"stage,omitempty"`
	// Reason and Message are those of the condition Ready after it, or the error that the resource could not show.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Stages are those that ran, in their order.
	Stages []Stage `json:"stages"`
	// Writes are those of objects that the person may list; at most 20. Others counts the rest.
	Writes []Write `json:"writes"`
	Others int     `json:"others,omitempty"`
}

// Stage is a step of a reconcile.
type Stage struct {
	Name string `json:"name"`
	// Seconds that it took.
	Seconds float64 `json:"seconds"`
}

// Write is one write to an object.
type Write struct {
	// Action is what was done: created, changed, corrected, pruned and so on.
	Action string `json:"action"`
	// Kind, Namespace and Name of the object.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Patch says that it is an object of others, of which fields were set.
	Patch bool `json:"patch,omitempty"`
}

// Event is one of the API server.
type Event struct {
	// Time of the last occurrence, Count how often.
	Time  time.Time `json:"time"`
	Count int32     `json:"count"`
	// Type is Normal or Warning.
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Object that it is about, as Kind/name.
	Object string `json:"object"`
}

// Change is what the stream GET /api/v1/stream tells: something has changed, and its page asks again. An empty box means the fleet as a whole.
// Each 15 seconds, and to begin with, it also tells an event of the name beat, which says only that the connection lives.
type Change struct {
	Box string `json:"box,omitempty"`
	// Resource that has changed; absent: the box itself has.
	Resource *Reference `json:"resource,omitempty"`
}

// Problem is what is answered in place of the rest (RFC 9457).
type Problem struct {
	// Status is that of HTTP, Title its text.
	Status int    `json:"status"`
	Title  string `json:"title"`
	// Detail says what is wrong and what to do, in a sentence.
	Detail string `json:"detail"`
	// SignIn is where somebody who is not let in can sign in; empty where they can't.
	SignIn string `json:"signIn,omitempty"`
}
