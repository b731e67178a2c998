package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PipelineSpec holds the steps of a reconcile, in the order in which they run.
type PipelineSpec struct {
	// Normalize computes fields of the working copy before anything else sees them.
	// +optional
	Normalize *NormalizeSpec `json:"normalize,omitempty"`

	// Mutation sets defaults and overrides on the working copy.
	// +optional
	Mutation *MutationSpec `json:"mutation,omitempty"`

	// Validation denies resources, or warns.
	// +optional
	Validation *ValidationSpec `json:"validation,omitempty"`

	// Values are given names, under which templates, conditions and CEL read them: .values.<name>, and values.<name> in CEL. Each may read
	// those before it. One is evaluated where it is read, and stored nowhere.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=name
	// +optional
	Values []NamedValue `json:"values,omitempty"`

	// Cross reads other objects of the cluster, from a cache that watches keep.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	Cross []CrossSource `json:"cross,omitempty"`

	// External calls HTTP services.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	External []ExternalCall `json:"external,omitempty"`

	// Gate stands before each declaration of this box.
	Gate `json:",inline"`

	// OnCreate makes objects once, before a resource is Active. The keys are the plurals of kinds, such as deployments, services or
	// pvcs, and resources for any kind. Each holds a list of declarations, whose short fields `orkestra explain KEY` shows.
	// +optional
	OnCreate ResourceGroup `json:"onCreate,omitempty"`

	// OnReconcile makes objects and keeps them corrected. The keys are the plurals of kinds, such as deployments, services or pvcs,
	// and resources for any kind. Each holds a list of declarations, whose short fields `orkestra explain KEY` shows.
	// +optional
	OnReconcile ResourceGroup `json:"onReconcile,omitempty"`

	// OnDelete makes objects, such as clean-up Jobs, before a deleted resource is let go. The keys are the plurals of kinds, such as
	// jobs, and resources for any kind. Each holds a list of declarations, whose short fields `orkestra explain KEY` shows.
	// +optional
	OnDelete ResourceGroup `json:"onDelete,omitempty"`

	// Deletion says how onDelete runs.
	// +optional
	Deletion *DeletionSpec `json:"deletion,omitempty"`

	// Providers makes what is not in the cluster, such as buckets and databases, by the providers that are compiled into the manager.
	// +optional
	Providers ProviderResources `json:"providers,omitempty"`

	// Status says what is written to the status of a resource.
	// +optional
	Status *StatusSpec `json:"status,omitempty"`
}

// NormalizeSpec computes fields of the working copy.
type NormalizeSpec struct {
	// Spec maps a path below spec to a template. Each sees the resource as stored. null removes the field.
	// +kubebuilder:validation:MaxProperties=128
	// +optional
	Spec map[string]apiextensionsv1.JSON `json:"spec,omitempty"`
}

// MutationSpec sets fields of the working copy.
type MutationSpec struct {
	// Rules run in their order. Each sets one field: default when it is absent, override always.
	// +kubebuilder:validation:MaxItems=128
	// +listType=atomic
	// +optional
	Rules []MutationRule `json:"rules,omitempty"`
}

// MutationRule sets one field: default when it is absent, override always.
type MutationRule struct {
	// Field is a path below spec.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Field string `json:"field"`
	// Default is set when the field is absent; any JSON value; strings may be templates. 0, false and "" are values.
	// +optional
	Default *apiextensionsv1.JSON `json:"default,omitempty"`
	// Override is always set; any JSON value; strings may be templates.
	// +optional
	Override *apiextensionsv1.JSON `json:"override,omitempty"`
	// Admission Required makes it a mistake if the API server can't set the default. It needs spec.admission.mutation.
	// +optional
	Admission RuleAdmission `json:"admission,omitempty"`
	Gate      `json:",inline"`
}

// ValidationSpec says which resources are wrong.
type ValidationSpec struct {
	// Rules are all evaluated, and every one that is broken is named.
	// +kubebuilder:validation:MaxItems=128
	// +listType=atomic
	// +optional
	Rules []ValidationRule `json:"rules,omitempty"`
}

// ValidationAction says what a broken rule does.
//
// +kubebuilder:validation:Enum=deny;warn
type ValidationAction string

// The actions of a validation rule.
const (
	// ValidationDeny stops the cycle.
	ValidationDeny ValidationAction = "deny"
	// ValidationWarn sends an event and goes on.
	ValidationWarn ValidationAction = "warn"
)

// ValidationRule is a condition that must hold.
type ValidationRule struct {
	Test `json:",inline"`
	// Message is what the user reads when the rule is broken.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
	// Action is what a broken rule does.
	// +kubebuilder:default=deny
	// +optional
	Action ValidationAction `json:"action,omitempty"`
	// Admission Required makes it a mistake if the API server can't enforce the rule. It needs spec.admission.validation.
	// +optional
	Admission RuleAdmission `json:"admission,omitempty"`
	Gate      `json:",inline"`
}

// NamedValue is something that a box computes once and reads in several places, or builds of several parts. It has exactly one of value and cel.
type NamedValue struct {
	// Name is what templates say after .values.
	// +kubebuilder:validation:Pattern=`^[a-z][A-Za-z0-9]*$`
	// +kubebuilder:validation:MaxLength=63
	// +required
	Name string `json:"name"`
	// Value is a template, or a list or an object whose texts may be templates. A template that is a single expression keeps its type.
	// +optional
	Value *apiextensionsv1.JSON `json:"value,omitempty"`
	// CEL is an expression that yields the value: a list or a map as well. It sees the resource as self.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	CEL string `json:"cel,omitempty"`
}

// CrossSource reads other objects of the cluster from a watch cache.
//
// +kubebuilder:validation:XValidation:rule="has(self.box) != has(self.kind)",message="give exactly one of box and kind"
type CrossSource struct {
	// Name is what templates say after .cross.
	// +kubebuilder:validation:Pattern=`^[a-z][A-Za-z0-9]*$`
	// +kubebuilder:validation:MaxLength=63
	// +required
	Name string `json:"name"`
	// Box is a box whose resources are read.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Box string `json:"box,omitempty"`
	// APIVersion is the group and version of kind.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`
	// Kind is a kind that is read.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Kind string `json:"kind,omitempty"`
	// Selector says which objects.
	// +optional
	Selector CrossSelector `json:"selector,omitzero"`
	// Optional sources may be absent. Without it, a new resource waits for what is absent, or for a list that is empty; of one
	// that is Active, only what reads the source waits.
	// +optional
	Optional bool `json:"optional,omitempty"`
}

// CrossSelector says which objects a cross source reads.
type CrossSelector struct {
	// Name of one object; may be a template. With it, .cross.<name> is the object; without it, a list.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Name string `json:"name,omitempty"`
	// Namespace of the objects. Default: the resource's; for a cluster-scoped one that reads a list, all. A template may only
	// lead into a namespace that lets the resource in: annotation orkestra.orkspace.io/allow-from.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// MatchLabels that the objects must have: texts by name, which may be templates, or one template that gives them. Null is left out.
	// +optional
	MatchLabels *apiextensionsv1.JSON `json:"matchLabels,omitempty"`
	// MatchExpressions that the labels of the objects must meet, besides matchLabels.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	MatchExpressions []LabelExpression `json:"matchExpressions,omitempty"`
}

// LabelExpression says what a label must be.
type LabelExpression struct {
	// Key of the label.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +required
	Key string `json:"key"`
	// Operator is In, NotIn, Exists or DoesNotExist.
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	// +required
	Operator metav1.LabelSelectorOperator `json:"operator"`
	// Values of In and NotIn; each may be a template.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=1024
	// +listType=atomic
	// +optional
	Values []string `json:"values,omitempty"`
}

// ExternalCall calls an HTTP service.
type ExternalCall struct {
	// Name is what templates say after .external.
	// +kubebuilder:validation:Pattern=`^[a-z][A-Za-z0-9]*$`
	// +kubebuilder:validation:MaxLength=63
	// +required
	Name string `json:"name"`
	// Method is the HTTP method. GET and HEAD are sent in every cycle that is evaluated, all others once per generation.
	// +kubebuilder:validation:Enum=GET;HEAD;POST;PUT;PATCH;DELETE
	// +kubebuilder:default=GET
	// +optional
	Method string `json:"method,omitempty"`
	// URL may hold templates, after the slash that ends its host.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	// +required
	URL string `json:"url"`
	// Query parameters: texts by name, which may be templates, or one template that gives them. Null is left out.
	// +optional
	Query *apiextensionsv1.JSON `json:"query,omitempty"`
	// Headers of the request: texts by name, which may be templates, or one template that gives them. Null is left out.
	// +optional
	Headers *apiextensionsv1.JSON `json:"headers,omitempty"`
	// Body is text, or any JSON value; strings may be templates. Not with GET and HEAD.
	// +optional
	Body *apiextensionsv1.JSON `json:"body,omitempty"`
	// Auth says which credentials are sent.
	// +optional
	Auth *ExternalAuth `json:"auth,omitempty"`
	// CABundle verifies the server, in PEM. Its key defaults to ca.crt.
	// +optional
	CABundle *SecretKeyReference `json:"caBundle,omitempty"`
	// Timeout of one attempt.
	// +kubebuilder:default="10s"
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// Retries after the first attempt.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10
	// +kubebuilder:default=2
	// +optional
	Retries *int32 `json:"retries,omitempty"`
	// ExpectedStatus lists the answers that count as success. Default: 200.
	// +kubebuilder:validation:MaxItems=32
	// +listType=set
	// +optional
	ExpectedStatus []int32 `json:"expectedStatus,omitempty"`
	// CacheFor is how long an answer is used again; at least 1s. Default: an answer is used once.
	// +optional
	CacheFor *metav1.Duration `json:"cacheFor,omitempty"`
	// OnError says what a failed call does.
	// +kubebuilder:validation:Enum=Fail;Continue
	// +kubebuilder:default=Fail
	// +optional
	OnError string `json:"onError,omitempty"`
	Gate    `json:",inline"`
}

// ExternalAuth says which credentials a call sends.
type ExternalAuth struct {
	// Type of the credentials.
	// +kubebuilder:validation:Enum=Bearer;Basic;Header
	// +kubebuilder:default=Bearer
	// +optional
	Type string `json:"type,omitempty"`
	// Header is the header's name for type Header.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Header string `json:"header,omitempty"`
	// SecretRef names the Secret that holds the credentials. Its key defaults to token for Bearer, must be given for Header, and holds
	// user:password for Basic, which without it reads the keys username and password.
	// +required
	SecretRef SecretKeyReference `json:"secretRef"`
}

// SecretKeyReference names a key of a Secret.
type SecretKeyReference struct {
	// Name of the Secret; may be a template.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Name string `json:"name"`
	// Namespace of the Secret. Default: the resource's.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Key in the Secret's data.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Key string `json:"key,omitempty"`
}

// ChildDeletion says in which order the children of a deleted resource go.
// +kubebuilder:validation:Enum=GarbageCollector;Reverse
type ChildDeletion string

// The orders of deletion.
const (
	// DeletedByCollector leaves children to the garbage collector of Kubernetes, in no order. This is the default.
	DeletedByCollector ChildDeletion = "GarbageCollector"
	// DeletedInReverse deletes a child when those that read it are gone.
	DeletedInReverse ChildDeletion = "Reverse"
)

// DeletionSpec says how onDelete runs, and how children go.
type DeletionSpec struct {
	// Children says how they go with their resource, and when they are pruned. `Reverse`: a child is deleted when those whose declarations
	// read it are gone. They have no owner references then. Default: `GarbageCollector`, which knows no order.
	// +optional
	Children ChildDeletion `json:"children,omitempty"`
	// Ordered runs the declarations as declared, each done before the next.
	// +optional
	Ordered bool `json:"ordered,omitempty"`
	// Timeout for all of onDelete. When it is over, an event says so and the clean-up is tried further: the resource is not let go
	// before it has succeeded.
	// +kubebuilder:default="5m"
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// ChildrenFirst gives children owner references although onDelete exists.
	// +optional
	ChildrenFirst bool `json:"childrenFirst,omitempty"`
}

// StatusSpec says what is written to the status of a resource.
type StatusSpec struct {
	// Fields are written below status, in addition to conditions and observedGeneration.
	// +kubebuilder:validation:MaxItems=128
	// +listType=atomic
	// +optional
	Fields []StatusField `json:"fields,omitempty"`
	// Ready says when Ready is True: Reconciled: after a successful reconcile; Current: and all children are current.
	// +kubebuilder:validation:Enum=Reconciled;Current
	// +kubebuilder:default=Reconciled
	// +optional
	Ready ReadyPolicy `json:"ready,omitempty"`
	// ReadyWhen lists further conditions for Ready=True.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	ReadyWhen []Condition `json:"readyWhen,omitempty"`
}

// ReadyPolicy says when a resource is Ready.
type ReadyPolicy string

// The ready policies.
const (
	ReadyReconciled ReadyPolicy = "Reconciled"
	ReadyCurrent    ReadyPolicy = "Current"
)

// StatusField is one field of a resource's status.
type StatusField struct {
	// Path below status.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Path string `json:"path"`
	// Value is any JSON value; strings may be templates. A value whose path is absent is left out.
	// +required
	Value apiextensionsv1.JSON `json:"value"`
	Gate  `json:",inline"`
}
