package v1alpha1

import (
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// OperatorBox turns a CRD into a running operator: it says which CRD, and what is made, corrected and reported
// for every resource of it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,path=operatorboxes,singular=operatorbox,shortName=obox,categories=orkestra
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="CRD",type=string,JSONPath=`.status.crd.name`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Revision",type=string,JSONPath=`.status.revision`
// +kubebuilder:printcolumn:name="Resources",type=integer,JSONPath=`.status.resources.total`
// +kubebuilder:printcolumn:name="Failing",type=integer,JSONPath=`.status.resources.failing`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="a box's name is at most 63 characters: it becomes a label value"
type OperatorBox struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says what the box does. This version acts on every field, but for those that say that they are not supported yet: these it
	// refuses.
	// +required
	Spec OperatorBoxSpec `json:"spec"`

	// Status says what runs, and how it fares.
	// An object that has not been reconciled yet observes generation -1, so that tools which wait do not take it for one that is done.
	// +kubebuilder:default={"observedGeneration":-1}
	// +optional
	Status OperatorBoxStatus `json:"status,omitempty"`
}

// OperatorBoxList is a list of boxes.
//
// +kubebuilder:object:root=true
type OperatorBoxList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []OperatorBox `json:"items"`
}

// OperatorBoxSpec says which CRD a box serves, how it runs, and the steps of its pipeline in their order.
type OperatorBoxSpec struct {
	// CRD names the CRD whose resources this box reconciles, or holds its definition.
	// +required
	CRD CRDReference `json:"crd"`

	// Suspend stops the sub-controller and keeps everything it made. Deletions are still served.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// Namespaces says in which namespaces resources are reconciled. Default: all.
	// +optional
	Namespaces NamespaceSelection `json:"namespaces,omitzero"`

	// Selector says which resources are reconciled, by their labels. Default: all.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// CommonLabels are put on every child.
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	CommonLabels map[string]LimitedString `json:"commonLabels,omitempty"`

	// CommonAnnotations are put on every child.
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	CommonAnnotations map[string]LimitedString `json:"commonAnnotations,omitempty"`

	// ServiceAccountRef names the account that writes are made as. Default: the manager's own. Not supported yet: this version refuses it.
	// +optional
	ServiceAccountRef *ServiceAccountReference `json:"serviceAccountRef,omitempty"`

	RuntimeSpec `json:",inline"`

	// Reconciler says which Go code takes part, for boxes that are compiled in. Not supported yet, but for default: true.
	// +optional
	Reconciler *ReconcilerSpec `json:"reconciler,omitempty"`

	// APITypes names the Go types of the resource, for typed Go hooks. Not supported yet: this version refuses it.
	// +optional
	APITypes *APITypes `json:"apiTypes,omitempty"`

	// Finalizers are put on every resource besides Orkestra's own, and removed with it.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	Finalizers []ShortString `json:"finalizers,omitempty"`

	PipelineSpec `json:",inline"`

	// RollBackOnError puts children back to the last good state when a cycle fails after it changed them.
	// +optional
	RollBackOnError bool `json:"rollBackOnError,omitempty"`

	// Rollback runs templates of its own when resources fail.
	// +optional
	Rollback *RollbackSpec `json:"rollback,omitempty"`

	// RevisionHistoryLimit is the number of old revisions of this box that are kept.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +kubebuilder:default=10
	// +optional
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`
}

// CRDReference names a CRD of the cluster, or holds one that the box installs.
//
// +kubebuilder:validation:XValidation:rule="has(self.name) != has(self.definition)",message="give exactly one of name and definition"
// +kubebuilder:validation:XValidation:rule="has(self.name) == has(oldSelf.name)",message="the choice between name and definition is immutable; make another box"
// +kubebuilder:validation:XValidation:rule="!has(self.name) || !has(oldSelf.name) || self.name == oldSelf.name",message="name is immutable; make another box"
// +kubebuilder:validation:XValidation:rule="has(self.definition) || (self.adopt == 'Never' && self.deletionPolicy == 'Retain')",message="adopt and deletionPolicy go with definition"
type CRDReference struct {
	// Name is the CRD's name, <plural>.<group>. Immutable.
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$`
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Name string `json:"name,omitempty"`

	// Version is the served version to work in. Default: the storage version, chosen once.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Version string `json:"version,omitempty"`

	// Definition is the spec of a CustomResourceDefinition that the box installs and keeps up to date.
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Definition *apiextensionsv1.JSON `json:"definition,omitempty"`

	// Adopt says whether an existing CRD may be taken over.
	// +kubebuilder:default=Never
	// +optional
	Adopt AdoptPolicy `json:"adopt,omitempty"`

	// DeletionPolicy says what deleting the box does to a CRD that it installed. Delete deletes all resources first.
	// +kubebuilder:validation:Enum=Retain;Delete
	// +kubebuilder:default=Retain
	// +optional
	DeletionPolicy CRDDeletionPolicy `json:"deletionPolicy,omitempty"`
}

// AdoptPolicy says whether something that exists and that nobody controls may be taken over.
//
// +kubebuilder:validation:Enum=Never;IfUnowned
type AdoptPolicy string

// The adopt policies.
const (
	AdoptNever     AdoptPolicy = "Never"
	AdoptIfUnowned AdoptPolicy = "IfUnowned"
)

// CRDDeletionPolicy says what deleting a box does to a CRD that it installed.
type CRDDeletionPolicy string

// The deletion policies of an installed CRD.
const (
	CRDRetain CRDDeletionPolicy = "Retain"
	CRDDelete CRDDeletionPolicy = "Delete"
)

// NamespaceSelection selects namespaces by glob patterns (*, ?, [a-z]).
type NamespaceSelection struct {
	// Include lists patterns of which one must match. Empty: all namespaces.
	// +kubebuilder:validation:MaxItems=256
	// +listType=atomic
	// +optional
	Include []ShortString `json:"include,omitempty"`

	// Exclude lists patterns of which none may match. It wins over include.
	// +kubebuilder:validation:MaxItems=256
	// +listType=atomic
	// +optional
	Exclude []ShortString `json:"exclude,omitempty"`
}

// ServiceAccountReference names a ServiceAccount.
type ServiceAccountReference struct {
	// Name is the account's name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`

	// Namespace is the account's namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Namespace string `json:"namespace"`
}

// ShortString is a string of at most 253 characters.
//
// +kubebuilder:validation:MaxLength=253
type ShortString string

// LimitedString is a string of at most 4096 characters.
//
// +kubebuilder:validation:MaxLength=4096
type LimitedString string

// OperatorBoxStatus says what runs of a box, and how it fares.
type OperatorBoxStatus struct {
	// ObservedGeneration is the generation of the spec that this status speaks of. That spec runs if the condition Ready is True; if it
	// does not compile, or a right is missing, the revision of an earlier generation goes on, and the condition Compiled names it.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Revision names the plan that runs. Both are written at once: with the condition Ready True, it is that of the observed generation.
	// +optional
	Revision string `json:"revision,omitempty"`
	// RevisionHash is the SHA-256 of the spec that the revision holds. A kept revision of another content is not gone back to.
	// +optional
	RevisionHash string `json:"revisionHash,omitempty"`

	// CRD is the CRD that is served.
	// +optional
	CRD CRDStatus `json:"crd,omitzero"`

	// ManagedKinds lists every kind that the box has made children of and that is still watched.
	// +listType=atomic
	// +optional
	ManagedKinds []GroupVersionKind `json:"managedKinds,omitempty"`

	// WatchedNamespaces lists the namespaces in which resources are watched: those that the spec selects, and those that it selected
	// before and in which resources still carry Orkestra's marks. "*" stands for all.
	// +listType=atomic
	// +optional
	WatchedNamespaces []string `json:"watchedNamespaces,omitempty"`

	// RequiredRules are the rights that the box needs.
	// +listType=atomic
	// +optional
	RequiredRules []rbacv1.PolicyRule `json:"requiredRules,omitempty"`

	// Resources counts the resources of the box.
	// +optional
	Resources ResourceCounts `json:"resources"`

	// Conditions: Ready, Reconciling, Stalled, Compiled, CRDEstablished, PermissionsGranted, StatusWritable.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// CRDStatus is the CRD that a box serves.
type CRDStatus struct {
	// Name is the CRD's name.
	// +optional
	Name string `json:"name,omitempty"`
	// Version is the version that is worked in.
	// +optional
	Version string `json:"version,omitempty"`
	// Kind is the kind of the resources.
	// +optional
	Kind string `json:"kind,omitempty"`
	// Established says whether the API server serves it.
	// +optional
	Established bool `json:"established,omitempty"`
}

// GroupVersionKind names a kind.
type GroupVersionKind struct {
	// Group is the API group; empty for the core group.
	// +optional
	Group string `json:"group,omitempty"`
	// Version is the API version.
	Version string `json:"version"`
	// Kind is the kind.
	Kind string `json:"kind"`
}

// ResourceCounts counts resources by what they show.
type ResourceCounts struct {
	// Total is the number of resources that the box selects.
	Total int32 `json:"total"`
	// Ready counts those that have settled: their condition Ready is True, and Reconciling is not. One that is Ready while something is
	// still under way is not among them.
	Ready int32 `json:"ready"`
	// Failing counts those whose last reconcile failed, of which a child has failed, or that are rolled back.
	Failing int32 `json:"failing"`
	// Waiting counts those whose condition Reconciling is True: something is under way. One that fails and is tried again is among them.
	Waiting int32 `json:"waiting"`
	// LeftBehind counts children of a former box that no declaration stands for.
	// +optional
	LeftBehind int32 `json:"leftBehind,omitempty"`
}
