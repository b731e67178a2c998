package api

// Graph is the answer to GET /api/v1/boxes/{box}/graph: what the revision of a box that runs declares, and what of it depends on what.
type Graph struct {
	// Revision that declares it; empty where none runs.
	Revision string `json:"revision,omitempty"`
	// Nodes in the order of the box; at most 300.
	Nodes []GraphNode `json:"nodes"`
	// Edges between these nodes; at most 2,000.
	Edges []GraphEdge `json:"edges"`
	// More counts the nodes that are left out.
	More int `json:"more,omitempty"`
	// MoreEdges counts the edges between these nodes that are left out.
	MoreEdges int `json:"moreEdges,omitempty"`
	// Notes are sentences on what could not be read.
	Notes []string `json:"notes,omitempty"`
}

// GraphNode is one thing that a box declares.
type GraphNode struct {
	// Path is its place in the box, which no other node has.
	Path string `json:"path"`
	// Label names it as messages do.
	Label string `json:"label"`
	// Group is that of declarations which it stands in (onCreate, onReconcile, onDelete, onRollback), or cross, external, providers, patches or hook.
	Group string `json:"group"`
	// Kind of its object; of what cross reads; the method and host of a call; the provider and its kind.
	Kind string `json:"kind,omitempty"`
	// Box whose resources cross reads; empty: none.
	Box string `json:"box,omitempty"`
	// Gated says that it has conditions of its own; Loop that it is made for each item of a list; Optional that nothing waits for it.
	Gated    bool `json:"gated,omitempty"`
	Loop     bool `json:"loop,omitempty"`
	Optional bool `json:"optional,omitempty"`
}

// GraphEdge says that one node depends on another.
type GraphEdge struct {
	// From is the path of the node that is depended on, To that of the one which depends on it.
	From string `json:"from"`
	To   string `json:"to"`
	// Ways in which it does: gate (its conditions read it), after, templates (they read it), default (fields that are left out are taken from it).
	Ways []string `json:"ways"`
	// Fields that conditions read; at most 5.
	Fields []string `json:"fields,omitempty"`
	// Ring says that From depends on To as well, if only by way of others.
	Ring bool `json:"ring,omitempty"`
}

// Dependencies is the answer to GET /api/v1/boxes/{box}/dependencies: the boxes that this one waits for and those that wait for it, also by way of
// others, as their specs say it.
type Dependencies struct {
	// Nodes are the boxes, the one that was asked for first, the others by how far they are from it; at most 60.
	Nodes []DependencyNode `json:"nodes"`
	// Edges between these boxes.
	Edges []DependencyEdge `json:"edges"`
	// More counts the boxes that are left out.
	More int `json:"more,omitempty"`
	// Notes are sentences on what could not be read.
	Notes []string `json:"notes,omitempty"`
}

// DependencyNode is a box, or a CRD that another operator runs and that has a CRDHealth.
type DependencyNode struct {
	// Box is its name.
	Box string `json:"box"`
	// State of it; Unknown where nobody has said it, or it may not be seen.
	State State `json:"state"`
	// IsBox says that it is a box which may be seen. Otherwise it is one of another operator, is not there, or may not be seen.
	IsBox bool `json:"isBox,omitempty"`
	// Resources counts those of the box that fail.
	Failing int32 `json:"failing,omitempty"`
}

// DependencyEdge says that one box waits for another.
type DependencyEdge struct {
	// From is the box that is waited for, To the one that waits.
	From string `json:"from"`
	To   string `json:"to"`
	// Condition that From must have reached, such as Healthy.
	Condition string `json:"condition"`
	// Met is True, False, or Unknown where nobody has said it.
	Met string `json:"met"`
	// Ring says that From waits for To as well, if only by way of others: none of them begins.
	Ring bool `json:"ring,omitempty"`
}
