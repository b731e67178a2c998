package rollback

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

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
	// Namespace is the manager's own. All snapshots are there, so that who may read the namespace of a resource reads no former spec in them.
	Namespace string
	// Keys has the key by which snapshots are signed.
	Keys *Keys
	// Ours says whether Orkestra has written an object. Snapshots without a signature need it.
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

// Is says whether an object is labeled as a snapshot. Such an object is no child, whatever its other labels say.
func Is(obj *unstructured.Unstructured) bool {
	return obj.GroupVersionKind() == Kind && obj.GetLabels()[v1alpha1.LabelSnapshot] == v1alpha1.True
}

// Of gives the snapshots of a resource, the newest first; also those that can't be trusted.
func (s *Store) Of(resource *unstructured.Unstructured) []Entry {
	var entries []Entry
	for _, obj := range s.objects(resource.GetUID()) {
		e := Entry{Object: obj}
		if s.elsewhere(obj) {
			e.Snapshot, e.Err = s.unsigned(resource, obj)
		} else {
			e.Snapshot, e.Err = s.verified(obj)
		}
		entries = append(entries, e)
	}
	sortEntries(entries)
	return entries
}

// Shown reads objects that may hold snapshots of a resource, without the key: the newest first, also those whose Err says that they hold none. It is for
// those who show what a resource may go back to: a signature that is wrong is found when that happens.
func Shown(resource *unstructured.Unstructured, objects []*unstructured.Unstructured) []Entry {
	var entries []Entry
	for _, obj := range objects {
		if !Is(obj) || obj.GetDeletionTimestamp() != nil {
			continue
		}
		e := Entry{Object: obj}
		if e.Snapshot, _, e.Err = decode(obj, hashSize); e.Err == nil && e.Snapshot.Metadata["uid"] != string(resource.GetUID()) {
			e.Err = errors.New("it is the snapshot of another resource")
		}
		entries = append(entries, e)
	}
	sortEntries(entries)
	return entries
}

// sortEntries puts the newest first.
func sortEntries(entries []Entry) {
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(numberOf(b.Object), numberOf(a.Object)), cmp.Compare(trust(b), trust(a)), cmp.Compare(a.Object.GetName(), b.Object.GetName()))
	})
}

// Prepare reads the key where that has failed before. An error is not lost: Newest and Named tell of it.
func (s *Store) Prepare(ctx context.Context) {
	if _, err := s.Keys.Load(ctx); err != nil {
		log.FromContext(ctx).V(1).Info("The key of snapshots can't be had", "reason", err.Error())
	}
}

// trust is 1 where a snapshot can be trusted: of two with one number, that one comes first.
func trust(e Entry) int {
	if e.Err == nil {
		return 1
	}
	return 0
}

// objects are all that say that they are snapshots of the resource with a UID.
func (s *Store) objects(resource types.UID) []*unstructured.Unstructured {
	return slices.DeleteFunc(s.Cache.Owned(Kind, resource), func(obj *unstructured.Unstructured) bool {
		return !Is(obj) || obj.GetDeletionTimestamp() != nil
	})
}

// verified reads a snapshot whose signature must be right.
func (s *Store) verified(obj *unstructured.Unstructured) (Snapshot, error) {
	key, err := s.Keys.Key()
	if err != nil {
		return Snapshot{}, err
	}
	snapshot, content, err := decode(obj, hashSize)
	switch {
	case err != nil:
		return Snapshot{}, err
	case !key.signed(content, obj.GetAnnotations()[v1alpha1.AnnotationSignature]):
		return Snapshot{}, fmt.Errorf("its signature is not that of the key in %s: it was forged, or the key is a new one: restore the key, or mend the spec", s.Keys)
	}
	return snapshot, nil
}

// Newest gives the newest snapshot of a resource, whose Err may say why it can't be trusted; nil where there is none. An object
// elsewhere that can't be trusted counts for nothing beside one that can: anybody may write it who may write in the resource's namespace,
// and would so switch going back off.
func (s *Store) Newest(resource *unstructured.Unstructured) *Entry {
	all := s.Of(resource)
	trusted := newestTrusted(all)
	for i := range all {
		if trusted == nil || all[i].Err == nil || !s.elsewhere(all[i].Object) {
			return &all[i]
		}
	}
	return nil
}

// Has says whether the newest snapshot of a resource can be trusted, and is that of a generation under a revision of the box.
func (s *Store) Has(resource *unstructured.Unstructured, generation int64, revision string) bool {
	newest := s.Newest(resource)
	return newest != nil && newest.Err == nil && newest.Snapshot.Of(generation, revision)
}

// Named gives the snapshot of a resource that a mark names, by its name and hash. Marks of versions that wrote no hash have an empty one,
// and are believed by the name. A snapshot that was carried over has a longer name, which begins with the former one.
func (s *Store) Named(resource *unstructured.Unstructured, name, hash string) (Snapshot, error) {
	all := s.Of(resource)
	named := func(e Entry) bool { return strings.HasPrefix(e.Object.GetName(), name) }
	at := slices.IndexFunc(all, func(e Entry) bool { return named(e) && e.Err == nil })
	if at < 0 {
		at = slices.IndexFunc(all, named)
	}
	switch {
	case at < 0:
		return Snapshot{}, fmt.Errorf("ControllerRevision %q is gone, so that the children are no longer kept as they were", name)
	case all[at].Err != nil:
		return Snapshot{}, fmt.Errorf("ControllerRevision %q: %w", name, all[at].Err)
	case hash != "" && all[at].Snapshot.hash != hash:
		return Snapshot{}, fmt.Errorf("ControllerRevision %q does not hold what the resource was rolled back to: somebody has replaced it", name)
	default:
		return all[at].Snapshot, nil
	}
}

// Save signs and writes a snapshot of a resource. The last two that can be trusted are kept; all others in the manager's namespace are
// deleted. Save can be repeated.
func (s *Store) Save(ctx context.Context, resource *unstructured.Unstructured, snapshot Snapshot) error {
	key, err := s.Keys.Load(ctx)
	if err != nil {
		return err
	}
	all, number := s.Of(resource), int64(1)
	newest := newestTrusted(all)
	if newest != nil {
		number = numberOf(newest.Object) + 1
	}
	name, err := s.write(ctx, key, resource, snapshot, number)
	if err != nil {
		return err
	}
	for i := range all {
		obj := all[i].Object
		if newest != nil && obj == newest.Object || s.elsewhere(obj) || obj.GetName() == name {
			continue
		}
		if err := s.remove(ctx, obj); err != nil {
			return err
		}
	}
	return nil
}

// write makes the object that holds a snapshot, and gives its name.
func (s *Store) write(ctx context.Context, key Key, owner *unstructured.Unstructured, snapshot Snapshot, number int64) (string, error) {
	obj, err := snapshot.encode(key, owner, s.Namespace, number)
	if err != nil {
		return "", err
	}
	answer, err := s.Client.Create(ctx, obj)
	switch {
	case apierrors.IsAlreadyExists(err):
		// Its name is a hash of all that it holds, so it is the same one: the answer to an earlier try was lost.
	case err != nil:
		return "", fmt.Errorf("writing ControllerRevision %q in namespace %q: %w", obj.GetName(), s.Namespace, err)
	default:
		s.Cache.Wrote(Kind, answer)
	}
	return obj.GetName(), nil
}

// Forget deletes the snapshots of a resource that is gone. What is elsewhere is not this
// manager's: the garbage collector deletes what the resource owns, and another manager what it has kept.
func (s *Store) Forget(ctx context.Context, resource types.UID) error {
	for _, obj := range s.objects(resource) {
		if s.elsewhere(obj) {
			continue
		}
		if err := s.remove(ctx, obj); err != nil {
			return err
		}
	}
	return nil
}

// Keeps says whether there are snapshots of a resource that Forget would delete.
func (s *Store) Keeps(resource types.UID) bool {
	return slices.ContainsFunc(s.objects(resource), func(obj *unstructured.Unstructured) bool { return !s.elsewhere(obj) })
}

func (s *Store) remove(ctx context.Context, obj *unstructured.Unstructured) error {
	if err := s.Client.Remove(ctx, obj); err != nil {
		return fmt.Errorf("deleting ControllerRevision %q in namespace %q: %w", obj.GetName(), obj.GetNamespace(), err)
	}
	s.Cache.Gone(Kind, obj)
	return nil
}

// newestTrusted gives the newest that can be trusted; nil where none can.
func newestTrusted(all []Entry) *Entry {
	if at := slices.IndexFunc(all, func(e Entry) bool { return e.Err == nil }); at >= 0 {
		return &all[at]
	}
	return nil
}

// Of is the resource that a snapshot is of.
type Of struct {
	// Key is its namespace and name.
	Key types.NamespacedName
	// UID of it.
	UID types.UID
}

// Taken says of which resources there are snapshots among objects, those in the manager's namespace; each once, in no order.
func Taken(objects iter.Seq[*unstructured.Unstructured], namespace string) []Of {
	all := map[Of]bool{}
	for obj := range objects {
		if !Is(obj) || obj.GetNamespace() != namespace {
			continue
		}
		name, _, _ := unstructured.NestedString(obj.Object, fieldData, fieldMetadata, "name")
		in, _, _ := unstructured.NestedString(obj.Object, fieldData, fieldMetadata, "namespace")
		of := Of{Key: types.NamespacedName{Namespace: in, Name: name}, UID: types.UID(obj.GetLabels()[v1alpha1.LabelOwnerUID])}
		if name != "" && of.UID != "" {
			all[of] = true
		}
	}
	return slices.Collect(maps.Keys(all))
}
