package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// ProviderResources holds what a box makes outside of the cluster, by the name of the provider that makes it.
//
// +kubebuilder:validation:MaxProperties=16
// +kubebuilder:validation:XValidation:rule="self.all(k, k.matches('^[a-z][A-Za-z0-9]*$'))",message="the name of a provider begins with a small letter, and holds letters and digits alone"
type ProviderResources map[string]ProviderResourceList

// ProviderResourceList is what one provider makes.
//
// +kubebuilder:validation:MaxItems=64
// +listType=atomic
type ProviderResourceList []ProviderResource

// ProviderResource is one resource of a provider, or with forEach one per item. Besides the fields here it has one more, whose name is
// the kind of the resource, and which holds what is declared of it.
//
// +kubebuilder:pruning:PreserveUnknownFields
type ProviderResource struct {
	ProviderFields `json:",inline"`

	// Kinds holds what is declared, by the kind, as written. A valid resource has exactly one.
	Kinds map[string]apiextensionsv1.JSON `json:"-"`
}

// ProviderFields are the fields that the resources of every provider have.
type ProviderFields struct {
	// ID names the resource: templates read its outputs below .providers.<id>.
	// +kubebuilder:validation:Pattern=`^[a-z][A-Za-z0-9]*$`
	// +kubebuilder:validation:MaxLength=63
	// +required
	ID string `json:"id"`

	// Credentials with which the provider is asked. Default: none are sent.
	// +optional
	Credentials *ProviderCredentials `json:"credentials,omitempty"`

	// Endpoint is the base URL of the service, without a template. Default: the public one. It must be reachable by the rules for external
	// calls.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Endpoint string `json:"endpoint,omitempty"`

	Gate `json:",inline"`

	// WhenFalse says what happens to what is there while the gate is false: Keep or Delete. Default: Keep for gates that wait, else Delete.
	// +optional
	WhenFalse GatePolicy `json:"whenFalse,omitempty"`

	// Optional resources hold nothing back while their gate waits. Default: false.
	// +optional
	Optional bool `json:"optional,omitempty"`

	// ForEach makes one resource for each item.
	// +optional
	ForEach *ForEach `json:"forEach,omitempty"`

	// DeletionPolicy says what happens when no declaration stands for it any more, or the custom resource is deleted: Delete or Orphan.
	// Default: Delete.
	// +optional
	DeletionPolicy ChildDeletionPolicy `json:"deletionPolicy,omitempty"`

	// Adopt says whether one that is there, and that nobody owns, is taken over: Never or IfUnowned. Default: Never.
	// +optional
	Adopt AdoptPolicy `json:"adopt,omitempty"`
}

// ProviderCredentials say with which credentials a provider is asked: those of a Secret, or a token of a ServiceAccount.
//
// +kubebuilder:validation:XValidation:rule="has(self.secretRef) != has(self.webIdentity)",message="wanted either secretRef or webIdentity"
type ProviderCredentials struct {
	// SecretRef names the Secret that holds them. The kind of the resource says under which keys.
	// +optional
	SecretRef *SecretReference `json:"secretRef,omitempty"`

	// WebIdentity has the service give credentials for a token of a ServiceAccount.
	// +optional
	WebIdentity *WebIdentity `json:"webIdentity,omitempty"`
}

// SecretReference names a Secret.
type SecretReference struct {
	// Name of the Secret; may be a template.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Name string `json:"name"`

	// Namespace of the Secret, without a template. Default: the resource's.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// WebIdentity is a ServiceAccount in the namespace of the resource, and the role that its token stands for. The token is made as the
// account of the box, or as the manager, which counts as granting rights.
type WebIdentity struct {
	// ServiceAccountName names the ServiceAccount, without a template.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	ServiceAccountName string `json:"serviceAccountName"`

	// RoleARN is the role that is assumed, without a template.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +required
	RoleARN string `json:"roleARN"`
}

// UnmarshalJSON reads the common fields into their types and keeps all others in Kinds.
func (r *ProviderResource) UnmarshalJSON(b []byte) error {
	fields, rest, err := readShort[ProviderFields](b)
	if err != nil {
		return err
	}
	r.ProviderFields, r.Kinds = fields, rest
	return nil
}

// MarshalJSON writes the common fields and the kind side by side.
func (r ProviderResource) MarshalJSON() ([]byte, error) { return writeShort(r.ProviderFields, r.Kinds) }
