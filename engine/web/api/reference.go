package api

// Vocabulary is the answer to GET /api/v1/reference: what may stand in boxes.
type Vocabulary struct {
	// Functions of templates, in the order of the reference page.
	Functions []Function `json:"functions"`
	// Operators of conditions.
	Operators []Operator `json:"operators"`
	// Kinds that have a key in a resource group.
	Kinds []KindKey `json:"kinds"`
}

// Function is one that templates may call.
type Function struct {
	// Name of the function, and other names of it.
	Name    string   `json:"name"`
	Aliases []string `json:"aliases,omitempty"`
	// Group is the heading under which it stands.
	Group string `json:"group"`
	// Usage shows the arguments, such as trimSuffix SUFFIX TEXT; Doc says what it gives.
	Usage string `json:"usage"`
	Doc   string `json:"doc"`
	// Example is a whole template, and Result what it gives, as text.
	Example string `json:"example"`
	Result  string `json:"result"`
}

// Operator is one of conditions.
type Operator struct {
	// Name of the operator, and the key that is its short form.
	Name  string `json:"name"`
	Short string `json:"short"`
	// Wants is how messages say what is wanted, before the value: more than.
	Wants string `json:"wants"`
	// Absent is the answer where the field is absent.
	Absent bool `json:"absent"`
	// Types are the values of valueType that mean something here.
	Types []string `json:"types,omitempty"`
	// Clock says that the answer changes with the time.
	Clock bool `json:"clock,omitempty"`
}

// KindKey is a key of resource groups.
type KindKey struct {
	// Key in a resource group, such as deployments.
	Key string `json:"key"`
	// Kind and APIVersion of what is made; empty where the declaration says it.
	Kind       string `json:"kind,omitempty"`
	APIVersion string `json:"apiVersion,omitempty"`
	// Namespaced says that the objects live in namespaces.
	Namespaced bool `json:"namespaced,omitempty"`
	// Text says what declarations make.
	Text string `json:"text,omitempty"`
}

// Fields is the answer to GET /api/v1/reference/{path}: what may stand in a declaration, or in a field of one, as orkestra explain says it. The path is
// a key and names of fields, such as deployments.probes.
type Fields struct {
	// Path that was asked for.
	Path string `json:"path"`
	// Type and Text of the field, or of the kind.
	Type string `json:"type,omitempty"`
	Text string `json:"text,omitempty"`
	// Fields below it, and those that all declarations have.
	Fields []Field `json:"fields"`
	Common []Field `json:"common,omitempty"`
}

// Field is one field.
type Field struct {
	// Name and Type of the field.
	Name string `json:"name"`
	Type string `json:"type"`
	// Text says what it means.
	Text string `json:"text,omitempty"`
	// Required says that it must be there; Default is what counts where it is absent.
	Required bool   `json:"required,omitempty"`
	Default  string `json:"default,omitempty"`
	// Example is the field with a value, in YAML.
	Example string `json:"example,omitempty"`
	// Below says that there are fields below it.
	Below bool `json:"below,omitempty"`
}

// TryQuestion asks what a template gives, or whether a condition holds, for a resource. One of them is given.
type TryQuestion struct {
	// Of is the resource, which is read with the rights of who asks, and its children and what its box reads with it.
	Of ResourceOf `json:"of"`
	// Template is one, such as {{ .spec.image | upper }}.
	Template string `json:"template,omitempty"`
	// Condition is one as YAML, such as {field: spec.replicas, greaterThan: 1}.
	Condition string `json:"condition,omitempty"`
}

// Tried is the answer to POST /api/v1/try: what a template gives, or whether a condition holds. Nothing is written. Body: TryQuestion.
type Tried struct {
	// Mistake is why it does not compile, or what evaluating it ended with; empty: it could be evaluated.
	Mistake string `json:"mistake,omitempty"`
	// Path is that of the field of the condition that the mistake is about.
	Path string `json:"path,omitempty"`
	// Type of what the template gives, such as string, and Value as YAML; at most 64 KiB.
	Type  string `json:"type,omitempty"`
	Value string `json:"value,omitempty"`
	// Verdict is that of the condition.
	Verdict *Verdict `json:"verdict,omitempty"`
	// Reads are the paths that it may read.
	Reads []string `json:"reads,omitempty"`
	// Notes are sentences on what could not be known.
	Notes []string `json:"notes,omitempty"`
}

// Verdict is whether a condition holds.
type Verdict struct {
	Holds bool `json:"holds"`
	// Field, Wanted and Actual are what a status would show.
	Field  string `json:"field"`
	Wanted string `json:"wanted,omitempty"`
	Actual string `json:"actual,omitempty"`
}
