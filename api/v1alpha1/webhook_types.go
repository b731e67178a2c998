package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HookWebhook is a service that is called as a hook: it is sent a resource and its children, and answers which children there should be, and
// what the status shows.
// +kubebuilder:validation:XValidation:rule="has(self.url) != has(self.service)",message="give exactly one of url and service"
type HookWebhook struct {
	// URL of the webhook, beginning with https://. It is literal. A host whose address is not public has to be allowed by the operator of the
	// cluster, as for external calls.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	URL string `json:"url,omitempty"`
	// Service of this cluster that is called in place of a URL.
	// +optional
	Service *WebhookService `json:"service,omitempty"`
	// Path that is called, put behind the URL, or behind the Service. It begins with a slash. Default: none.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Path string `json:"path,omitempty"`
	// FinalizePath is called in its place in the phase Delete. Default: the same path.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	FinalizePath string `json:"finalizePath,omitempty"`
	// Protocol of request and answer. Metacontroller: that of a CompositeController, so that a webhook that was written for it runs unchanged.
	// +kubebuilder:default=Orkestra
	// +optional
	Protocol WebhookProtocol `json:"protocol,omitempty"`
	// Phases in which the webhook is called. Delete holds a resource that is being deleted until the webhook has done its part. With
	// Metacontroller, Reconcile is the sync hook and Delete the finalize hook, and there are no others. Default: Reconcile.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	// +listType=set
	// +optional
	Phases []WebhookPhase `json:"phases,omitempty"`
	// CABundle verifies the server, in PEM. Its key defaults to ca.crt. Default: the authorities that the system trusts.
	// +optional
	CABundle *SecretKeyReference `json:"caBundle,omitempty"`
	// Headers of the request: texts by name, which may be templates, or one template that gives them. Null is left out.
	// +optional
	Headers *apiextensionsv1.JSON `json:"headers,omitempty"`
	// Auth says which credentials are sent. Not over plain HTTP.
	// +optional
	Auth *ExternalAuth `json:"auth,omitempty"`
	// Secrets are sent with each request: each names a Secret and, which it must, a key. Not over plain HTTP. Default: of Secrets nothing
	// is sent but that they are there.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	Secrets []SecretKeyReference `json:"secrets,omitempty"`
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
	// ResyncAfter is when the webhook is asked again although nothing has changed of what it is sent; at least 1s. Default: it is not.
	// +optional
	ResyncAfter *metav1.Duration `json:"resyncAfter,omitempty"`
}

// WebhookService names a port of a Service. It is called at its cluster IP, so it must have one, and a selector.
type WebhookService struct {
	// Name of the Service. It is literal.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Name string `json:"name"`
	// Namespace of the Service: that of the account of the box, or one that the operator of the cluster allows (--webhook-services).
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Namespace string `json:"namespace"`
	// Port of the Service, by its number.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:default=443
	// +optional
	Port int32 `json:"port,omitempty"`
	// Scheme is https, or http: then nothing of Secrets is sent.
	// +kubebuilder:validation:Enum=https;http
	// +kubebuilder:default=https
	// +optional
	Scheme string `json:"scheme,omitempty"`
}

// WebhookProtocol says in which form a webhook is asked, and answers.
// +kubebuilder:validation:Enum=Orkestra;Metacontroller
type WebhookProtocol string

// The protocols.
const (
	// ProtocolOrkestra is Orkestra's own. This is the default.
	ProtocolOrkestra WebhookProtocol = "Orkestra"
	// ProtocolMetacontroller is that of the hooks of a CompositeController of Metacontroller.
	ProtocolMetacontroller WebhookProtocol = "Metacontroller"
)

// WebhookPhase is a moment of a resource's life.
// +kubebuilder:validation:Enum=Create;Update;Reconcile;Delete
type WebhookPhase string
