package api

// CompileQuestion asks what is wrong with boxes.
type CompileQuestion struct {
	// Boxes is YAML or JSON, of at most 50 documents: OperatorBoxes, and beside them CRDs that the cluster does not have, or not yet. Other objects are
	// ignored.
	Boxes string `json:"boxes"`
}

// Compiled is the answer to POST /api/v1/compile: what is wrong with boxes, as orkestra validate finds it. Body: CompileQuestion. Nothing is
// written.
type Compiled struct {
	// Valid says that there is a box, and nothing is wrong.
	Valid bool `json:"valid"`
	// Documents are the boxes, and what can't be read.
	Documents []CheckedDocument `json:"documents"`
}

// CheckedDocument is what there is to say of a box, or of a document that is none because it can't be read.
type CheckedDocument struct {
	// Subject names it, such as OperatorBox "website"; empty where it can't be read.
	Subject string `json:"subject,omitempty"`
	// Valid says that there is no mistake. Revision is the one that the box has in a cluster then.
	Valid    bool   `json:"valid"`
	Revision string `json:"revision,omitempty"`
	// Mistakes in the order of their lines; at most 100.
	Mistakes []Mistake `json:"mistakes"`
	// Notes are things to know that are no mistakes.
	Notes []string `json:"notes,omitempty"`
}

// Mistake is one thing that is wrong in a text.
type Mistake struct {
	// Path of the field; empty where the text can't be read.
	Path string `json:"path,omitempty"`
	// Message says what is wrong with it, and what to do.
	Message string `json:"message"`
	// Line and Column of the text, from 1; absent where they are not known.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
}

// RenderQuestion asks what the cluster would get for a resource. The resource is given as text, or by its name.
type RenderQuestion struct {
	// Boxes is as for CompileQuestion.
	Boxes string `json:"boxes"`
	// Resource is YAML or JSON of a resource that one of the boxes serves. What else stands there is taken for what the cluster has.
	Resource string `json:"resource,omitempty"`
	// Of is a resource of the cluster, which is read with the rights of who asks, and its children with it.
	Of *ResourceOf `json:"of,omitempty"`
	// Rest is YAML or JSON of what else the cluster has: objects that the box reads, children with their status, and the answers of external calls, of
	// the webhook and of providers, as orkestra render has them by --with.
	Rest string `json:"rest,omitempty"`
}

// ResourceOf names a resource of a running box.
type ResourceOf struct {
	// Box of the resource.
	Box string `json:"box"`
	// Namespace and Name of the resource; without a namespace for a kind that has none.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Rendered is the answer to POST /api/v1/render: what the cluster would get for resources, as orkestra render makes it. Body: RenderQuestion.
// Nothing is written, and nothing is called.
type Rendered struct {
	// Compiled is what is wrong with the boxes. Where something is, nothing is rendered.
	Compiled Compiled `json:"compiled"`
	// Resources that were rendered.
	Resources []RenderedResource `json:"resources"`
	// Notes are sentences on what could not be known.
	Notes []string `json:"notes,omitempty"`
}

// RenderedResource is what the cluster would get for one resource.
type RenderedResource struct {
	// Kind, Namespace and Name of the resource.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Mistakes are why the API server would not store it. Nothing else is known then.
	Mistakes []Mistake `json:"mistakes,omitempty"`
	// Objects are its children, and the patches of objects of others, in the order in which they are made; at most 500.
	Objects []RenderedObject `json:"objects"`
	// Conditions that it would have.
	Conditions []Condition `json:"conditions"`
	// Waits say what it waits for.
	Waits []string `json:"waits,omitempty"`
	// Error is what would end the reconcile; empty: nothing.
	Error string `json:"error,omitempty"`
	// Notes are sentences on what could not be known, and on what would be told by events.
	Notes []string `json:"notes,omitempty"`
}

// RenderedObject is one object that the cluster would get.
type RenderedObject struct {
	// APIVersion, Kind, Namespace and Name of the object.
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	// Patch says that only these fields are set, of an object of others that must exist.
	Patch bool `json:"patch,omitempty"`
	// YAML of the object. What a Secret holds is masked.
	YAML string `json:"yaml"`
}
