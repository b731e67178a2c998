package api

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
