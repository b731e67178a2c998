package controllers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/suggest"
)

// CRDs keeps the full CRDs of the boxes: the manager's cache has only their metadata. It is safe for concurrent use.
type CRDs struct {
	live client.Reader
	mu   sync.Mutex
	all  map[string]*apiextensionsv1.CustomResourceDefinition // by box; guarded by mu
}

// NewCRDs gives an empty store that reads from the API server.
func NewCRDs(live client.Reader) *CRDs {
	return &CRDs{live: live, all: map[string]*apiextensionsv1.CustomResourceDefinition{}}
}

// Get gives a CRD in the version that the metadata shows. It asks the API server only when that has changed.
func (c *CRDs) Get(ctx context.Context, box string, known *metav1.PartialObjectMetadata) (*apiextensionsv1.CustomResourceDefinition, error) {
	c.mu.Lock()
	kept := c.all[box]
	c.mu.Unlock()
	if kept != nil && kept.UID == known.UID && kept.ResourceVersion == known.ResourceVersion {
		return kept, nil
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := c.live.Get(ctx, types.NamespacedName{Name: known.Name}, crd); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all[box] = crd
	return crd, nil
}

// Forget drops what is kept for a box.
func (c *CRDs) Forget(box string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.all, box)
}

// findCRD gives the CRD of a box in the version that it works in; nil, and the reason in v, when it can't be served now.
func (r *OperatorBoxReconciler) findCRD(ctx context.Context, box *v1alpha1.OperatorBox, v *view) (*pipeline.CRD, error) {
	if box.Spec.CRD.Definition != nil {
		ok, err := r.install(ctx, box, v)
		if err != nil {
			return nil, err
		}
		if !ok {
			v.refused = true
			return r.installed(ctx, box, v)
		}
	}
	crd, err := r.readCRD(ctx, box.Name, v.crdName)
	if apierrors.IsNotFound(err) {
		v.noCRD(phaseWithout(box), v1alpha1.ReasonCRDMissing, crdMissing(ctx, r.Client, v.crdName))
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !established(crd) {
		v.noCRD(health.Pending, v1alpha1.ReasonCRDNotEstablished, fmt.Sprintf("CustomResourceDefinition %q is not established yet%s", v.crdName, namesRefused(crd)))
		return nil, nil
	}
	return r.pick(box, crd, v), nil
}

// crdMissing says that a CRD is not there, and names the one that may have been meant.
func crdMissing(ctx context.Context, cache client.Reader, name string) string {
	return fmt.Sprintf("CustomResourceDefinition %q does not exist%s; it is picked up when it is created", name, NearestCRD(ctx, cache, name))
}

// NearestCRD gives `, did you mean "x"?` for the nearest name of a cluster's CRDs and of others that could be meant; empty where none is
// near. Where CRDs can't be listed, only the others count.
func NearestCRD(ctx context.Context, reader client.Reader, name string, others ...string) string {
	all := &metav1.PartialObjectMetadataList{}
	all.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinitionList"))
	if err := reader.List(ctx, all); err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("CRDs could not be listed", "reason", err.Error())
	}
	for i := range all.Items {
		others = append(others, all.Items[i].Name)
	}
	return suggest.DidYouMean(name, others)
}

func (r *OperatorBoxReconciler) readCRD(ctx context.Context, box, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	known := &metav1.PartialObjectMetadata{}
	known.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	if err := r.Client.Get(ctx, types.NamespacedName{Name: name}, known); err != nil {
		return nil, err
	}
	return r.CRDs.Get(ctx, box, known)
}

// pick gives the box's own version of a CRD that is there; nil, and the reason in v, when that is not served.
func (r *OperatorBoxReconciler) pick(box *v1alpha1.OperatorBox, crd *apiextensionsv1.CustomResourceDefinition, v *view) *pipeline.CRD {
	v.live = crd
	picked, ok := ownVersion(box, crd)
	if !ok {
		v.noCRD(health.Pending, v1alpha1.ReasonCRDVersionNotServed, notServed(box, crd))
		return nil
	}
	if box.Spec.CRD.Version == "" && workedIn(box, crd) != "" && workedIn(box, crd) != picked.Kind.Version {
		r.sayFollowed(box, picked)
	}
	v.established()
	return &picked
}

// ownVersion is the version that a box asks for, or the one that was chosen before, or the storage version; ok is false when
// it is not served.
func ownVersion(box *v1alpha1.OperatorBox, crd *apiextensionsv1.CustomResourceDefinition) (picked pipeline.CRD, ok bool) {
	if wanted := box.Spec.CRD.Version; wanted != "" {
		return pipeline.NewCRD(crd, wanted)
	}
	if picked, ok := pipeline.NewCRD(crd, workedIn(box, crd)); ok {
		return picked, true
	}
	return pipeline.NewCRD(crd, "")
}

// workedIn is the version of a CRD that a box has worked in, by its status; empty: in none.
func workedIn(box *v1alpha1.OperatorBox, crd *apiextensionsv1.CustomResourceDefinition) string {
	if box.Status.CRD.Name != crd.Name {
		return ""
	}
	return box.Status.CRD.Version
}

// anyVersion is the version in which deletions are served when the box's own can't be relied on: that of the plan that runs,
// the box's own, the one that it worked in, the storage version, or the first; ok is false when none is served.
func (r *OperatorBoxReconciler) anyVersion(box *v1alpha1.OperatorBox, crd *apiextensionsv1.CustomResourceDefinition) (picked pipeline.CRD, ok bool) {
	var wanted []string
	if running := r.running(box, crd); running != nil {
		wanted = append(wanted, running.CRD.Kind.Version)
	}
	if own, ok := ownVersion(box, crd); ok {
		wanted = append(wanted, own.Kind.Version)
	}
	wanted = append(wanted, workedIn(box, crd), "")
	for _, version := range crd.Spec.Versions {
		wanted = append(wanted, version.Name)
	}
	for _, version := range wanted {
		if picked, ok := pipeline.NewCRD(crd, version); ok {
			return picked, true
		}
	}
	return pipeline.CRD{}, false
}

// running is the plan that a box runs, if it can: its CRD still is the same, and serves the version that it works in.
func (r *OperatorBoxReconciler) running(box *v1alpha1.OperatorBox, crd *apiextensionsv1.CustomResourceDefinition) *pipeline.Plan {
	plan := r.Engine.Plan(box.Name)
	if plan == nil || plan.UID != box.UID || plan.CRD.UID != crd.UID {
		return nil
	}
	if _, ok := pipeline.NewCRD(crd, plan.CRD.Kind.Version); !ok {
		return nil
	}
	return plan
}

// notServed says that the box's own version is not served, and what helps.
func notServed(box *v1alpha1.OperatorBox, crd *apiextensionsv1.CustomResourceDefinition) string {
	others := cmp.Or(served(crd), "none")
	if wanted := box.Spec.CRD.Version; wanted != "" {
		return fmt.Sprintf("CustomResourceDefinition %q does not serve version %q; it serves %s", crd.Name, wanted, others)
	}
	return fmt.Sprintf("CustomResourceDefinition %q does not serve its storage version; serve it, or name one of the others in crd.version: %s", crd.Name, others)
}

// sayFollowed tells that the box changes to another version. It is said once: the status names the new one then.
func (r *OperatorBoxReconciler) sayFollowed(box *v1alpha1.OperatorBox, picked pipeline.CRD) {
	if !r.Engine.Leading() || r.Events == nil {
		return
	}
	r.Events.Eventf(box, nil, corev1.EventTypeWarning, "CRDVersionChanged", "Reconcile",
		"version %q of %s is no longer served; the box works in %q from now on", box.Status.CRD.Version, picked.Name, picked.Kind.Version)
}

func served(crd *apiextensionsv1.CustomResourceDefinition) string {
	var names []string
	for _, version := range crd.Spec.Versions {
		if version.Served {
			names = append(names, version.Name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func (v *view) established() {
	v.crdReason, v.crdMessage = v1alpha1.ReasonEstablished, "the CRD is served"
}

func (v *view) noCRD(phase health.Phase, reason, message string) {
	v.crdReason, v.crdMessage = reason, message
	v.phase, v.reason, v.message = phase, reason, message
}

// phaseWithout is the phase of a box whose CRD does not exist: it was deleted, or has never been there.
func phaseWithout(box *v1alpha1.OperatorBox) health.Phase {
	if box.Status.CRD.Version != "" {
		return health.Stopped
	}
	return health.Pending
}

// namesRefused says why a CRD's names are not accepted, where that is so: another CRD has them.
func namesRefused(crd *apiextensionsv1.CustomResourceDefinition) string {
	for _, c := range crd.Status.Conditions {
		if c.Type == apiextensionsv1.NamesAccepted && c.Status == apiextensionsv1.ConditionFalse {
			return ": " + c.Message
		}
	}
	return ""
}

func established(crd *apiextensionsv1.CustomResourceDefinition) bool {
	for _, c := range crd.Status.Conditions {
		if c.Type == apiextensionsv1.Established {
			return c.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}
