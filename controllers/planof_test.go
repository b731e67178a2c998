package controllers

import (
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// ran is a process with a box that says one thing now, and the history of what it said before.
func ran(t *testing.T, now string, before ...*v1alpha1.OperatorBox) (*OperatorBoxReconciler, *history) {
	t.Helper()
	g := NewWithT(t)
	h := newHistory(t)
	for _, old := range before {
		g.Expect(h.Keep(t.Context(), old)).To(Succeed())
	}
	crd := &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: now, UID: "crd", Generation: 1},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "demo.example.com", Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "websites", Kind: "Website"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}},
			}},
		},
	}
	scheme := testScheme(t)
	g.Expect(apiextensionsv1.AddToScheme(scheme)).To(Succeed())
	box := saying(now, "")
	box.Generation = 7
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(crd, box).Build()
	e, err := engine.New(engine.Config{REST: &rest.Config{Host: "https://127.0.0.1:1"}, Mapper: meta.NewDefaultRESTMapper(nil)})
	g.Expect(err).NotTo(HaveOccurred())
	r := &OperatorBoxReconciler{Client: c, Live: c, Mapper: meta.NewDefaultRESTMapper(nil), Engine: e, CRDs: NewCRDs(c), Revisions: h.Revisions}
	return r, h
}

// suspendedOnce is what the box said before: the same CRD, but suspended.
func suspendedOnce() *v1alpha1.OperatorBox {
	old := saying(websitesCRD, "")
	old.Spec.Suspend = true
	return old
}

func TestPlanOfAKeptRevision(t *testing.T) {
	g := NewWithT(t)
	old := suspendedOnce()
	r, h := ran(t, websitesCRD, old)
	name := pipeline.Revision(old)
	plan, err := r.PlanOf(t.Context(), "shop", name, "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(plan.Revision).To(Equal(name))
	g.Expect(plan.Generation).To(BeZero(), "nobody takes it for the box's own spec")
	g.Expect(plan.CRD.Kind.Version).To(Equal("v1"))

	h.asked = nil
	again, err := r.PlanOf(t.Context(), "shop", name, "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again).To(BeIdenticalTo(plan))
	g.Expect(h.asked).To(BeEmpty())

	crd := &apiextensionsv1.CustomResourceDefinition{}
	g.Expect(r.Client.Get(t.Context(), types.NamespacedName{Name: websitesCRD}, crd)).To(Succeed())
	crd.Generation = 2
	g.Expect(r.Client.Update(t.Context(), crd)).To(Succeed())
	again, err = r.PlanOf(t.Context(), "shop", name, "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again).NotTo(BeIdenticalTo(plan), "the CRD is another")
}

func TestPlanOfWhatCanNotBeHad(t *testing.T) {
	foreign := saying(othersCRD, "")
	dropped := saying(websitesCRD, "")
	dropped.Spec.CRD.Version = "v0"
	wrong := saying(websitesCRD, "")
	wrong.Spec.Finalizers = []v1alpha1.ShortString{"not-qualified"}
	r, _ := ran(t, websitesCRD, foreign, dropped, wrong)
	for name, c := range map[string]struct{ box, revision, want string }{
		"no box":             {"cart", "cart-0123456789", `reading OperatorBox "cart"`},
		"no revision":        {"shop", "shop-0123456789", `revision "shop-0123456789" of box "shop" is no longer kept`},
		"another CRD":        {"shop", pipeline.Revision(foreign), `is for CustomResourceDefinition "` + othersCRD + `", and the box serves "` + websitesCRD + `"`},
		"a version not had":  {"shop", pipeline.Revision(dropped), `does not serve version "v0"; it serves v1`},
		"a spec with errors": {"shop", pipeline.Revision(wrong), `does not compile any more: spec.finalizers[0]`},
	} {
		t.Run(name, func(t *testing.T) {
			plan, err := r.PlanOf(t.Context(), c.box, c.revision, "")
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(c.want)))
			NewWithT(t).Expect(plan).To(BeNil())
		})
	}
}

// A plan is not made without what former revisions tell, but for a manager that may not read them.
func TestABoxWaitsForItsHistory(t *testing.T) {
	resource := schema.GroupResource{Group: "apps", Resource: "controllerrevisions"}
	for name, tc := range map[string]struct {
		err  error
		want string // in the error of the reconcile; empty: it is not about revisions
	}{
		"that can't be read at the moment": {apierrors.NewInternalError(errors.New("etcd is away")), `reading the revisions of OperatorBox "shop"`},
		"that may not be read":             {apierrors.NewForbidden(resource, "", errors.New("no such right")), ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r, h := ran(t, websitesCRD)
			h.fails = tc.err
			r.Claims = NewClaims(r.Client, testclock.NewFakePassiveClock(time.Now()))
			r.Reports = &Reports{Engine: r.Engine, Claims: r.Claims, Changed: func(string, bool) {}}
			_, err := r.reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "shop"}})
			if tc.want == "" {
				g.Expect(fmt.Sprint(err)).NotTo(ContainSubstring("revisions"))
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(tc.want)))
		})
	}
}
