package crd_test

import (
	"os"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/config/crd"
)

func TestEmbeddedCRDs(t *testing.T) {
	kinds := map[string][]byte{"OperatorBox": crd.BoxDefinition(), "CRDHealth": crd.HealthDefinition()}
	for kind, raw := range kinds {
		t.Run(kind, func(t *testing.T) {
			g := NewWithT(t)
			var got apiextensionsv1.CustomResourceDefinition
			g.Expect(yaml.UnmarshalStrict(raw, &got)).To(Succeed())
			g.Expect(got.Spec.Names.Kind).To(Equal(kind))
			g.Expect(got.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties).To(HaveKey("spec"))
		})
	}

	g := NewWithT(t)
	bases, err := os.ReadDir("bases")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(bases).To(HaveLen(len(kinds)), "each generated CRD is embedded")
}

func TestCallersMayChangeWhatTheyGet(t *testing.T) {
	g := NewWithT(t)
	clear(crd.BoxDefinition())
	g.Expect(crd.BoxDefinition()).To(ContainSubstring("kind: OperatorBox"))
}

// TestMark: by its mark a manager knows its own CRD.
func TestMark(t *testing.T) {
	g := NewWithT(t)
	var own apiextensionsv1.CustomResourceDefinition
	g.Expect(yaml.UnmarshalStrict(crd.BoxDefinition(), &own)).To(Succeed())
	g.Expect(own.Name).To(Equal(crd.BoxName))
	g.Expect(crd.BoxSchema()).To(And(Not(BeEmpty()), Equal(own.Annotations[crd.SchemaAnnotation])))
}
