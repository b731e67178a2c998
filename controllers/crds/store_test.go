package crds

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

const websitesCRD = "websites.demo.example.com"

// websites is a CRD that serves versions, the first of which is stored.
func websites(versions ...string) *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: websitesCRD, UID: "crd", Generation: 1},
	}
	crd.Spec.Group = "demo.example.com"
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: "websites", Kind: "Website"}
	for i, name := range versions {
		crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name: name, Served: true, Storage: i == 0,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}},
		})
	}
	return crd
}

// counting is a cluster that counts how often full CRDs are read.
func counting(t *testing.T, read *int, fails error, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	NewWithT(t).Expect(apiextensionsv1.AddToScheme(scheme)).To(Succeed())
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if _, full := obj.(*apiextensionsv1.CustomResourceDefinition); full {
				*read++
			}
			if fails != nil {
				return fails
			}
			return c.Get(ctx, key, obj, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if fails != nil {
				return fails
			}
			return c.List(ctx, list, opts...)
		},
	}).Build()
}

func TestACRDIsReadWhenItHasChanged(t *testing.T) {
	g := NewWithT(t)
	read := 0
	kube := counting(t, &read, nil, websites("v1"))
	s := NewStore(kube, kube)
	first, err := s.Find(t.Context(), "shop", websitesCRD)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(first.Spec.Group).To(Equal("demo.example.com"))
	again, err := s.Find(t.Context(), "shop", websitesCRD)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again).To(BeIdenticalTo(first))
	g.Expect(read).To(Equal(1))

	changed := first.DeepCopy()
	changed.Labels = map[string]string{"a": "b"}
	g.Expect(kube.Update(t.Context(), changed)).To(Succeed())
	again, err = s.Find(t.Context(), "shop", websitesCRD)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again.Labels).To(HaveKey("a"))
	g.Expect(read).To(Equal(2))

	s.Forget("shop")
	_, err = s.Find(t.Context(), "shop", websitesCRD)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(read).To(Equal(3), "it was forgotten")
	_, err = s.Find(t.Context(), "shop", "others.demo.example.com")
	g.Expect(apierrors.IsNotFound(err)).To(BeTrue())
	g.Expect(read).To(Equal(3), "the cache knows that there is none")
}

// What somebody has just made is not in the cache yet.
func TestACRDThatTheCacheHasNotSeen(t *testing.T) {
	g := NewWithT(t)
	read := 0
	behind, ahead := counting(t, &read, nil), counting(t, &read, nil, websites("v1"))
	found, err := NewStore(behind, ahead).FindLive(t.Context(), "shop", websitesCRD)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found.UID).To(BeEquivalentTo("crd"))
	found, err = NewStore(behind, behind).FindLive(t.Context(), "shop", websitesCRD)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found).To(BeNil())
	_, err = NewStore(behind, counting(t, &read, errors.New("away"))).FindLive(t.Context(), "shop", websitesCRD)
	g.Expect(err).To(MatchError(`reading CustomResourceDefinition "` + websitesCRD + `": away`))
}

func TestTheNearestName(t *testing.T) {
	g := NewWithT(t)
	read := 0
	kube := counting(t, &read, nil, websites("v1"))
	g.Expect(Nearest(t.Context(), kube, "website.demo.example.com")).To(Equal(`, did you mean "` + websitesCRD + `"?`))
	g.Expect(Nearest(t.Context(), kube, "nothing.like.it")).To(BeEmpty())
	away := counting(t, &read, errors.New("away"))
	g.Expect(Nearest(t.Context(), away, "website.demo.example.com", websitesCRD)).To(Equal(`, did you mean "`+websitesCRD+`"?`), "the others count")
	g.Expect(NewStore(kube, kube).Missing(t.Context(), "statefulsets.apps")).To(Equal(
		`"statefulsets.apps" is the StatefulSet of Kubernetes itself, which no CustomResourceDefinition defines: name a CRD, and declare StatefulSets as children of its resources; or serve some of them: crd: {apiVersion, kind: StatefulSet} with a selector`))
	g.Expect(NewStore(kube, kube).Missing(t.Context(), "pods")).To(HavePrefix(`"pods" is the Pod of Kubernetes itself`))
	g.Expect(NewStore(kube, kube).Missing(t.Context(), "nothing.like.it")).To(Equal(
		`CustomResourceDefinition "nothing.like.it" does not exist; it is picked up when it is created`))
}

func TestWhichCRDABoxServes(t *testing.T) {
	definition := &apiextensionsv1.JSON{Raw: []byte(`{"group": "demo.example.com", "scope": "Namespaced",
		"names": {"plural": "websites", "kind": "Website"}, "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]}`)}
	for name, tc := range map[string]struct {
		spec   v1alpha1.CRDReference
		status v1alpha1.CRDStatus
		want   string
		hears  []string // of which CRDs
	}{
		"it names one":                      {v1alpha1.CRDReference{Name: "a.b"}, v1alpha1.CRDStatus{Name: "c.d", Version: "v1"}, "a.b", []string{"a.b"}},
		"it defines one":                    {v1alpha1.CRDReference{Definition: definition}, v1alpha1.CRDStatus{}, websitesCRD, []string{websitesCRD}},
		"it defines another than it has":    {v1alpha1.CRDReference{Definition: definition}, v1alpha1.CRDStatus{Name: "c.d", Version: "v1"}, "c.d", []string{"c.d", websitesCRD}},
		"it never had what its status says": {v1alpha1.CRDReference{Definition: definition}, v1alpha1.CRDStatus{Name: "c.d"}, websitesCRD, []string{websitesCRD}},
		"its definition can't be read":      {v1alpha1.CRDReference{Definition: &apiextensionsv1.JSON{Raw: []byte(`{"group": 1}`)}}, v1alpha1.CRDStatus{}, "", []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			box := &v1alpha1.OperatorBox{}
			box.Spec.CRD, box.Status.CRD = tc.spec, tc.status
			g := NewWithT(t)
			g.Expect(NameOf(box)).To(Equal(tc.want))
			g.Expect(Indexed(box)).To(Equal(tc.hears))
		})
	}
}

func TestWhichVersionABoxWorksIn(t *testing.T) {
	for name, tc := range map[string]struct {
		asks, worked string
		serves       []string
		want         string
		refusal      string
	}{
		"the stored one":                {"", "", []string{"v2", "v1"}, "v2", ""},
		"the one that it worked in":     {"", "v1", []string{"v2", "v1"}, "v1", ""},
		"not one that went":             {"", "v1", []string{"v2"}, "v2", ""},
		"the one that it asks for":      {"v1", "v2", []string{"v2", "v1"}, "v1", ""},
		"only the one that it asks for": {"v3", "v2", []string{"v2", "v1"}, "", `does not serve version "v3"; it serves v1, v2`},
		"none":                          {"", "", nil, "", "does not serve its storage version; serve it, or name one of the others in crd.version: none"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			box, crd := &v1alpha1.OperatorBox{}, websites(tc.serves...)
			box.Spec.CRD.Version = tc.asks
			box.Status.CRD = v1alpha1.CRDStatus{Name: websitesCRD, Version: tc.worked}
			picked, ok := OwnVersion(box, crd)
			g.Expect(ok).To(Equal(tc.refusal == ""))
			g.Expect(picked.Kind.Version).To(Equal(tc.want))
			if tc.refusal != "" {
				g.Expect(NotServed(box, crd)).To(HaveSuffix(tc.refusal))
			}
			box.Status.CRD.Name = "another"
			g.Expect(WorkedIn(box, crd)).To(BeEmpty())
		})
	}
}

func TestTheFirstVersionThatIsServed(t *testing.T) {
	g := NewWithT(t)
	crd := websites("v2", "v1", "v3")
	crd.Spec.Versions[1].Served = false
	for want, wanted := range map[string][]string{"v3": {"v1", "v3", "v2"}, "v2": {"v1", ""}} {
		picked, ok := First(crd, wanted...)
		g.Expect(ok).To(BeTrue())
		g.Expect(picked.Kind.Version).To(Equal(want))
	}
	crd.Spec.Versions[0].Served = false
	picked, ok := First(crd, "v1", "")
	g.Expect(ok).To(BeTrue())
	g.Expect(picked.Kind.Version).To(Equal("v3"), "the first that is served at all")
	_, ok = First(websites())
	g.Expect(ok).To(BeFalse())
}

func TestNotEstablished(t *testing.T) {
	yes, no := apiextensionsv1.ConditionTrue, apiextensionsv1.ConditionFalse
	for name, tc := range map[string]struct {
		conditions []apiextensionsv1.CustomResourceDefinitionCondition
		want       string
	}{
		"new":          {nil, `CustomResourceDefinition "` + websitesCRD + `" is not established yet`},
		"established":  {[]apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.NamesAccepted, Status: yes}, {Type: apiextensionsv1.Established, Status: yes}}, ""},
		"names taken":  {[]apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.NamesAccepted, Status: no, Message: "taken"}, {Type: apiextensionsv1.Established, Status: no}}, `CustomResourceDefinition "` + websitesCRD + `" is not established yet: taken`},
		"served still": {[]apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.NamesAccepted, Status: no, Message: "taken"}, {Type: apiextensionsv1.Established, Status: yes}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			crd := websites("v1")
			crd.Status.Conditions = tc.conditions
			NewWithT(t).Expect(NotEstablished(crd)).To(Equal(tc.want))
		})
	}
}
