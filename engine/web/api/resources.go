package api

import (
	"slices"
	"time"
)

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
	// CountsAs is the state as which the health of its box counts it, where that is another one: of resources that are rolled back, paused or
	// deleted, or whose spec has changed since their status was written. A filter by state finds it by both.
	CountsAs State `json:"countsAs,omitempty"`
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
	// Reason for which the resource is not ready, as its headline has it.
	Reason string `json:"reason,omitempty"`
	// Todo says in one or two sentences what to do about that reason; absent where there is no more to say than Message does.
	Todo string `json:"todo,omitempty"`
	// Page is the address of the documentation that says more.
	Page string `json:"page,omitempty"`
	// Warnings are the newest ones about what children make, such as Pods, the newest first and each once; at most three, and only where a child is waited
	// for, or has failed.
	Warnings []Event `json:"warnings,omitempty"`
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

// Settled says whether the declaration is as it should be: its child is ready, its Job has completed, or the resource has not asked for it.
func (d Declaration) Settled() bool {
	return slices.Contains([]string{"Ready", "Completed", "Off"}, d.State)
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
