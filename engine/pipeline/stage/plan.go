package stage

import (
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/boxspec"
	"github.com/orkspace/orkestra/engine/identity"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/value"
)

// Plan is what the stages know of the plan that they belong to: what holds for every resource of the box. It is immutable.
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
	// Account is as whom the box's requests are made. Its UID is the one that the status of the box has pinned; empty before.
	Account identity.Account
	// AccountProblem says why the box can't act as its account. The plan then serves deletions alone, as the manager: it deletes children
	// that are marked as the box's, and takes Orkestra's finalizer off. It writes nothing else, no status either.
	AccountProblem identity.Problem
	// MayGrant says that the operator lets boxes make what grants rights.
	MayGrant bool
	// Runtime holds the limits of the sub-controller.
	Runtime Runtime
	// Finalizers are put on each resource, Orkestra's last.
	Finalizers []string
	// NotesActive says that it is noted on an object of others since when it is Active. On resources of the box's own it always is.
	NotesActive bool
	// ReadsStatus says whether any template or condition reads the resource's own status.
	ReadsStatus bool
	// Conditions are the types of those that the box declares for its resources.
	Conditions map[string]bool
	// Rollback says when resources go back to a snapshot, and how; nil: they never do.
	Rollback *Rollback
	// Places are where children can be besides the resource's own namespace.
	Places boxspec.Places
	// HasValues says whether the box gives names to values.
	HasValues bool
	// BoxData is what templates see as .box.
	BoxData map[string]any
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

// Rollback says when the resources of a box go back, and to what (design: recovery.md, "Rollback").
type Rollback struct {
	// OnError goes back where a cycle has failed after it changed children, and tries again later. The other fields belong to the
	// other form, which holds a resource until something is changed.
	OnError bool
	// OnDegrade goes back with the resources in failure while the box is degraded.
	OnDegrade bool
	// Failures in a row of one resource that make it go back, for errors that may pass by themselves.
	Failures int
	// Within is the time in which these failures must happen; zero: any.
	Within time.Duration
	// OwnGroups says that the groups of onRollback run instead of those of the snapshot.
	OwnGroups bool
}

// Marked says whether a resource has everything that says whose it is. The times among its marks do not count: without them
// nothing is lost.
func (p *Plan) Marked(resource *unstructured.Unstructured) bool {
	if p.CRD.OfOthers {
		return p.markedOfOthers(resource)
	}
	marks := apply.Marks{Finalizers: p.Finalizers, Labels: ownLabels(), Annotations: map[string]string{v1alpha1.AnnotationManagedBy: p.Box}}
	if own := apply.OwnFinalizers(p.Finalizers); own != "" {
		marks.Annotations[v1alpha1.AnnotationFinalizers] = own
	}
	if back := value.Annotation(resource, v1alpha1.AnnotationRolledBack); back != "" && p.Rollback != nil {
		marks.Annotations[v1alpha1.AnnotationRolledBack] = back
	}
	return marks.On(resource)
}

// Dependency is another box, or a CRD that another operator runs, which must have reached a condition before new resources are
// reconciled.
type Dependency struct {
	// Name of the box, and of the CRDHealth.
	Name string
	// Condition is v1alpha1.ConditionStarted or v1alpha1.ConditionHealthy.
	Condition string
}

// DependencyState is how a box fares, or a CRD that another operator runs, as its CRDHealth says.
type DependencyState struct {
	// OfBox says that there is a box of that name.
	OfBox bool
	// State is empty where there is neither a box nor a CRDHealth.
	State v1alpha1.HealthState
	// Started says that the workers of the box run; of another operator's CRD, that its resources are known.
	Started bool
}

// Unmet says what is wanted and what there is instead; "" where the dependency is met.
func (d Dependency) Unmet(s DependencyState) string {
	met := s.Started
	if d.Condition == v1alpha1.ConditionHealthy {
		met = s.State == v1alpha1.HealthHealthy
	}
	switch {
	case met:
		return ""
	case s.State == "":
		return fmt.Sprintf("there is no box or CRDHealth %q yet, wanted %s", d.Name, d.Condition)
	case s.OfBox:
		return fmt.Sprintf("box %q is %s, wanted %s", d.Name, s.State, d.Condition)
	default:
		return fmt.Sprintf("CRDHealth %q is %s, wanted %s", d.Name, s.State, d.Condition)
	}
}
