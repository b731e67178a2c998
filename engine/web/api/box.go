package api

import "time"

// Steps are what a reconcile of a box goes through, and what each step did in the last hour, as the manager that leads remembers it.
type Steps struct {
	// Since is from when on it remembers; absent where the one that answers remembers nothing.
	Since *time.Time `json:"since,omitempty"`
	// Note says in a sentence why nothing is remembered.
	Note string `json:"note,omitempty"`
	// Steps in the order in which they run.
	Steps []Step `json:"steps"`
}

// Step is one of them.
type Step struct {
	// Name of the step, such as validation.
	Name string `json:"name"`
	// Runs counts how often it ran, Failures how often a reconcile failed in it.
	Runs     int `json:"runs"`
	Failures int `json:"failures"`
	// Mean is how many seconds it took on average, Longest at most.
	Mean    float64 `json:"mean"`
	Longest float64 `json:"longest"`
	// LastFailure is the last reconcile that failed in it.
	LastFailure *StepFailure `json:"lastFailure,omitempty"`
}

// StepFailure is a reconcile that failed in a step.
type StepFailure struct {
	// Time when the reconcile began.
	Time time.Time `json:"time"`
	// Resource that failed.
	Resource Reference `json:"resource"`
	// Message is the error.
	Message string `json:"message"`
}

// Rights is the answer to GET /api/v1/boxes/{box}/rights: what a box needs to be allowed, by its status, and what of it is missing now.
type Rights struct {
	// Account as which the box acts, as namespace/name; empty: the manager.
	Account string `json:"account,omitempty"`
	// Rights that are needed, those that are missing first; at most 300.
	Rights []NeededRight `json:"rights"`
	// Missing counts those of them that are.
	Missing int `json:"missing"`
	// More counts the rights that are left out.
	More int `json:"more,omitempty"`
	// Notes are sentences on what is not known, and on how to grant what is missing.
	Notes []string `json:"notes,omitempty"`
}

// NeededRight is what may be done with one resource.
type NeededRight struct {
	// Verbs that are needed, and Missing those of them that the account has not.
	Verbs   []string `json:"verbs"`
	Missing []string `json:"missing,omitempty"`
	// Group and Resource of the objects; the resource has its subresource behind a slash.
	Group    string `json:"group,omitempty"`
	Resource string `json:"resource"`
	// Namespace of the objects; empty: all.
	Namespace string `json:"namespace,omitempty"`
	// Name of the one object; empty: every one.
	Name string `json:"name,omitempty"`
	// Unknown says that the API server was not asked, or did not answer.
	Unknown bool `json:"unknown,omitempty"`
}
