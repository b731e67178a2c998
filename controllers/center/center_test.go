package center

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// A box that serves nothing is there: it is not said that it can't be found, but why it serves nothing.
func TestABoxThatServesNothingSaysWhy(t *testing.T) {
	box := func(status metav1.ConditionStatus, reason, message string) *v1alpha1.OperatorBox {
		return &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Status: v1alpha1.OperatorBoxStatus{
			Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status, Reason: reason, Message: message}},
		}}
	}
	for name, tc := range map[string]struct {
		box  *v1alpha1.OperatorBox
		want string
	}{
		"new":             {&v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, `OperatorBox "shop" serves no resources: no manager has looked for its CRD yet`},
		"behind another":  {box(metav1.ConditionFalse, v1alpha1.ReasonCRDClaimed, "another one runs it"), `OperatorBox "shop" serves no resources: CRDClaimed: another one runs it`},
		"it says nothing": {box(metav1.ConditionTrue, "Running", ""), `OperatorBox "shop" serves no resources: no manager has looked for its CRD yet`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := KindOf(tc.box)
			g.Expect(err).To(MatchError(tc.want))
			g.Expect(apierrors.IsConflict(err)).To(BeTrue())
			g.Expect(apierrors.IsNotFound(err)).To(BeFalse())
			g.Expect(err.(apierrors.APIStatus).Status().Code).To(BeEquivalentTo(http.StatusConflict))
		})
	}
	g := NewWithT(t)
	known := box(metav1.ConditionFalse, v1alpha1.ReasonCRDClaimed, "")
	known.Status.CRD.Name, known.Status.CRD.Kind, known.Status.CRD.Version = "shops.example.com", "Shop", "v1"
	g.Expect(KindOf(known)).To(Equal(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Shop"}))
}
