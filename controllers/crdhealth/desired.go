package crdhealth

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/health"
)

// desiredHealth gives the CRDHealth that a box should have, with the status that it has; current is nil where it has none. The
// CRD's name is that of the box's spec; where the box holds a definition, that of its report, and before there is one that of
// its status. It gives nil where the name is not known yet. Another controller of the object is dropped from its owners: Kubernetes allows
// one, and that is the box. Finalizers of others are dropped, too: they would hold the box back when it is deleted, and nobody but the manager
// may take them off a CRDHealth that belongs to a box.
func desiredHealth(
	box *v1alpha1.OperatorBox, current *v1alpha1.CRDHealth, reported string, scheme *runtime.Scheme,
) (*v1alpha1.CRDHealth, error) {
	wanted := &v1alpha1.CRDHealth{ObjectMeta: metav1.ObjectMeta{Name: box.Name}}
	if current != nil {
		wanted = current.DeepCopy()
	}
	crd := cmp.Or(box.Spec.CRD.Name, reported, box.Status.CRD.Name, wanted.Spec.CRD.Name)
	if crd == "" {
		return nil, nil
	}
	wanted.Spec = v1alpha1.CRDHealthSpec{
		OperatorBoxRef: &v1alpha1.OperatorBoxReference{Name: box.Name},
		CRD:            v1alpha1.CRDName{Name: crd},
	}
	wanted.OwnerReferences = slices.DeleteFunc(wanted.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.Controller != nil && *o.Controller && o.UID != box.UID
	})
	wanted.Finalizers = slices.DeleteFunc(wanted.Finalizers, func(f string) bool { return !slices.Contains(ofAPIServer, f) })
	if err := controllerutil.SetControllerReference(box, wanted, scheme); err != nil {
		return nil, fmt.Errorf("taking over CRDHealth %q: %w", box.Name, err)
	}
	return wanted, nil
}

// ofAPIServer are the finalizers by which Kubernetes itself deletes in the foreground, or leaves dependents behind.
var ofAPIServer = []string{metav1.FinalizerDeleteDependents, metav1.FinalizerOrphanDependents}

// standsAlone says whether a CRDHealth is for a CRD that another operator runs. It is called where there is no box of its name. One with a
// controller is that of a box that is gone, and the garbage collector is about to delete it.
func standsAlone(h *v1alpha1.CRDHealth) bool {
	return h != nil && h.Spec.OperatorBoxRef == nil && metav1.GetControllerOf(h) == nil
}

// withoutBox says what a CRDHealth shows whose spec names a box, where there is no box of its own name. It gives false where nothing is
// to be written: there is no object, or the garbage collector is about to delete it.
func withoutBox(current *v1alpha1.CRDHealth) (health.Report, bool) {
	if current == nil || metav1.GetControllerOf(current) != nil {
		return health.Report{}, false
	}
	if ref := current.Spec.OperatorBoxRef; ref != nil && ref.Name != current.Name {
		return health.Report{
			Phase:  health.Stopped,
			Reason: v1alpha1.ReasonNotSupported,
			Message: fmt.Sprintf("spec.operatorBoxRef names %q, but the health of that box is in the CRDHealth of the same name",
				ref.Name),
			CRD: current.Spec.CRD.Name,
		}, true
	} else if ref != nil {
		return health.Report{
			Phase:   health.Stopped,
			Message: fmt.Sprintf("there is no OperatorBox %q", ref.Name),
			CRD:     current.Spec.CRD.Name,
		}, true
	}
	return health.Report{}, false
}

func readyMessage(h *v1alpha1.CRDHealth) string {
	if c := meta.FindStatusCondition(h.Status.Conditions, v1alpha1.ConditionReady); c != nil {
		return c.Message
	}
	return ""
}
