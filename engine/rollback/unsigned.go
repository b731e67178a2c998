package rollback

// Snapshots of versions that had no key: beside the resource, owned by it, and believed where an annotation of the resource lists their
// hashes. They are carried over once, and this file can go when nobody updates from such a version any more.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// unsignedHashSize is that of hashSize in the names of snapshots without a signature.
const unsignedHashSize = 5

// errUnlisted says that a snapshot may be forged, although its managed fields name Orkestra and the hash in its name is right. Both can
// be forged by anybody who may write ControllerRevisions. To forge the list of hashes on the resource, one must be allowed to edit the
// resource itself, and needs no snapshot for that.
var errUnlisted = fmt.Errorf("its hash is not in the annotation %s of the resource, as if Orkestra had not taken it", v1alpha1.AnnotationSnapshots)

// elsewhere says whether an object is not where this manager keeps snapshots, so that it can't be trusted by a signature, and is not for this
// manager to delete. Former versions kept them beside the resource, which owns them; those of cluster-scoped resources were in the manager's
// namespace already.
func (s *Store) elsewhere(obj *unstructured.Unstructured) bool {
	return obj.GetNamespace() != s.Namespace || len(obj.GetOwnerReferences()) > 0
}

// unsigned reads a snapshot that is not where this manager keeps them: it must have no signature, and the resource must list its hash.
func (s *Store) unsigned(resource, obj *unstructured.Unstructured) (Snapshot, error) {
	if obj.GetAnnotations()[v1alpha1.AnnotationSignature] != "" {
		return Snapshot{}, fmt.Errorf("it is in namespace %q, and this manager keeps them in %q: copy it there with the key, or mend the spec", obj.GetNamespace(), s.Namespace)
	}
	if !s.Ours(obj) {
		return Snapshot{}, fmt.Errorf("it was not written by the field manager %q", v1alpha1.FieldManager)
	}
	snapshot, _, err := decode(obj, unsignedHashSize)
	if err != nil {
		return Snapshot{}, err
	}
	if !slices.Contains(strings.Split(resource.GetAnnotations()[v1alpha1.AnnotationSnapshots], ","), snapshot.hash) {
		return snapshot, errUnlisted
	}
	return snapshot, nil
}

// Unsigned reads the snapshot of a resource that a mark names by its full hash, without the key: what the object holds must have that hash.
// It is for those who show what a resource was rolled back to and write nothing. The error says why the object is not that snapshot.
func Unsigned(resource, obj *unstructured.Unstructured, hash string) (Snapshot, error) {
	snapshot, _, err := decode(obj, hashSize)
	switch {
	case err != nil:
		return Snapshot{}, err
	case snapshot.hash != hash || snapshot.Metadata["uid"] != string(resource.GetUID()):
		return Snapshot{}, errors.New("it does not hold what the resource was rolled back to: somebody has replaced it")
	}
	return snapshot, nil
}

// Carry signs the snapshots of a resource that former versions took, and deletes the originals: those that are listed on the resource,
// and the one that kept names by its hash, which a mark has believed before. Without an error there is none left, and the list on the
// resource can go. A process that ends in the middle leaves the list, by which the next one carries what is left.
func (s *Store) Carry(ctx context.Context, resource *unstructured.Unstructured, kept string) error {
	for _, e := range s.Of(resource) {
		if !s.elsewhere(e.Object) || e.Err != nil && !errors.Is(e.Err, errUnlisted) {
			continue // an object that is not Orkestra's, or that somebody has changed, is for its author to delete
		}
		if e.Err == nil || kept != "" && e.Snapshot.hash == kept {
			key, err := s.Keys.Load(ctx)
			if err != nil {
				return err
			}
			if _, err := s.write(ctx, key, resource, e.Snapshot, numberOf(e.Object)); err != nil {
				return err
			}
		}
		if err := s.remove(ctx, e.Object); err != nil {
			return err
		}
	}
	return nil
}
