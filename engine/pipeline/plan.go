package pipeline

import (
	"path"
	"slices"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/boxspec"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/status"
)

// Plan is a box compiled. It is immutable and safe for concurrent use.
type Plan struct {
	// Box is the box's name.
	Box string
	// UID of the box.
	UID types.UID
	// Generation of the box that was compiled.
	Generation int64
	// Revision names the content: the box's name and a hash of its spec.
	Revision string
	// RevisionHash is the whole hash.
	RevisionHash string
	// CRD is what the plan serves.
	CRD CRD
	// Runtime holds the limits of the sub-controller.
	Runtime Runtime
	// Selection says which resources are looked at.
	Selection Selection
	// Finalizers are put on each resource, Orkestra's last.
	Finalizers []string
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
	// ReadsStatus says whether any template or condition reads the resource's own status.
	ReadsStatus bool
	// Status writes the status of resources.
	Status *status.Writer
	// CleanupOnly plans serve deletions and nothing else.
	CleanupOnly bool

	// Rollback says when resources go back to a snapshot, and how; nil: they never do.
	Rollback *Rollback

	stages       []Stage
	declarations []*declaration // onCreate, then onReconcile, as declared
	byID         map[string]*declaration
	cleanupOnly  map[string]*declaration // of onDelete alone
	rollbackOnly map[string]*declaration // of onRollback alone
	goingBack    []Stage                 // those of a cycle that goes back to a snapshot
	onRollback   Stage                   // the groups of onRollback; nil: there are none
	scalers      []*declaration          // those of HorizontalPodAutoscalers
	calls        []*externalCall         // in their order
	fields       []*statusField
	readyWhen    *readyGate // nil: nothing but the ready policy
	readyPolicy  v1alpha1.ReadyPolicy
	boxData      map[string]any
	places       boxspec.Places
}

// CRD is a CRD in the version that a plan works in.
type CRD = compile.CRD

// NewCRD picks a version of a CRD: the wanted one, or the storage version. ok is false when it is not served.
func NewCRD(crd *apiextensionsv1.CustomResourceDefinition, version string) (picked CRD, ok bool) {
	for _, v := range crd.Spec.Versions {
		if version == "" && !v.Storage || version != "" && v.Name != version {
			continue
		}
		if !v.Served {
			return CRD{}, false
		}
		picked = CRD{
			Name: crd.Name, UID: crd.UID, Generation: crd.Generation,
			Kind:       schema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind},
			Resource:   schema.GroupVersionResource{Group: crd.Spec.Group, Version: v.Name, Resource: crd.Spec.Names.Plural},
			Namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped,
			Going:      crd.DeletionTimestamp != nil,
			HasStatus:  v.Subresources != nil && v.Subresources.Status != nil,
		}
		if v.Schema != nil {
			picked.Schema = v.Schema.OpenAPIV3Schema
		}
		return picked, true
	}
	return CRD{}, false
}

// Marked says whether a resource has everything that says whose it is. The times among its marks do not count: without them
// nothing is lost.
func (p *Plan) Marked(resource *unstructured.Unstructured) bool {
	marks := apply.Marks{Finalizers: p.Finalizers, Annotations: map[string]string{v1alpha1.AnnotationManagedBy: p.Box}}
	if own := apply.OwnFinalizers(p.Finalizers); own != "" {
		marks.Annotations[v1alpha1.AnnotationFinalizers] = own
	}
	if back := resource.GetAnnotations()[v1alpha1.AnnotationRolledBack]; back != "" && p.Rollback != nil {
		marks.Annotations[v1alpha1.AnnotationRolledBack] = back
	}
	return marks.On(resource)
}

// Runtime holds the limits of a sub-controller, with every default filled in.
type Runtime struct {
	// Workers is the number of concurrent reconciles.
	Workers int
	// Resync is the time within which each resource is looked at once more.
	Resync time.Duration
	// FailureThreshold is the number of failures in a row that degrade the box.
	FailureThreshold int32
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
