package operatorbox

import (
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/release"
)

// definition is what a box defines the websites with.
const definition = `{"group": "demo.example.com", "scope": "Namespaced", "names": {"plural": "websites", "singular": "website", "kind": "Website"},
	"versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}}}]}`

// defining is a box that installs its CRD.
func defining(spec string) *v1alpha1.OperatorBox {
	box := shop("")
	box.Spec.CRD.Definition = &apiextensionsv1.JSON{Raw: []byte(spec)}
	return box
}

// websites gives the CRD of the websites; nil: there is none.
func (p *process) websites(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	err := p.kube.Get(t.Context(), types.NamespacedName{Name: websitesCRD}, crd)
	if apierrors.IsNotFound(err) {
		return nil
	}
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return crd
}

// establish does what the API server does with a CRD that is new.
func (p *process) establish(t *testing.T) {
	t.Helper()
	crd := p.websites(t)
	crd.Status = websites().Status
	NewWithT(t).Expect(p.kube.Status().Update(t.Context(), crd)).To(Succeed())
}

func TestABoxInstallsItsCRD(t *testing.T) {
	g := NewWithT(t)
	p := newProcess(t, defining(definition))
	box, _ := p.serves(t, "shop")
	crd := p.websites(t)
	g.Expect(crd).NotTo(BeNil())
	g.Expect(crd.Labels).To(HaveKeyWithValue(v1alpha1.LabelBox, "shop"))
	g.Expect(crd.Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationInstalledBy, "shop"))
	g.Expect(condition(box, v1alpha1.ConditionReady)).To(HavePrefix("False CRDNotEstablished"))
	p.establish(t)
	box, _ = p.serves(t, "shop")
	g.Expect(p.engine.Plan("shop")).NotTo(BeNil(), condition(box, v1alpha1.ConditionReady))
	g.Expect(box.Status.CRD).To(Equal(v1alpha1.CRDStatus{Name: websitesCRD, Version: "v1", Kind: "Website", Established: true}))
	before := p.websites(t).ResourceVersion
	p.serves(t, "shop")
	g.Expect(p.websites(t).ResourceVersion).To(Equal(before), "it is as it was applied")
}

func TestADefinitionThatIsRefused(t *testing.T) {
	somebodys := websites()
	otherKind := installedCRD()
	otherKind.Spec.Names.Kind = "Site"
	otherScope := installedCRD()
	otherScope.Spec.Scope = apiextensionsv1.ClusterScoped
	stored := installedCRD()
	stored.Status.StoredVersions = []string{"v0", "v1"}
	for name, tc := range map[string]struct {
		spec string
		live *apiextensionsv1.CustomResourceDefinition
		want string
		runs bool // with the CRD that it installed before
	}{
		"no definition": {`{"group": 1}`, nil, "False CompileFailed: ", false},
		"a box that does not fit": {
			`{"group": "demo.example.com", "scope": "Namespaced", "names": {"plural": "websites", "kind": "Website"}, "versions": []}`, nil, "False CompileFailed: ", false,
		},
		"somebody's CRD": {definition, somebodys, `False CRDNotOwned: CustomResourceDefinition "` + websitesCRD + `" exists and this box did not make it`, false},
		"another kind":   {definition, otherKind, "False CRDRefused: crd.definition changes the kind from Site to Website", true},
		"another scope":  {definition, otherScope, "False CRDRefused: crd.definition changes scope from Cluster to Namespaced", true},
		"a version that is stored": {
			definition, stored, `False CRDRefused: crd.definition drops version "v0", in which resources may be stored; keep it with served: false`, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			objects := []client.Object{defining(tc.spec)}
			if tc.live != nil {
				objects = append(objects, tc.live.DeepCopy())
			}
			p := newProcess(t, objects...)
			box, _ := p.serves(t, "shop")
			g.Expect(condition(box, v1alpha1.ConditionReady)).To(HavePrefix(tc.want))
			g.Expect(condition(box, v1alpha1.ConditionStalled)).To(HavePrefix("True"))
			g.Expect(p.reports["shop"].Phase).To(Equal(health.Pending))
			g.Expect(p.engine.Plan("shop") != nil).To(Equal(tc.runs))
			if tc.live == nil {
				g.Expect(p.websites(t)).To(BeNil())
				return
			}
			g.Expect(p.websites(t).Spec).To(Equal(tc.live.Spec), "it is left alone")
		})
	}
}

func TestADefinitionOfAnotherName(t *testing.T) {
	g := NewWithT(t)
	box := defining(definition)
	box.Status.CRD = v1alpha1.CRDStatus{Name: othersCRD, Version: "v1", Kind: "Other", Established: true}
	others := websites()
	others.Name, others.UID = othersCRD, "others"
	p := newProcess(t, box, others)
	shown, _ := p.serves(t, "shop")
	g.Expect(condition(shown, v1alpha1.ConditionReady)).To(HavePrefix(
		`False CRDRefused: crd.definition changes the name of the CRD from "` + othersCRD + `" to "` + websitesCRD + `"; make another box for the new one`))
	g.Expect(p.websites(t)).To(BeNil())

	g.Expect(p.kube.Delete(t.Context(), others)).To(Succeed())
	p.serves(t, "shop")
	g.Expect(p.websites(t)).NotTo(BeNil(), "the former one is gone")
}

func TestTheCRDGoesWithItsBoxWhereThatIsAskedFor(t *testing.T) {
	for name, tc := range map[string]struct {
		policy v1alpha1.CRDDeletionPolicy
		change func(*apiextensionsv1.CustomResourceDefinition)
		goes   bool
	}{
		"asked for":                  {policy: v1alpha1.CRDDelete, goes: true},
		"not asked for":              {},
		"of a CRD that it only took": {policy: v1alpha1.CRDDelete, change: func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Annotations = nil }},
		"of a CRD that was given up": {policy: v1alpha1.CRDDelete, change: func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Labels = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			box := defining(definition)
			box.Spec.CRD.DeletionPolicy = tc.policy
			p := newProcess(t, box)
			p.serves(t, "shop")
			p.establish(t)
			p.serves(t, "shop")
			crd := p.websites(t)
			if tc.change != nil {
				tc.change(crd)
			}
			crd.Finalizers = []string{"customresourcecleanup.apiextensions.k8s.io"}
			g.Expect(p.kube.Update(t.Context(), crd)).To(Succeed())
			p.deleted(t)
			shown, _ := p.serves(t, "shop")
			if !tc.goes {
				g.Expect(shown).To(BeNil())
				g.Expect(p.websites(t).DeletionTimestamp).To(BeNil())
				return
			}
			g.Expect(p.engine.how).To(Equal(release.Resources))
			const waits = `False DeletionBlocked: the box is being deleted and waits for CustomResourceDefinition "` + websitesCRD + `" to be gone`
			g.Expect(condition(shown, v1alpha1.ConditionReady)).To(Equal(waits))
			crd = p.websites(t)
			g.Expect(crd.DeletionTimestamp).NotTo(BeNil())
			shown, _ = p.serves(t, "shop")
			g.Expect(condition(shown, v1alpha1.ConditionReady)).To(Equal(waits))
			crd.Finalizers = nil
			g.Expect(p.kube.Update(t.Context(), crd)).To(Succeed())
			shown, _ = p.serves(t, "shop")
			g.Expect(shown).To(BeNil())
		})
	}
}

func TestTheWordsOfARefusal(t *testing.T) {
	resource := schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "CustomResourceDefinition"}, websitesCRD, nil)
	invalid.ErrStatus.Details.Causes = []metav1.StatusCause{
		{Field: "spec.versions[0].schema", Message: "b"}, {Field: "spec.names", Message: "a"}, {Field: "spec.names", Message: "a"},
	}
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"of fields":          {invalid, "spec.crd.definition.names: a; spec.crd.definition.versions[0].schema: b"},
		"of another manager": {apierrors.NewConflict(resource, "x", errors.New("owned by helm")), `Operation cannot be fulfilled on customresourcedefinitions.apiextensions.k8s.io "x": owned by helm; crd.definition is never forced: write there what the others want, or have them give the fields up`},
		"without fields":     {apierrors.NewBadRequest("no"), "no"},
		"of no API server":   {errors.New("no"), "no"},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(refusal(tc.err)).To(Equal(tc.want))
		})
	}
}

// What the API server refuses is tried again now and then, and leaves what runs alone.
func TestACRDThatTheAPIServerRefuses(t *testing.T) {
	g := NewWithT(t)
	p := newProcess(t, defining(definition))
	p.unapplied = apierrors.NewInvalid(schema.GroupKind{Kind: "CustomResourceDefinition"}, websitesCRD, nil)
	box, result := p.serves(t, "shop")
	g.Expect(condition(box, v1alpha1.ConditionReady)).To(HavePrefix("False CRDRefused: "))
	g.Expect(result.RequeueAfter).To(Equal(access.RetryInterval))
	p.unapplied = nil
	p.serves(t, "shop")
	g.Expect(p.websites(t)).NotTo(BeNil())
}

// What is compiled after a change of the definition is compiled against that, though the cache has not seen it.
func TestADefinitionThatTheCacheHasNotSeen(t *testing.T) {
	g := NewWithT(t)
	p := newProcess(t, defining(definition))
	p.serves(t, "shop")
	p.establish(t)
	p.serves(t, "shop")
	before := p.websites(t)
	p.behind = &metav1.PartialObjectMetadata{ObjectMeta: before.ObjectMeta}
	p.edit(t, func(box *v1alpha1.OperatorBox) {
		second := strings.Replace(definition, `"versions": [`, `"versions": [{"name": "v2", "served": true, "storage": false, "schema": {"openAPIV3Schema": {"type": "object"}}}, `, 1)
		box.Spec.CRD.Definition.Raw, box.Spec.CRD.Version = []byte(second), "v2"
	})
	box, _ := p.serves(t, "shop")
	g.Expect(p.websites(t).Spec.Versions).To(HaveLen(2))
	g.Expect(condition(box, v1alpha1.ConditionCRDEstablished)).To(HavePrefix("True"))
	g.Expect(p.engine.Plan("shop").CRD.Kind.Version).To(Equal("v2"))
}
