package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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

	// Spec says what the box does. This version acts on every field.
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
//
// +kubebuilder:validation:XValidation:rule="!has(self.crd.kind) || has(self.selector) && (has(self.selector.matchLabels) && size(self.selector.matchLabels) > 0 || has(self.selector.matchExpressions) && size(self.selector.matchExpressions) > 0) || has(self.annotationSelector) && (has(self.annotationSelector.matchAnnotations) && size(self.annotationSelector.matchAnnotations) > 0 || has(self.annotationSelector.matchExpressions) && size(self.annotationSelector.matchExpressions) > 0)",message="with crd.kind, selector or annotationSelector says which objects are served: give matchLabels, matchAnnotations or matchExpressions"
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

	// Selector says which resources are reconciled, by their labels. Default: all. With crd.kind, it or annotationSelector is required, and the
	// API server evaluates it: objects that it does not select are not even watched.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// AnnotationSelector says which objects of others are served, by their annotations. Only with crd.kind; beside selector, both must hold. The
	// manager evaluates it: of all objects that selector selects it is sent the metadata, and reads those whole that both select.
	// +optional
	AnnotationSelector *AnnotationSelector `json:"annotationSelector,omitempty"`

	// CommonLabels are put on every child: texts by name, which may be templates, or one template that gives them. Null is left out.
	// +optional
	CommonLabels *apiextensionsv1.JSON `json:"commonLabels,omitempty"`

	// CommonAnnotations are put on every child: texts by name, which may be templates, or one template that gives them. Null is left out.
	// +optional
	CommonAnnotations *apiextensionsv1.JSON `json:"commonAnnotations,omitempty"`

	// ServiceAccountRef names the account as which the box acts: it makes its children, and writes to the resources, with the rights of that
	// account alone. Default: the manager's own.
	// +optional
	ServiceAccountRef *ServiceAccountReference `json:"serviceAccountRef,omitempty"`

	RuntimeSpec `json:",inline"`

	// Reconciler says which Go code takes part. It is compiled into the manager. Default: none does.
	// +optional
	Reconciler *ReconcilerSpec `json:"reconciler,omitempty"`

	// APITypes names the Go type of the resource: that which the function of reconciler.hooks takes, by default *unstructured.Unstructured; or by
	// which the manager must know the kind of a box with a constructor.
	// +optional
	APITypes *APITypes `json:"apiTypes,omitempty"`

	// Finalizers are put on every resource besides Orkestra's own, and removed with it.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	Finalizers []ShortString `json:"finalizers,omitempty"`

	PipelineSpec `json:",inline"`

	// Admission has the API server enforce rules of validation and mutation itself. Default: they are checked in the reconcile alone.
	// +optional
	Admission *AdmissionSpec `json:"admission,omitempty"`

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

// CRDReference names a CRD of the cluster, holds one that the box installs, or names a kind of others, some of whose objects the box serves.
//
// +kubebuilder:validation:XValidation:rule="[has(self.name), has(self.definition), has(self.kind)].filter(given, given).size() == 1",message="give exactly one of name, definition, and apiVersion with kind"
// +kubebuilder:validation:XValidation:rule="has(self.name) == has(oldSelf.name) && has(self.kind) == has(oldSelf.kind)",message="the choice between name, definition and kind is immutable; make another box"
// +kubebuilder:validation:XValidation:rule="has(self.kind) == has(self.apiVersion)",message="apiVersion and kind go together"
// +kubebuilder:validation:XValidation:rule="has(self.kind) || !has(self.plural)",message="plural goes with apiVersion and kind"
// +kubebuilder:validation:XValidation:rule="!has(self.kind) || !has(self.version)",message="with kind, apiVersion says the version"
// +kubebuilder:validation:XValidation:rule="!has(self.kind) || !has(oldSelf.kind) || self.kind == oldSelf.kind && self.apiVersion.split('/').size() == oldSelf.apiVersion.split('/').size() && (self.apiVersion.split('/').size() == 1 || self.apiVersion.split('/')[0] == oldSelf.apiVersion.split('/')[0])",message="kind and its group are immutable; make another box"
// +kubebuilder:validation:XValidation:rule="!has(self.name) || !has(oldSelf.name) || self.name == oldSelf.name",message="name is immutable; make another box"
// +kubebuilder:validation:XValidation:rule="has(self.definition) || (self.adopt == 'Never' && self.deletionPolicy == 'Retain')",message="adopt and deletionPolicy go with definition"
type CRDReference struct {
	// Name is the CRD's name, <plural>.<group>. Immutable.
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$`
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Name string `json:"name,omitempty"`

	// APIVersion of a kind of others: apps/v1, or v1. The box is not the operator of that kind: it serves the objects that spec.selector
	// and spec.annotationSelector select, and leaves them as they are.
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?v[0-9]+((alpha|beta)[0-9]+)?$`
	// +kubebuilder:validation:MaxLength=253
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`

	// Kind of others, such as Deployment. Immutable.
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Kind string `json:"kind,omitempty"`

	// Plural under which the kind is served, where it is not the usual one: gateways, of Gateway. Default: the kind in lower case with s (es
	// behind an s, ies in place of a y).
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Plural string `json:"plural,omitempty"`

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
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`

	// Namespace is the account's namespace. It must be one of those that the manager's flag --box-namespaces names.
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	// +required
	Namespace string `json:"namespace"`

	// UID is the one account of this name that is meant. Default: the one that is there when the box first names it. With a UID, an account
	// that was deleted and made again is accepted as soon as the box names its UID.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	// +kubebuilder:validation:Type=string
	UID types.UID `json:"uid,omitempty"`
}

// ShortString is a string of at most 253 characters.
//
// +kubebuilder:validation:MaxLength=253
type ShortString string

// AnnotationSelector selects objects by their annotations. All that it says must hold.
type AnnotationSelector struct {
	// MatchAnnotations are annotations that an object must have, by name, each with exactly this value. A value may be any text.
	// +kubebuilder:validation:MaxProperties=16
	// +optional
	MatchAnnotations map[string]AnnotationValue `json:"matchAnnotations,omitempty"`
	// MatchExpressions that the annotations of an object must meet, besides matchAnnotations.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	MatchExpressions []AnnotationExpression `json:"matchExpressions,omitempty"`
}

// AnnotationValue is what an annotation must be: any text.
// +kubebuilder:validation:MaxLength=1024
type AnnotationValue string

// AnnotationExpression says what an annotation must be.
type AnnotationExpression struct {
	// Key of the annotation.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +required
	Key string `json:"key"`
	// Operator is In, NotIn, Exists or DoesNotExist. An object without the annotation meets NotIn, too.
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	// +required
	Operator metav1.LabelSelectorOperator `json:"operator"`
	// Values of In and NotIn. A value may be any text.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=1024
	// +listType=atomic
	// +optional
	Values []string `json:"values,omitempty"`
}
