package api

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
