package rollback

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// kept is how many snapshots of a resource are kept.
const kept = 2

// Client writes objects.
type Client interface {
	// Create makes an object that must not exist yet; the answer is the object as it is then.
	Create(ctx context.Context, obj *unstructured.Unstructured) (*unstructured.Unstructured, error)
	// Remove deletes exactly the object that was read. One that is gone is no error.
	Remove(ctx context.Context, obj *unstructured.Unstructured) error
}

// Cache is the watch cache of what belongs to resources. What it gives is shared memory: read only.
type Cache interface {
	// Owned gives the objects of a kind that belong to the resource with that UID.
	Owned(kind schema.GroupVersionKind, owner types.UID) []*unstructured.Unstructured
	// Wrote tells of the answer to a write.
	Wrote(kind schema.GroupVersionKind, obj *unstructured.Unstructured)
	// Gone tells of an object that was deleted.
	Gone(kind schema.GroupVersionKind, obj *unstructured.Unstructured)
}

// Store writes and reads the snapshots of resources. It is safe for concurrent use, but for two writes for one resource.
type Store struct {
	// Client writes.
	Client Client
	// Cache reads. It must hold all objects of Kind.
	Cache Cache
	// Namespace is where the snapshots of cluster-scoped resources are.
	Namespace string
	// Ours says whether Orkestra has written an object.
	Ours func(obj *unstructured.Unstructured) bool
}

// Entry is an object that says it is a snapshot.
type Entry struct {
	// Object that holds it. Shared memory: read only.
	Object *unstructured.Unstructured
	// Snapshot that it holds; empty where Err is set.
	Snapshot Snapshot
	// Err says why the snapshot can't be trusted; nil: it can.
	Err error
}

// Is says whether an object says that it is a snapshot. Such are no children, whatever else their labels say.
func Is(obj *unstructured.Unstructured) bool {
	return obj.GroupVersionKind() == Kind && obj.GetLabels()[v1alpha1.LabelSnapshot] == v1alpha1.True
}

// Of gives the snapshots of a resource, the newest first; also those that can't be trusted.
func (s *Store) Of(resource types.UID) []Entry {
	var entries []Entry
	for _, obj := range s.Cache.Owned(Kind, resource) {
		if !Is(obj) || obj.GetDeletionTimestamp() != nil {
			continue
		}
		e := Entry{Object: obj}
		if !s.Ours(obj) {
			e.Err = fmt.Errorf("it was not written by the field manager %q", v1alpha1.FieldManager)
		} else {
			e.Snapshot, e.Err = decode(obj)
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(numberOf(b.Object), numberOf(a.Object)), cmp.Compare(a.Object.GetName(), b.Object.GetName()))
	})
	return entries
}

// Newest gives the newest snapshot of a resource; nil where it has none.
func (s *Store) Newest(resource types.UID) *Entry {
	if all := s.Of(resource); len(all) > 0 {
		return &all[0]
	}
	return nil
}

// Has says whether the newest snapshot of a resource that can be trusted is that of a generation under a revision of the box.
func (s *Store) Has(resource types.UID, generation int64, revision string) bool {
	all := trusted(s.Of(resource))
	return len(all) > 0 && all[0].Snapshot.Of(generation, revision)
}

// Save writes a snapshot of a resource and deletes the oldest ones. Two are kept. It can be repeated.
func (s *Store) Save(ctx context.Context, resource *unstructured.Unstructured, snapshot Snapshot) error {
	all := trusted(s.Of(resource.GetUID()))
	number := int64(1)
	if len(all) > 0 {
		number = numberOf(all[0].Object) + 1
	}
	namespace := resource.GetNamespace()
	if namespace == "" {
		namespace = s.Namespace
	}
	obj, err := snapshot.encode(resource, namespace, number)
	if err != nil {
		return err
	}
	answer, err := s.Client.Create(ctx, obj)
	switch {
	case apierrors.IsAlreadyExists(err):
		// Its name is a hash of all it holds: an answer was lost, or the process ended before it came.
	case err != nil:
		return fmt.Errorf("writing ControllerRevision %q: %w", obj.GetName(), err)
	default:
		s.Cache.Wrote(Kind, answer)
	}
	for i := kept - 1; i < len(all); i++ {
		if err := s.Client.Remove(ctx, all[i].Object); err != nil {
			return fmt.Errorf("deleting ControllerRevision %q: %w", all[i].Object.GetName(), err)
		}
		s.Cache.Gone(Kind, all[i].Object)
	}
	return nil
}

// trusted leaves out what can't be trusted. It is not Orkestra's to delete either.
func trusted(all []Entry) []Entry {
	return slices.DeleteFunc(all, func(e Entry) bool { return e.Err != nil })
}
