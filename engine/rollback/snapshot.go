// Package rollback has what a rollback of a resource needs: snapshots of the resource as it was when it last succeeded, stored as
// signed ControllerRevisions in the manager's namespace; the mark on a resource that is rolled back; and the triggers that say when it has to be. It does
// not roll back itself: engine/cycle does.
package rollback

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// Kind is the kind of the objects that hold snapshots.
var Kind = schema.GroupVersionKind{Group: appsv1.GroupName, Version: "v1", Kind: "ControllerRevision"}

// Snapshot is a resource as it was when it succeeded.
type Snapshot struct {
	// Box is the name of the box.
	Box string
	// Revision is that of the box, under which the resource succeeded.
	Revision string
	// RevisionHash is the full hash of what that revision holds; empty in snapshots of versions that did not write it.
	RevisionHash string
	// Generation of the resource.
	Generation int64
	// Metadata is what templates may read of it: name, namespace, uid, generation, labels and annotations.
	Metadata map[string]any
	// Spec of the resource; nil where it had none.
	Spec map[string]any

	hash string
}

// Hash is the full hash of the object that the snapshot was read from.
func (s Snapshot) Hash() string { return s.hash }

// The fields of the data of a snapshot, which are also those of metadata and spec of the resource.
const (
	fieldBox         = "box"
	fieldRevision    = "revision"
	fieldHash        = "revisionHash"
	fieldGeneration  = "generation"
	fieldMetadata    = "metadata"
	fieldSpec        = "spec"
	fieldData        = "data"
	fieldLabels      = "labels"
	fieldAnnotations = "annotations"
)

// Take makes a snapshot of a resource. Annotations and labels of which own says that they are Orkestra's are left out: they are about
// the cycle in which it was taken, and not about what its author wanted.
func Take(resource *unstructured.Unstructured, box, revision string, own func(key string) bool) Snapshot {
	s := Snapshot{Box: box, Revision: revision, Generation: resource.GetGeneration(), Metadata: map[string]any{
		"name": resource.GetName(), "uid": string(resource.GetUID()), fieldGeneration: resource.GetGeneration(),
	}}
	if namespace := resource.GetNamespace(); namespace != "" {
		s.Metadata["namespace"] = namespace
	}
	for field, entries := range map[string]map[string]string{fieldLabels: resource.GetLabels(), fieldAnnotations: resource.GetAnnotations()} {
		kept := map[string]any{}
		for k, v := range entries {
			if !own(k) {
				kept[k] = v
			}
		}
		if len(kept) > 0 {
			s.Metadata[field] = kept
		}
	}
	if spec, ok := resource.Object[fieldSpec].(map[string]any); ok {
		s.Spec = runtime.DeepCopyJSON(spec)
	}
	return s
}

// Of says whether the snapshot is that of a generation under a revision of the box.
func (s Snapshot) Of(generation int64, revision string) bool {
	return s.Generation == generation && s.Revision == revision
}

// encode makes the signed object that holds the snapshot. number must be higher than that of every older snapshot of the resource.
func (s Snapshot) encode(key Key, owner *unstructured.Unstructured, namespace string, number int64) (*unstructured.Unstructured, error) {
	data := map[string]any{
		fieldBox: s.Box, fieldRevision: s.Revision, fieldGeneration: s.Generation, fieldMetadata: s.Metadata,
	}
	if s.RevisionHash != "" {
		data[fieldHash] = s.RevisionHash
	}
	if s.Spec != nil {
		data[fieldSpec] = s.Spec
	}
	content, err := contentOf(string(owner.GetUID()), number, data)
	if err != nil {
		return nil, err
	}
	obj := &unstructured.Unstructured{Object: map[string]any{fieldData: runtime.DeepCopyJSON(data), fieldRevision: number}}
	obj.SetGroupVersionKind(Kind)
	obj.SetNamespace(namespace)
	obj.SetName(nameOf(owner.GetName(), hashOf(content), hashSize))
	// No labels but Orkestra's own: a StatefulSet adopts a ControllerRevision that its selector matches and that has no controller.
	// And no owner reference: one can't cross namespaces, and the garbage collector would delete the snapshots of a box with its first
	// finalizer. They are deleted by the UID of the resource, and by the name of the box.
	obj.SetLabels(map[string]string{
		v1alpha1.LabelSnapshot: v1alpha1.True, v1alpha1.LabelOwnerUID: string(owner.GetUID()), v1alpha1.LabelBox: s.Box,
	})
	obj.SetAnnotations(map[string]string{v1alpha1.AnnotationSignature: key.sign(content)})
	return obj, nil
}

// decode reads the snapshot that an object holds, whose name ends with so many bytes of a hash, and gives what is signed of it. The error
// says why it can't be trusted.
func decode(obj *unstructured.Unstructured, size int) (Snapshot, []byte, error) {
	data, ok := obj.Object[fieldData].(map[string]any)
	if !ok {
		return Snapshot{}, nil, errors.New("it holds no data")
	}
	metadata, ok := data[fieldMetadata].(map[string]any)
	if !ok {
		return Snapshot{}, nil, errors.New("data.metadata is missing, or is no object")
	}
	s := Snapshot{Metadata: runtime.DeepCopyJSON(metadata)}
	var okBox, okRevision, okGeneration bool
	s.Box, okBox = data[fieldBox].(string)
	s.Revision, okRevision = data[fieldRevision].(string)
	s.Generation, okGeneration = data[fieldGeneration].(int64)
	s.RevisionHash, _ = data[fieldHash].(string)
	if !okBox || !okRevision || !okGeneration {
		return Snapshot{}, nil, errors.New("data.box, data.revision or data.generation is missing, or of another type")
	}
	if spec, found := data[fieldSpec]; found {
		m, ok := spec.(map[string]any)
		if !ok {
			return Snapshot{}, nil, errors.New("data.spec is no object")
		}
		s.Spec = runtime.DeepCopyJSON(m)
	}
	name, _ := metadata["name"].(string)
	uid, _ := metadata["uid"].(string)
	content, err := contentOf(uid, numberOf(obj), data)
	if err != nil {
		return Snapshot{}, nil, err
	}
	s.hash = hashOf(content)
	switch {
	case uid != obj.GetLabels()[v1alpha1.LabelOwnerUID]:
		return Snapshot{}, nil, errors.New("it is the snapshot of another resource")
	case nameOf(name, s.hash, size) != obj.GetName():
		return Snapshot{}, nil, errors.New("the hash in its name is not that of its data: somebody has replaced it")
	}
	return s, content, nil
}

// numberOf is the number by which the snapshots of a resource are ordered; 0 where the object has none.
func numberOf(obj *unstructured.Unstructured) int64 {
	number, _ := obj.Object[fieldRevision].(int64)
	return number
}

const (
	maxName  = 253 // of an object, in bytes
	hashSize = 16  // bytes of the hash in a name: resources of one name in all namespaces have their snapshots in one
)

// contentOf is what is signed, and hashed: the UID of the resource, the number, and all data. json.Marshal sorts the keys of maps, so that
// it depends on the content alone.
func contentOf(uid string, number int64, data map[string]any) ([]byte, error) {
	content, err := json.Marshal([]any{uid, number, data})
	if err != nil {
		return nil, fmt.Errorf("encoding a snapshot: %w", err)
	}
	return content, nil
}

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// nameOf gives the name of a snapshot, which is that of the resource with the first bytes of the hash of all that the snapshot holds. So a
// change of the data under the same name is noticed, and writing the same snapshot again finds it there.
func nameOf(resource, hash string, size int) string {
	suffix := "-" + hash[:2*size]
	return strings.TrimRight(resource[:min(len(resource), maxName-len(suffix))], "-.") + suffix
}
