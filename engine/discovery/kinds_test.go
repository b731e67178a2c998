package discovery

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"
)

const widgetCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.demo.example.com}
spec:
  group: demo.example.com
  scope: Cluster
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}}
  - {name: v2, served: false, storage: false, schema: {openAPIV3Schema: {type: object}}}
`

var (
	widget     = schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Widget"}
	aggregated = schema.GroupVersionKind{Group: "metrics.example.com", Version: "v1", Kind: "Sample"}
	deployment = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
)

// kindsOf are the kinds of a cluster that has a CRD of Widgets, and Samples of an aggregated API server.
func kindsOf(t *testing.T) (*Kinds, *dynamicfake.FakeDynamicClient) {
	t.Helper()
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(widget, meta.RESTScopeRoot)
	mapper.Add(widget.GroupKind().WithVersion("v2"), meta.RESTScopeRoot)
	mapper.Add(aggregated, meta.RESTScopeNamespace)
	crd := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(widgetCRD), &crd.Object); err != nil {
		t.Fatal(err)
	}
	s := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	client := dynamicfake.NewSimpleDynamicClient(s, crd)
	return NewKinds(client, mapper), client
}

func TestHowKindsAreServed(t *testing.T) {
	g := NewWithT(t)
	k, _ := kindsOf(t)
	for kind, want := range map[schema.GroupVersionKind]bool{widget: false, aggregated: true} {
		namespaced, err := k.Namespaced(kind)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(namespaced).To(Equal(want), kind.Kind)
	}
	_, err := k.Namespaced(deployment)
	g.Expect(meta.IsNoMatchError(errors.Unwrap(err))).To(BeTrue())
	g.Expect(err).To(MatchError(HavePrefix("finding kind Deployment: ")))
}

func TestSchemasAreLearnedOnce(t *testing.T) {
	g := NewWithT(t)
	k, client := kindsOf(t)
	reads := func() int { return len(client.Actions()) }
	g.Expect(k.Knows(widget)).To(BeFalse())
	g.Expect(k.Schema(widget)).To(BeNil())
	g.Expect(k.Learn(t.Context(), widget)).To(Succeed())
	g.Expect(k.Knows(widget)).To(BeTrue())
	g.Expect(k.Schema(widget).Properties).To(HaveKey("spec"))
	k.Forget([]schema.GroupVersionKind{widget})
	g.Expect(k.Knows(widget)).To(BeFalse(), "what it says was refused")

	g.Expect(k.Learn(t.Context(), aggregated)).To(Succeed())
	g.Expect(k.Knows(aggregated)).To(BeTrue(), "it has none that could be read")
	g.Expect(k.Schema(aggregated)).To(BeNil())
	before := reads()
	g.Expect(k.Knows(deployment)).To(BeTrue())
	g.Expect(k.Learn(t.Context(), deployment)).To(Succeed())
	g.Expect(reads()).To(Equal(before), "Kubernetes has it itself")

	old := widget.GroupKind().WithVersion("v2")
	g.Expect(k.Learn(t.Context(), old)).To(Succeed())
	g.Expect(k.Knows(old)).To(BeFalse(), "it is not served")
	g.Expect(k.Learn(t.Context(), deployment.GroupKind().WithVersion("v9"))).To(MatchError(ContainSubstring("finding kind Deployment")))
	client.PrependReactor("get", "customresourcedefinitions", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("away")
	})
	g.Expect(k.Learn(t.Context(), widget)).To(MatchError(`reading CustomResourceDefinition "widgets.demo.example.com": away`))
}
