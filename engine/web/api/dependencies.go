package api

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
