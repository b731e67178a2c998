// Package v1 has the Go types of the kind Proxy, as its CRD defines it.
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion of the kind.
var GroupVersion = schema.GroupVersion{Group: "samples.orkspace.io", Version: "v1"}

// AddToScheme adds the types to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &Proxy{}, &ProxyList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

// Proxy passes requests on to a server.
type Proxy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              ProxySpec   `json:"spec"`
	Status            ProxyStatus `json:"status,omitempty"`
}

// ProxySpec is what the author of a Proxy wants.
type ProxySpec struct {
	// Upstream is the server, such as http://shop:8080.
	Upstream string `json:"upstream"`
	// Replicas is how many pods there are.
	Replicas int32 `json:"replicas,omitempty"`
}

// ProxyStatus is what the reconciler shows.
type ProxyStatus struct {
	ReadyReplicas      int32              `json:"readyReplicas,omitempty"`
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// ProxyList is a list of Proxies.
type ProxyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Proxy `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (p *Proxy) DeepCopyObject() runtime.Object {
	out := *p
	p.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.Conditions = nil
	for _, c := range p.Status.Conditions {
		out.Status.Conditions = append(out.Status.Conditions, *c.DeepCopy())
	}
	return &out
}

// DeepCopyObject implements runtime.Object.
func (l *ProxyList) DeepCopyObject() runtime.Object {
	out := &ProxyList{TypeMeta: l.TypeMeta}
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	for i := range l.Items {
		if p, ok := l.Items[i].DeepCopyObject().(*Proxy); ok {
			out.Items = append(out.Items, *p)
		}
	}
	return out
}
