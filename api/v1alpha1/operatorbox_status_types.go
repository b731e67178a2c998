package v1alpha1

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

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

	// ServiceAccount is the account as which the box acts. Its UID is that of the account which was there when the box first named it, or
	// when somebody confirmed another: an account that was deleted and made again has another UID, and is not used.
	// +optional
	ServiceAccount *ServiceAccountStatus `json:"serviceAccount,omitempty"`

	// ManagedKinds lists every kind that the box has made children of and that is still watched.
	// +listType=atomic
	// +optional
	ManagedKinds []GroupVersionKind `json:"managedKinds,omitempty"`

	// WatchedNamespaces lists the namespaces in which resources are watched: those that the spec selects, and those that it selected
	// before and in which resources still carry Orkestra's marks. "*" stands for all.
	// +listType=atomic
	// +optional
	WatchedNamespaces []string `json:"watchedNamespaces,omitempty"`

	// RequiredRules are the rights that the box needs: those of its account, or of the manager where it names none. "orkestra rbac" makes
	// roles of them.
	// +listType=atomic
	// +optional
	RequiredRules []RequiredRule `json:"requiredRules,omitempty"`

	// Admission says what the API server enforces. Absent: the box does not ask for it.
	// +optional
	Admission *AdmissionStatus `json:"admission,omitempty"`

	// Resources counts the resources of the box.
	// +optional
	Resources ResourceCounts `json:"resources"`

	// Conditions: Ready, Reconciling, Stalled, Compiled, CRDEstablished, PermissionsGranted, StatusWritable, AdmissionEnforced where the box
	// has admission, and PoliciesInstalled where the manager relies on policies.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ServiceAccountStatus is the account as which a box acts.
type ServiceAccountStatus struct {
	// Name is the account's name.
	Name string `json:"name"`
	// Namespace is the account's namespace.
	Namespace string `json:"namespace"`
	// UID is the account's UID.
	UID types.UID `json:"uid"`
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
	// Waiting counts those whose condition Reconciling is True: something is under way. One that fails is not among them, also while it is tried again.
	Waiting int32 `json:"waiting"`
	// LeftBehind counts children of a former box that no declaration stands for.
	// +optional
	LeftBehind int32 `json:"leftBehind,omitempty"`
}

// RequiredRule is a right that a box needs, and where.
type RequiredRule struct {
	rbacv1.PolicyRule `json:",inline"`

	// Namespaces in which the right is needed. Empty: in all, or what it is about is in no namespace.
	// +listType=atomic
	// +optional
	Namespaces []string `json:"namespaces,omitempty"`
}
