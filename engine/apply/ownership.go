package apply

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/value"
)

// Owner is the resource that children are made for.
type Owner struct {
	// Resource is the resource as stored; its apiVersion, kind and metadata are read.
	Resource *unstructured.Unstructured
	// Box is the name of the box.
	Box string
	// Label is the resource's name as a label value: see kinds.LabelValue.
	Label string
}

// UID of the resource.
func (o Owner) UID() types.UID { return o.Resource.GetUID() }

// References says whether a child names the resource as its owner, so that the garbage collector deletes it with the resource.
func (o Owner) References(child Child) bool {
	return child.OwnerReference && o.mayReference(child.Object)
}

// mayReference says whether Kubernetes allows an owner reference from a child: same namespace, or a cluster-scoped owner.
func (o Owner) mayReference(child *unstructured.Unstructured) bool {
	return o.Resource.GetNamespace() == "" || o.Resource.GetNamespace() == child.GetNamespace()
}

// reference is a metav1.OwnerReference as an object holds it.
func (o Owner) reference() map[string]any {
	return map[string]any{
		"apiVersion": o.Resource.GetAPIVersion(), keyKind: o.Resource.GetKind(), "name": o.Resource.GetName(), "uid": string(o.UID()),
		"controller": true, "blockOwnerDeletion": true,
	}
}

// Claimed gives a rendered child with everything on it that says whose it is: as it is sent.
func (o Owner) Claimed(child Child) *unstructured.Unstructured {
	obj := child.Object.DeepCopy()
	// This runs for each child in each cycle, so it writes into the maps as they are: the setters of an object make new ones.
	metadata := value.MapIn(obj.Object, keyMetadata)
	labels := value.TextsIn(metadata, keyLabels)
	labels[v1alpha1.LabelManaged] = v1alpha1.True
	labels[v1alpha1.LabelOwner] = o.Label
	labels[v1alpha1.LabelOwnerUID] = string(o.UID())
	labels[v1alpha1.LabelBox] = o.Box
	labels[v1alpha1.LabelManagedBy] = v1alpha1.ManagedByValue

	annotations := value.TextsIn(metadata, keyAnnotations)
	annotations[v1alpha1.AnnotationDeclaration] = child.ID
	if child.Orphan {
		annotations[v1alpha1.AnnotationDeletionPolicy] = string(v1alpha1.ChildOrphan)
	}
	if o.References(child) {
		metadata["ownerReferences"] = []any{o.reference()}
	}
	// The hash covers all that is claimed above, so that a change of ownership is a change like any other.
	annotations[v1alpha1.AnnotationApplied] = drift.Hash(obj)
	return obj
}

// Wrote says whether a living child was last written with just what is declared of it now: whether others have changed it since is another
// question.
func (o Owner) Wrote(child Child, live *unstructured.Unstructured) bool {
	declared := withoutInitial(o.Claimed(child), child.Initial)
	return value.Annotation(declared, v1alpha1.AnnotationApplied) == value.Annotation(live, v1alpha1.AnnotationApplied)
}

// owns says whether a live object is a child of the resource: by label and field manager, or, when someone removed the
// label, by the controller reference. The label alone is not enough: a copy that somebody made of a child has it too, and must not be
// changed or deleted.
func (o Owner) owns(live *unstructured.Unstructured) bool {
	if types.UID(value.Label(live, v1alpha1.LabelOwnerUID)) == o.UID() {
		return ManagedByUs(live)
	}
	ref := metav1.GetControllerOf(live)
	return ref != nil && ref.UID == o.UID()
}

// lost says whether a live object was a child of a former resource of the same name that is gone for good, as after a
// restore from a backup, or is a child of this one that somebody took the owner's UID off and that has no owner reference.
// lives says whether there is a resource with a UID.
func (o Owner) lost(live *unstructured.Unstructured, lives func(types.UID) bool) bool {
	labels := live.GetLabels()
	uid := types.UID(labels[v1alpha1.LabelOwnerUID])
	if uid == o.UID() || labels[v1alpha1.LabelBox] != o.Box || labels[v1alpha1.LabelOwner] != o.Label {
		return false
	}
	if uid == "" && !ManagedByUs(live) {
		return false // a copy of a child, with its labels, is not ours
	}
	// Names are unique in a namespace: a child that was made elsewhere may belong to another resource of the name.
	if o.Resource.GetNamespace() != "" && live.GetNamespace() != o.Resource.GetNamespace() {
		return false
	}
	if ref := metav1.GetControllerOf(live); ref != nil && !o.namesake(ref) {
		return false
	}
	return uid == "" || lives == nil || !lives(uid)
}

// namesake says whether a reference is to a resource of the same kind and name, whatever its UID.
func (o Owner) namesake(ref *metav1.OwnerReference) bool {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && gv.Group == o.Resource.GroupVersionKind().Group && ref.Kind == o.Resource.GetKind() &&
		ref.Name == o.Resource.GetName()
}

// ManagedByUs says whether Orkestra's field manager owns a field of an object. It runs for each child in each cycle, so it reads the
// entries as they are instead of decoding them as GetManagedFields does.
func ManagedByUs(live *unstructured.Unstructured) bool {
	metadata, _ := live.Object[keyMetadata].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	return slices.ContainsFunc(entries, func(e any) bool {
		entry, _ := e.(map[string]any)
		return entry["manager"] == v1alpha1.FieldManager
	})
}

// free says whether a live object has no controller and no owner label, so that `adopt: IfUnowned` may take it.
func free(live *unstructured.Unstructured) bool {
	return metav1.GetControllerOf(live) == nil && value.Label(live, v1alpha1.LabelOwnerUID) == ""
}

// RefusedError says that a child can't be written for a reason that only people can mend.
type RefusedError struct {
	// Reason is the reason of the Stalled condition.
	Reason string
	// Message says what, where and what to do.
	Message string
}

// Error gives the message.
func (e *RefusedError) Error() string { return e.Message }

// notOwned is the refusal of a child of whose name there is an object that is not ours. It says whose it seems to be, and what helps.
func notOwned(child Child, obj, live *unstructured.Unstructured) *RefusedError {
	what := "was not made by Orkestra: delete it, declare another name, or set adopt: IfUnowned"
	if child.CleanUp {
		what = "was not made by Orkestra for this resource: delete it, declare a name that is never used again (with .metadata.uid), or set the annotation " +
			v1alpha1.AnnotationSkipCleanup + `: "true"`
	}
	if ref := metav1.GetControllerOf(live); ref != nil {
		what = fmt.Sprintf("is controlled by %s %q: delete it, or declare another name", ref.Kind, ref.Name)
	} else if owner := value.Label(live, v1alpha1.LabelOwner); owner != "" {
		what = fmt.Sprintf("says that it was made for %q by box %q: delete it, take its labels off, or declare another name",
			owner, value.Label(live, v1alpha1.LabelBox))
	}
	return &RefusedError{
		Reason:  v1alpha1.ReasonNotOwned,
		Message: fmt.Sprintf("%s %q exists and %s", obj.GetKind(), obj.GetName(), what),
	}
}
