package pipeline

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/engine/apply"
)

// Inventory reads the children of resources from the watch cache. What it gives is shared memory: read only.
type Inventory interface {
	// Kinds are all kinds that the box watches, in a fixed order.
	Kinds() []schema.GroupVersionKind
	// Owned gives the children of one kind of the resource with that UID, sorted by namespace and name.
	Owned(kind schema.GroupVersionKind, owner types.UID) []*unstructured.Unstructured
}

// Applier writes children.
type Applier interface {
	// Apply makes or corrects a child; it sends nothing where nothing differs.
	Apply(ctx context.Context, owner apply.Owner, child apply.Child) (apply.Outcome, error)
	// Keep makes sure that a living child that is made once says whose it is, and changes nothing else of it. Of the child
	// that is given, only how it is to be owned is read.
	Keep(ctx context.Context, owner apply.Owner, child apply.Child, live *unstructured.Unstructured) (apply.Outcome, error)
	// Delete deletes a child, unless it changed since it was read.
	Delete(ctx context.Context, child *unstructured.Unstructured) error
	// Orphan takes labels and owner references off a child and leaves it.
	Orphan(ctx context.Context, owner apply.Owner, child *unstructured.Unstructured) error
}

// Marker writes the metadata of resources: finalizers, label and annotations.
type Marker interface {
	// Mark puts marks on a resource; the answer is the resource as it is then.
	Mark(ctx context.Context, resource *unstructured.Unstructured, marks apply.Marks) (*unstructured.Unstructured, error)
	// Finish removes finalizers from a deleted resource.
	Finish(ctx context.Context, resource *unstructured.Unstructured, finalizers []string) error
}

// Kinds resolves a kind to how the API server serves it.
type Kinds interface {
	// Namespaced says whether objects of that kind live in namespaces; an error where the kind is not installed.
	Namespaced(kind schema.GroupVersionKind) (bool, error)
}

// Ports are all side effects of a run.
type Ports struct {
	Inventory Inventory
	Applier   Applier
	Marker    Marker
	Kinds     Kinds
}
