package api

import "time"

// Difference is the answer to GET /api/v1/boxes/{box}/difference: what differs between two revisions of a box that are kept, or one of them and the
// spec of today.
//
// Parameters: from, to (names of revisions; without to the spec of today).
type Difference struct {
	// From and To are the revisions; To is empty for the spec of today.
	From string `json:"from"`
	To   string `json:"to,omitempty"`
	// Changes by their fields; at most 500.
	Changes []FieldChange `json:"changes"`
	// More counts the changes that are left out.
	More int `json:"more,omitempty"`
}

// FieldChange is one field that differs.
type FieldChange struct {
	// Field is its path.
	Field string `json:"field"`
	// Before and After are its values as YAML, cut where they are long; absent where the field is not there.
	Before *string `json:"before,omitempty"`
	After  *string `json:"after,omitempty"`
}

// Snapshots say what a resource goes back to when its box rolls it back.
type Snapshots struct {
	// Back says that it is rolled back now, from what, and why; absent: it is not.
	Back *RolledBackTo `json:"back,omitempty"`
	// Kept are those that are there, the newest first. The first one is what it would go back to.
	Kept []Snapshot `json:"kept"`
	// Note says in a sentence why they are not known.
	Note string `json:"note,omitempty"`
}

// Snapshot is a resource as it was when it last succeeded.
type Snapshot struct {
	// Name of the ControllerRevision that holds it.
	Name string `json:"name"`
	// Generation of the resource, and Revision of its box, under which it succeeded.
	Generation int64  `json:"generation"`
	Revision   string `json:"revision"`
	// Taken is when.
	Taken time.Time `json:"taken"`
	// Current says that the resource is rolled back to it.
	Current bool `json:"current,omitempty"`
	// Changes are the fields of the spec of today that would be others; at most 100.
	Changes []FieldChange `json:"changes"`
	More    int           `json:"more,omitempty"`
}

// RolledBackTo says what a resource was rolled back from.
type RolledBackTo struct {
	// Since is when, and Count how often from this generation.
	Since time.Time `json:"since"`
	Count int       `json:"count"`
	// Generation that failed, and Revision of the box under which it did.
	Generation int64  `json:"generation"`
	Revision   string `json:"revision"`
	// Step that failed, Reason and Message of the failure, and Trigger of the rollback.
	Step    string `json:"step"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message"`
	Trigger string `json:"trigger"`
	// Held says that it stays so until something is changed; Next says what ends it.
	Held bool   `json:"held,omitempty"`
	Next string `json:"next"`
}
