package rollback

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

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
	// Snapshot that it holds; empty where it can't be read.
	Snapshot Snapshot
	// Err says why the snapshot can't be trusted; nil: it can.
	Err error
}

// errUnlisted says that a snapshot may be forged, although its managed fields name Orkestra and the hash in its name is right. Both can
// be forged by anybody who may write ControllerRevisions. To forge the list of hashes on the resource, one must be allowed to edit the
// resource itself, and needs no snapshot for that.
var errUnlisted = fmt.Errorf("its hash is not in the annotation %s of the resource, as if Orkestra had not taken it", v1alpha1.AnnotationSnapshots)

// Is says whether an object is labeled as a snapshot. Such an object is no child, whatever its other labels say.
func Is(obj *unstructured.Unstructured) bool {
	return obj.GroupVersionKind() == Kind && obj.GetLabels()[v1alpha1.LabelSnapshot] == v1alpha1.True
}

// Of gives the snapshots of a resource, the newest first; also those that can't be trusted.
func (s *Store) Of(resource *unstructured.Unstructured) []Entry {
	taken := listed(resource)
	var entries []Entry
	for _, obj := range s.Cache.Owned(Kind, resource.GetUID()) {
		if !Is(obj) || obj.GetDeletionTimestamp() != nil {
			continue
		}
		e := Entry{Object: obj}
		switch {
		case !s.Ours(obj):
			e.Err = fmt.Errorf("it was not written by the field manager %q", v1alpha1.FieldManager)
		default:
			e.Snapshot, e.Err = decode(obj)
			if e.Err == nil && !slices.Contains(taken, e.Snapshot.hash) {
				e.Err = errUnlisted
			}
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(numberOf(b.Object), numberOf(a.Object)), cmp.Compare(a.Object.GetName(), b.Object.GetName()))
	})
	return entries
}

// Newest gives the newest snapshot of a resource: the first in the list on the resource, whatever other objects there are. Where that
// one is gone or was replaced, it gives the newest of all objects, whose Err may say why it can't be trusted; nil where there is none.
func (s *Store) Newest(resource *unstructured.Unstructured) *Entry {
	all := s.Of(resource)
	if len(all) == 0 {
		return nil
	}
	head := listed(resource)[0]
	if at := slices.IndexFunc(all, func(e Entry) bool { return e.Err == nil && e.Snapshot.hash == head }); at >= 0 {
		return &all[at]
	}
	return &all[0]
}

// listed are the hashes of the snapshots in the annotation of the resource, the newest first. Without one, it is one empty hash.
func listed(resource *unstructured.Unstructured) []string {
	return strings.Split(resource.GetAnnotations()[v1alpha1.AnnotationSnapshots], ",")
}

// Has says whether the newest snapshot of a resource that can be trusted is that of a generation under a revision of the box.
func (s *Store) Has(resource *unstructured.Unstructured, generation int64, revision string) bool {
	newest := newestTrusted(s.Of(resource))
	return newest != nil && newest.Snapshot.Of(generation, revision)
}

// Named gives the snapshot of a resource that a mark names, by its name and hash. It need not be in the list on the resource any more:
// the hash in the mark proves what it is. Marks of versions that wrote no hash have an empty one, and are believed by the name.
func (s *Store) Named(resource *unstructured.Unstructured, name, hash string) (Snapshot, error) {
	all := s.Of(resource)
	at := slices.IndexFunc(all, func(e Entry) bool { return e.Object.GetName() == name })
	switch {
	case at < 0:
		return Snapshot{}, fmt.Errorf("ControllerRevision %q is gone, so that the children are no longer kept as they were", name)
	case all[at].Err != nil && !errors.Is(all[at].Err, errUnlisted):
		return Snapshot{}, fmt.Errorf("ControllerRevision %q: %w", name, all[at].Err)
	case hash != "" && all[at].Snapshot.hash != hash:
		return Snapshot{}, fmt.Errorf("ControllerRevision %q does not hold what the resource was rolled back to: somebody has replaced it", name)
	default:
		return all[at].Snapshot, nil
	}
}

// Save writes a snapshot of a resource. Before that, list writes to the resource the hashes of the snapshots that are trusted from then
// on, this one first: a process that ends between the two leaves a hash without a snapshot, and not a snapshot that nobody trusts. The
// last two snapshots are kept; older ones, and those that are not listed, are deleted. Save can be repeated.
func (s *Store) Save(ctx context.Context, resource *unstructured.Unstructured, snapshot Snapshot, list func(context.Context, string) error) error {
	all := s.Of(resource)
	number, hashes := int64(1), []string{""}
	if newest := newestTrusted(all); newest != nil {
		number, hashes = numberOf(newest.Object)+1, append(hashes, newest.Snapshot.hash)
	}
	obj, hash, err := snapshot.encode(resource, cmp.Or(resource.GetNamespace(), s.Namespace), number)
	if err != nil {
		return err
	}
	hashes[0] = hash
	if err := list(ctx, strings.Join(hashes, ",")); err != nil {
		return err
	}
	for _, e := range all {
		if slices.Contains(hashes, e.Snapshot.hash) || e.Err != nil && !errors.Is(e.Err, errUnlisted) {
			continue // an object that is not Orkestra's, or that somebody has changed, is for its author to delete
		}
		if err := s.Client.Remove(ctx, e.Object); err != nil {
			return fmt.Errorf("deleting ControllerRevision %q: %w", e.Object.GetName(), err)
		}
		s.Cache.Gone(Kind, e.Object)
	}
	answer, err := s.Client.Create(ctx, obj)
	switch {
	case apierrors.IsAlreadyExists(err):
		// Its name is a hash of all that it holds, so it is the same one: the answer to an earlier try was lost.
		return nil
	case err != nil:
		return fmt.Errorf("writing ControllerRevision %q: %w", obj.GetName(), err)
	}
	s.Cache.Wrote(Kind, answer)
	return nil
}

// newestTrusted gives the newest that can be trusted; nil where none can.
func newestTrusted(all []Entry) *Entry {
	if at := slices.IndexFunc(all, func(e Entry) bool { return e.Err == nil }); at >= 0 {
		return &all[at]
	}
	return nil
}
