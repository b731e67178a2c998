package manifests_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// annotation reads one of Artifact Hub's in Chart.yaml; a field that the type does not have is an error.
func annotation(t *testing.T, name string, into any) {
	t.Helper()
	text, _, err := unstructured.NestedString(readYAML(t, chart+"/Chart.yaml"), "annotations", "artifacthub.io/"+name)
	if err != nil || text == "" {
		t.Fatalf("Chart.yaml has no annotation %s: %v", name, err)
	}
	if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
		t.Fatalf("reading the annotation %s: %v", name, err)
	}
}

// TestArtifactHub: what the chart's page on Artifact Hub says is what the chart installs.
func TestArtifactHub(t *testing.T) {
	g := NewWithT(t)
	var images []struct{ Name, Image string }
	annotation(t, "images", &images)
	repository := readYAML(t, chart+"/values.yaml")["image"].(map[string]any)["repository"].(string)
	var names []string
	for _, image := range images {
		names = append(names, image.Image)
	}
	g.Expect(names).To(ConsistOf(repository+":"+appVersion(t), repository+"-providers:"+appVersion(t)))

	var crds []struct{ Kind, Version, Name, DisplayName, Description string }
	annotation(t, "crds", &crds)
	var told, made []string
	for _, crd := range crds {
		g.Expect(crd.DisplayName).NotTo(BeEmpty())
		g.Expect(crd.Description).NotTo(BeEmpty())
		told = append(told, crd.Kind+" "+crd.Version+" "+crd.Name)
	}
	for _, object := range helm(t).ofKind("CustomResourceDefinition") {
		crd := typed[apiextensionsv1.CustomResourceDefinition](t, object)
		made = append(made, crd.Spec.Names.Kind+" "+crd.Spec.Versions[0].Name+" "+crd.Name)
	}
	g.Expect(told).To(ConsistOf(made))

	var changes []struct{ Kind, Description string }
	annotation(t, "changes", &changes)
	g.Expect(changes).NotTo(BeEmpty())
	for _, change := range changes {
		g.Expect([]string{"added", "changed", "deprecated", "removed", "fixed", "security"}).To(ContainElement(change.Kind))
		g.Expect(change.Description).NotTo(BeEmpty())
	}
}

// TestArtifactHubExamples: the box is that of the simplest sample, whose life other tests run, and there is an example of each kind.
func TestArtifactHubExamples(t *testing.T) {
	g := NewWithT(t)
	var examples []map[string]any
	annotation(t, "crdsExamples", &examples)
	kinds := make([]string, 0, len(examples))
	for _, example := range examples {
		object := &unstructured.Unstructured{Object: example}
		kinds = append(kinds, object.GetKind())
		switch object.GetKind() {
		case "OperatorBox":
			g.Expect(typed[v1alpha1.OperatorBox](t, object).APIVersion).To(Equal(v1alpha1.GroupVersion.String()))
			g.Expect(example).To(Equal(readYAML(t, filepath.Join(root, "config", "samples", "hello", "box.yaml"))))
		case "CRDHealth":
			g.Expect(typed[v1alpha1.CRDHealth](t, object).APIVersion).To(Equal(v1alpha1.GroupVersion.String()))
		}
	}
	slices.Sort(kinds)
	g.Expect(kinds).To(Equal([]string{"CRDHealth", "OperatorBox"}))
}

// TestChartHasNoTests: the suites, and what the README is made of, are not packed.
func TestChartHasNoTests(t *testing.T) {
	g := NewWithT(t)
	ignored, err := os.ReadFile(chart + "/.helmignore")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(ignored)).To(And(ContainSubstring("\ntests/\n"), ContainSubstring("\nREADME.md.gotmpl\n")))
}
