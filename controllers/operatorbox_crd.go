package controllers

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/pipeline"
)

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
	crd, err := r.CRDs.Find(ctx, box.Name, v.crdName)
	if apierrors.IsNotFound(err) {
		v.noCRD(phaseWithout(box), v1alpha1.ReasonCRDMissing, r.CRDs.Missing(ctx, v.crdName))
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if why := crds.NotEstablished(crd); why != "" {
		v.noCRD(health.Pending, v1alpha1.ReasonCRDNotEstablished, why)
		return nil, nil
	}
	return r.pick(box, crd, v), nil
}

// pick gives the box's own version of a CRD that is there; nil, and the reason in v, when that is not served.
func (r *OperatorBoxReconciler) pick(box *v1alpha1.OperatorBox, crd *apiextensionsv1.CustomResourceDefinition, v *view) *pipeline.CRD {
	v.live = crd
	picked, ok := crds.OwnVersion(box, crd)
	if !ok {
		v.noCRD(health.Pending, v1alpha1.ReasonCRDVersionNotServed, crds.NotServed(box, crd))
		return nil
	}
	if box.Spec.CRD.Version == "" && crds.WorkedIn(box, crd) != "" && crds.WorkedIn(box, crd) != picked.Kind.Version {
		r.sayFollowed(box, picked)
	}
	v.established()
	return &picked
}

// anyVersion is the version in which deletions are served when the box's own can't be relied on: that of the plan that runs,
// the box's own, the one that it worked in, the storage version, or the first; ok is false when none is served.
func (r *OperatorBoxReconciler) anyVersion(box *v1alpha1.OperatorBox, crd *apiextensionsv1.CustomResourceDefinition) (picked pipeline.CRD, ok bool) {
	var wanted []string
	if running := r.running(box, crd); running != nil {
		wanted = append(wanted, running.CRD.Kind.Version)
	}
	if own, ok := crds.OwnVersion(box, crd); ok {
		wanted = append(wanted, own.Kind.Version)
	}
	return crds.First(crd, append(wanted, crds.WorkedIn(box, crd), "")...)
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

// sayFollowed tells that the box changes to another version. It is said once: the status names the new one then.
func (r *OperatorBoxReconciler) sayFollowed(box *v1alpha1.OperatorBox, picked pipeline.CRD) {
	if !r.Engine.Leading() || r.Events == nil {
		return
	}
	r.Events.Eventf(box, nil, corev1.EventTypeWarning, "CRDVersionChanged", "Reconcile",
		"version %q of %s is no longer served; the box works in %q from now on", box.Status.CRD.Version, picked.Name, picked.Kind.Version)
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
