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
