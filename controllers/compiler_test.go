package controllers

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/engine"
	"github.com/orkspace/orkestra/engine/revision"
)

// shop is a box whose spec names a CRD.
func shop(crd string) *v1alpha1.OperatorBox {
	box := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: "shop", UID: "box", Generation: 7}}
	box.Spec.CRD.Name = crd
	return box
}

// ran is a process that serves a box; fails is what lists of its revisions end with.
func ran(t *testing.T, fails error) *OperatorBoxReconciler {
	t.Helper()
	g := NewWithT(t)
	crd := &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: websitesCRD, UID: "crd", Generation: 1},
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
	g.Expect(appsv1.AddToScheme(scheme)).To(Succeed())
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(crd, shop(websitesCRD)).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, ok := list.(*appsv1.ControllerRevisionList); ok && fails != nil {
				return fails
			}
			return c.List(ctx, list, opts...)
		},
	}).Build()
	mapper := meta.NewDefaultRESTMapper(nil)
	e, err := engine.New(engine.Config{REST: &rest.Config{Host: "https://127.0.0.1:1"}, Mapper: mapper})
	g.Expect(err).NotTo(HaveOccurred())
	store, revisions := crds.NewStore(c, c), revision.NewStore(c, c, "our-system")
	compiler := &Compiler{Client: c, Mapper: mapper, CRDs: store, Revisions: revisions}
	return &OperatorBoxReconciler{
		Client: c, Live: c, Engine: e, CRDs: store, Revisions: revisions, Compiler: compiler, Plans: revision.NewPlans(revisions, compiler),
	}
}

func TestCompileFormer(t *testing.T) {
	dropped := shop(websitesCRD)
	dropped.Spec.CRD.Version = "v0"
	wrong := shop(websitesCRD)
	wrong.Spec.Finalizers = []v1alpha1.ShortString{"not-qualified"}
	c := ran(t, nil).Compiler
	for name, tc := range map[string]struct {
		former  *v1alpha1.OperatorBox
		version string
		want    string // of the refusal; empty: it compiles
	}{
		"as it is":                        {former: shop(websitesCRD)},
		"in a version that is served":     {former: dropped, version: "v1"},
		"another CRD":                     {former: shop(othersCRD), want: ` is for CustomResourceDefinition "` + othersCRD + `", and the box serves "` + websitesCRD + `"`},
		"a version not had":               {former: dropped, want: `: CustomResourceDefinition "` + websitesCRD + `" does not serve version "v0"; it serves v1`},
		"a version asked for and not had": {former: shop(websitesCRD), version: "v2", want: "does not serve its storage version"},
		"a spec with errors":              {former: wrong, want: " does not compile any more: spec.finalizers[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			live, err := c.CRD(t.Context(), shop(websitesCRD))
			g.Expect(err).NotTo(HaveOccurred())
			plan, refusal := c.CompileFormer(t.Context(), tc.former, live, tc.version)
			if tc.want != "" {
				g.Expect(refusal).To(ContainSubstring(tc.want))
				g.Expect(plan).To(BeNil())
				return
			}
			g.Expect(refusal).To(BeEmpty())
			g.Expect(plan.CRD.Kind.Version).To(Equal("v1"))
		})
	}
}

func TestTheBoxOfACompiler(t *testing.T) {
	g := NewWithT(t)
	c := ran(t, nil).Compiler
	g.Expect(c.Box(t.Context(), "shop")).To(HaveField("Spec.CRD.Name", websitesCRD))
	_, err := c.Box(t.Context(), "cart")
	g.Expect(err).To(MatchError(ContainSubstring(`reading OperatorBox "cart"`)))
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
			r := ran(t, tc.err)
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
