package operatorbox

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

// finder finds the CRD of a box, and the version that the box works in.
type finder struct {
	Ports

	installer installer
}

// find finds the CRD of a box, which it installs or changes where the box defines it. Without a CRD there is nothing to watch, and the
// box's sub-controller is stopped; the event of the CRD starts it again.
func (f *finder) find(ctx context.Context, s *scope) (stop bool, err error) {
	if s.crd, err = f.locate(ctx, s); err != nil || s.live != nil {
		return false, err
	}
	return true, f.Engine.Remove(s.box.Name)
}

// locate gives the CRD of a box in the version that it works in; nil, and the reason in the scope, when it can't be served now.
func (f *finder) locate(ctx context.Context, s *scope) (*pipeline.CRD, error) {
	if s.box.Spec.CRD.Definition != nil {
		ok, err := f.installer.install(ctx, s)
		if err != nil {
			return nil, err
		}
		if !ok {
			s.refused = true
			return f.installed(ctx, s)
		}
	}
	live, err := f.CRDs.Of(ctx, s.box, s.crdName)
	if apierrors.IsNotFound(err) {
		s.noCRD(phaseWithout(s.box), v1alpha1.ReasonCRDMissing, f.CRDs.MissingOf(ctx, s.box, s.crdName))
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if why := crds.NotEstablished(live); why != "" {
		s.noCRD(health.Pending, v1alpha1.ReasonCRDNotEstablished, why)
		return nil, nil
	}
	return f.pick(s, live), nil
}

// installed gives the CRD that the box installed before its definition was refused: the box goes on with it. nil: there is
// none.
func (f *finder) installed(ctx context.Context, s *scope) (*pipeline.CRD, error) {
	if s.crdName == "" {
		return nil, nil //nolint:nilnil // see the comment above
	}
	live, err := f.CRDs.Find(ctx, s.box.Name, s.crdName)
	if apierrors.IsNotFound(err) || err == nil && (!madeBy(s.box, live) || crds.NotEstablished(live) != "") {
		return nil, nil //nolint:nilnil // see the comment above
	}
	if err != nil {
		return nil, err
	}
	return f.pick(s, live), nil
}

// pick gives the box's own version of a CRD that is there; nil, and the reason in the scope, when that is not served.
func (f *finder) pick(s *scope, live *apiextensionsv1.CustomResourceDefinition) *pipeline.CRD {
	s.live = live
	picked, ok := crds.OwnVersion(s.box, live)
	if !ok {
		s.noCRD(health.Pending, v1alpha1.ReasonCRDVersionNotServed, crds.NotServed(s.box, live))
		return nil
	}
	if worked := crds.WorkedIn(s.box, live); s.box.Spec.CRD.Version == "" && worked != "" && worked != picked.Kind.Version {
		f.announceVersion(s.box, picked)
	}
	s.established()
	return &picked
}

// announceVersion makes an event of the change to another version. That happens once: the status names the new version afterwards.
func (f *finder) announceVersion(box *v1alpha1.OperatorBox, picked pipeline.CRD) {
	if !f.Engine.Leading() || f.Events == nil {
		return
	}
	f.Events.Eventf(box, nil, corev1.EventTypeWarning, v1alpha1.ReasonCRDVersionChanged, "Reconcile",
		"version %q of %s is no longer served; the box works in %q from now on", box.Status.CRD.Version, picked.Name, picked.Kind.Version)
}

// phaseWithout is the phase of a box whose CRD does not exist: it was deleted, or has never been there.
func phaseWithout(box *v1alpha1.OperatorBox) health.Phase {
	if box.Status.CRD.Version != "" {
		return health.Stopped
	}
	return health.Pending
}
