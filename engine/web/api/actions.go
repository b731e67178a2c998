package api

// ActionName is something that people do to a box or a resource.
type ActionName string

// What people do.
const (
	Reconcile ActionName = "reconcile" // a resource: reconcile it now
	Pause     ActionName = "pause"     // a resource: make and correct nothing until it is resumed
	Resume    ActionName = "resume"    // a resource that is paused, or a box that is suspended: go on
	Release   ActionName = "release"   // a resource that is rolled back: try its spec again
	Suspend   ActionName = "suspend"   // a box: stop its sub-controller, and keep what it has made
	GoBack    ActionName = "rollback"  // a box: write the spec of a former revision
)

// Action is one that fits a box or a resource as it is now.
type Action struct {
	// Name of the action, as its path has it.
	Name ActionName `json:"name"`
	// May says whether who asks may do it.
	May bool `json:"may"`
	// Why says in a sentence why they may not, and what to do; empty where they may.
	Why string `json:"why,omitempty"`
}

// BoxActions is the answer to GET /api/v1/boxes/{box}/actions: what can be done to a box as it is now.
type BoxActions struct {
	// UID of the box.
	UID string `json:"uid"`
	// Actions that fit it.
	Actions []Action `json:"actions"`
}

// ResourceActions is the answer to GET /api/v1/boxes/{box}/resources/{namespace}/{name}/actions: what can be done to a resource as it is now.
type ResourceActions struct {
	// UID of the resource.
	UID string `json:"uid"`
	// Actions that fit it.
	Actions []Action `json:"actions"`
}

// FormerSpecs is the answer to GET /api/v1/boxes/{box}/revisions: the specs that are kept of a box. They are for those who may go back to one.
type FormerSpecs struct {
	// Revisions that are kept, the newest first.
	Revisions []Revision `json:"revisions"`
}

// Return is the answer to GET /api/v1/boxes/{box}/revisions/{revision}: what the action rollback would write.
type Return struct {
	// Box that goes back, and the Revision to which it does.
	Box      string `json:"box"`
	Revision string `json:"revision"`
	// UID and Generation of the box as it is now. The order has both, so that nothing is written over what was not shown.
	UID        string `json:"uid"`
	Generation int64  `json:"generation"`
	// Changes are the fields that differ, in the order of their paths; at most 500. More says how many there are besides.
	Changes []FieldChange `json:"changes"`
	More    int           `json:"more,omitempty"`
	// Patch is the merge patch of the spec, as YAML.
	Patch string `json:"patch"`
	// Why says in a sentence why it would be refused, and what to do; empty where it would not.
	Why string `json:"why,omitempty"`
}

// Order is the body of a POST that does something.
type Order struct {
	// UID of the object that is meant, as the answer to GET …/actions has it.
	UID string `json:"uid"`
	// Revision to which a box goes back, and Generation of the box that was shown beforehand; only for the action rollback.
	Revision   string `json:"revision,omitempty"`
	Generation int64  `json:"generation,omitempty"`
}

// Done is the answer to POST /api/v1/boxes/{box}/actions/{action}, and to
// POST /api/v1/boxes/{box}/resources/{namespace}/{name}/actions/{action}: what was written. Body: Order.
type Done struct {
	// Action that was done.
	Action ActionName `json:"action"`
	// Message says in a sentence what was written, and what comes of it.
	Message string `json:"message"`
}
