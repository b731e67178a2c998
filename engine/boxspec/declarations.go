// Package boxspec reads the spec of a box as it is written, before anything of it is compiled: its canonical form and the revision that is
// named by it, the CRD that it defines, and which declarations it has and where they lead.
//
// What is here never fails because a template is wrong: kept revisions, which need not compile any more, are read by the same functions.
package boxspec

import (
	"encoding/json"
	"iter"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds"
)

// groups gives all resource groups of a box. A new group must be added here: the canonical form, and so the hash, and Declarations go by this list.
func groups(box *v1alpha1.OperatorBox) []v1alpha1.ResourceGroup {
	all := []v1alpha1.ResourceGroup{box.Spec.OnCreate, box.Spec.OnReconcile, box.Spec.OnDelete}
	if box.Spec.Rollback != nil {
		all = append(all, box.Spec.Rollback.OnRollback)
	}
	return all
}

// Declarations goes over the declarations of all groups as they are written, each with its kind; one that lists several kinds comes once for
// each of them. The kind is empty where the key is unknown or the manifest is wrong. Patches are not among them: they make no children.
func Declarations(box *v1alpha1.OperatorBox) iter.Seq2[schema.GroupVersionKind, *v1alpha1.Declaration] {
	return func(yield func(schema.GroupVersionKind, *v1alpha1.Declaration) bool) {
		for _, group := range groups(box) {
			for key, declarations := range group {
				kind, known := kinds.Lookup(key)
				if kind.IsPatch() {
					continue
				}
				kindsOf := func(*v1alpha1.Declaration) []schema.GroupVersionKind { return []schema.GroupVersionKind{kind.GVK} }
				if known && kind.GVK.Empty() {
					kindsOf = manifestKinds
				}
				if !yieldAll(declarations, kindsOf, yield) {
					return
				}
			}
		}
	}
}

// yieldAll gives each declaration of a list with each of its kinds; false: no more are wanted.
func yieldAll(
	list v1alpha1.DeclarationList, kindsOf func(*v1alpha1.Declaration) []schema.GroupVersionKind, yield func(schema.GroupVersionKind, *v1alpha1.Declaration) bool,
) bool {
	for i := range list {
		for _, gvk := range kindsOf(&list[i]) {
			if !yield(gvk, &list[i]) {
				return false
			}
		}
	}
	return true
}

// manifestKinds are the kinds of a manifest as written: its own, or those that are listed where one template gives it; an empty one where
// it is wrong, which is reported elsewhere.
func manifestKinds(d *v1alpha1.Declaration) []schema.GroupVersionKind {
	none := []schema.GroupVersionKind{{}}
	if raw := d.Short["manifest"].Raw; len(raw) > 0 && raw[0] == '"' {
		var listed []any
		if json.Unmarshal(d.Short["kinds"].Raw, &listed) != nil {
			return none
		}
		all, err := kinds.ListedKinds(map[string]any{"kinds": listed})
		if err != nil {
			return none
		}
		return all
	}
	var m struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := json.Unmarshal(d.Short["manifest"].Raw, &m); err != nil {
		return none
	}
	return []schema.GroupVersionKind{schema.FromAPIVersionAndKind(m.APIVersion, m.Kind)}
}

// DoesNothing says whether a box does nothing for its resources but write their conditions. What it would only read, wait for or delete leads to nothing.
func DoesNothing(box *v1alpha1.OperatorBox) bool {
	spec := Canonical(box).Spec
	steps := spec.PipelineSpec
	steps.Values, steps.Cross, steps.Gate, steps.Deletion = nil, nil, v1alpha1.Gate{}, nil
	return equality.Semantic.DeepEqual(steps, v1alpha1.PipelineSpec{}) && spec.Reconciler == nil && len(spec.Finalizers) == 0
}
