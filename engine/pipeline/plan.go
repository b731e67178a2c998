package pipeline

import (
	"path"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/outcome"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/status"
)

// Plan is a box compiled. It is immutable and safe for concurrent use.
type Plan struct {
	stage.Plan

	// Selection says which resources are looked at.
	Selection Selection
	// ChildKinds are the kinds that the plan may make, in a fixed order.
	ChildKinds []schema.GroupVersionKind
	// ObservedKinds are the kinds that the plan reads without owning them.
	ObservedKinds []schema.GroupVersionKind
	// CrossBoxes are the boxes whose resources the plan reads.
	CrossBoxes []string
	// DependsOn are what new resources wait for.
	DependsOn []Dependency
	// Rules are the rights that the plan needs.
	Rules []rbacv1.PolicyRule
	// Notes are things to know that are no mistakes.
	Notes []string
	// OnCreateIDs are the ids of the onCreate declarations that run until a resource is Active; nil where that is not known.
	OnCreateIDs []string
	// Status writes the status of resources.
	Status *status.Writer
	// CleanupOnly plans serve deletions and nothing else.
	CleanupOnly bool

	stages     []Stage
	declared   *declare.Set
	goingBack  []Stage // those of a cycle that goes back to a snapshot
	onRollback Stage   // the groups of onRollback; nil: there are none
	outcome    *outcome.Plan
}

// Selection says which resources a box looks at.
type Selection struct {
	include, exclude []string
	labels           labels.Selector
}

// Selects says whether a resource is looked at.
func (s Selection) Selects(resource *unstructured.Unstructured) bool {
	ns := resource.GetNamespace()
	if len(s.include) > 0 && !matchesAny(s.include, ns) || matchesAny(s.exclude, ns) {
		return false
	}
	return s.labels == nil || s.labels.Matches(labels.Set(resource.GetLabels()))
}

// Namespaces are the only namespaces that hold selected resources, sorted, where all of them are named literally; else nil.
func (s Selection) Namespaces() []string {
	if slices.ContainsFunc(s.include, hasGlob) {
		return nil
	}
	return slices.Compact(slices.Sorted(slices.Values(s.include)))
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		// Patterns were checked when the box was compiled.
		ok, err := path.Match(p, name)
		return ok && err == nil
	})
}
