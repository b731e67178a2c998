// Package v1 has the Go types of the kind Database, as its CRD defines it.
package v1

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion of the kind.
var GroupVersion = schema.GroupVersion{Group: "samples.orkspace.io", Version: "v1"}

// AddToScheme adds the types to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &Database{}, &DatabaseList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

// Database is a PostgreSQL server with its users.
type Database struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              DatabaseSpec   `json:"spec"`
	Status            DatabaseStatus `json:"status,omitempty"`
}

// DatabaseSpec is what the author of a Database wants.
type DatabaseSpec struct {
	Version        string            `json:"version,omitempty"`
	Memory         resource.Quantity `json:"memory"`
	Storage        string            `json:"storage,omitempty"`
	MaxConnections int64             `json:"maxConnections,omitempty"`
	Users          []User            `json:"users,omitempty"`
}

// User may log in, and owns schemas.
type User struct {
	Name    string   `json:"name"`
	Schemas []string `json:"schemas,omitempty"`
}

// DatabaseStatus is what the hook shows.
type DatabaseStatus struct {
	SharedBuffers string `json:"sharedBuffers,omitempty"`
	WorkMemory    string `json:"workMemory,omitempty"`
	Users         int64  `json:"users,omitempty"`
}

// DatabaseList is a list of Databases.
type DatabaseList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Database `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (d *Database) DeepCopyObject() runtime.Object {
	out := *d
	d.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Memory = d.Spec.Memory.DeepCopy()
	out.Spec.Users = slices.Clone(d.Spec.Users)
	for i, u := range out.Spec.Users {
		out.Spec.Users[i].Schemas = slices.Clone(u.Schemas)
	}
	return &out
}

// DeepCopyObject implements runtime.Object.
func (l *DatabaseList) DeepCopyObject() runtime.Object {
	out := *l
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = make([]Database, 0, len(l.Items))
	for i := range l.Items {
		if d, ok := l.Items[i].DeepCopyObject().(*Database); ok {
			out.Items = append(out.Items, *d)
		}
	}
	return &out
}
