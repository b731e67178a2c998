package operatorbox

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

func TestCompileFormer(t *testing.T) {
	dropped := shop(websitesCRD)
	dropped.Spec.CRD.Version = "v0"
	wrong := shop(websitesCRD)
	wrong.Spec.Finalizers = []v1alpha1.ShortString{"not-qualified"}
	c := newProcess(t, websites(), shop(websitesCRD)).ports.Compiler
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
	c := newProcess(t, websites(), shop(websitesCRD)).ports.Compiler
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
			p := newProcess(t, websites(), shop(websitesCRD))
			p.unlisted = tc.err
			_, err := p.reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "shop"}})
			if tc.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(p.engine.Plan("shop")).NotTo(BeNil())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(tc.want)))
		})
	}
}
