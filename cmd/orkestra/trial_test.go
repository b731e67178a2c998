package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	shared "github.com/orkspace/orkestra/test/fixtures"
)

// trial is a box for Websites that is tried without a cluster, by `orkestra validate` and `orkestra render`: they compile it as the
// manager does, and run the same plan on objects in memory. What a box means is tested here; what a cluster adds is in test/e2e.
type trial struct {
	*WithT

	t        *testing.T
	dir      string
	box, crd string // files
}

// outcome is a resource after its box has done all that it can, and its children.
type outcome struct {
	*WithT

	resource *unstructured.Unstructured
	children []*unstructured.Unstructured
}

const trialGroup = "trial.test"

var website = schema.GroupVersionKind{Group: trialGroup, Version: "v1", Kind: "Website"}

// object gives an object its kind.
func object(kind schema.GroupVersionKind, content map[string]any) map[string]any {
	obj := &unstructured.Unstructured{Object: content}
	obj.SetGroupVersionKind(kind)
	return obj.Object
}

// try writes down a box whose spec is given as YAML, without spec.crd, and its CRD.
func try(t *testing.T, spec string, changes ...func(*apiextensionsv1.CustomResourceDefinitionVersion)) *trial {
	t.Helper()
	b := &trial{WithT: NewWithT(t), t: t, dir: t.TempDir()}
	crd := shared.Website(trialGroup).CRD()
	crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	for _, change := range changes {
		change(&crd.Spec.Versions[0])
	}
	content := b.parsed(spec)
	content["crd"] = map[string]any{"name": crd.Name}
	b.crd = b.write("crd.yaml", crd)
	b.box = b.write("box.yaml", object(v1alpha1.GroupVersion.WithKind("OperatorBox"), map[string]any{"metadata": map[string]any{"name": "websites"}, "spec": content}))
	return b
}

func (b *trial) parsed(text string) map[string]any {
	b.t.Helper()
	content := map[string]any{}
	b.Expect(yaml.Unmarshal([]byte(text), &content)).To(Succeed())
	return content
}

func (b *trial) write(name string, content any) string {
	b.t.Helper()
	text, err := yaml.Marshal(content)
	b.Expect(err).NotTo(HaveOccurred())
	path := filepath.Join(b.dir, name)
	b.Expect(os.WriteFile(path, text, 0o600)).To(Succeed())
	return path
}

// mistakes gives what the author of the box is told about it, one mistake each, with its path.
func (b *trial) mistakes() []string {
	b.t.Helper()
	stdout, stderr, code := orkestra(b.t, "", "validate", "-f", b.box, "--crd", b.crd)
	b.Expect(code).To(Equal(exit.No), stdout+stderr)
	var found []string
	for line := range strings.Lines(stdout) {
		if _, mistake, ok := strings.Cut(line, `: OperatorBox "websites": `); ok {
			found = append(found, strings.TrimSpace(mistake))
		}
	}
	return found
}

// refused says that the author of the box is told all of this.
func (b *trial) refused(texts ...string) {
	b.t.Helper()
	found := strings.Join(b.mistakes(), "\n")
	for _, text := range texts {
		b.Expect(found).To(ContainSubstring(text))
	}
}

// website is a resource with a spec that is given as YAML, and what comes of it.
func (b *trial) website(name, spec string) *outcome {
	b.t.Helper()
	return b.websites(map[string]string{name: spec})[name]
}

// websites are resources by name.
func (b *trial) websites(specs map[string]string) map[string]*outcome {
	b.t.Helper()
	resources := make([]map[string]any, 0, len(specs))
	for name, spec := range specs {
		resources = append(resources, map[string]any{"metadata": map[string]any{"name": name}, "spec": b.parsed(spec)})
	}
	return b.render(resources...)
}

// render gives what comes of resources, which are written without their kind, by name.
func (b *trial) render(resources ...map[string]any) map[string]*outcome {
	b.t.Helper()
	items := make([]any, 0, len(resources))
	for _, r := range resources {
		items = append(items, object(website, r))
	}
	path := b.write("resources.yaml", object(corev1.SchemeGroupVersion.WithKind("List"), map[string]any{"items": items}))
	stdout, stderr, code := orkestra(b.t, "", "render", "-f", b.box, "--crd", b.crd, "-r", path, "--status", "-o", "json")
	b.Expect(code).NotTo(Equal(exit.Usage), stderr)
	var list unstructured.UnstructuredList
	b.Expect(json.Unmarshal([]byte(stdout), &list)).To(Succeed(), stderr)
	found := map[string]*outcome{}
	o := &outcome{WithT: b.WithT}
	for i := range list.Items {
		if obj := &list.Items[i]; obj.GroupVersionKind() == website { // it stands behind its children
			o.resource = obj
			found[obj.GetName()] = o
			o = &outcome{WithT: b.WithT}
		} else {
			o.children = append(o.children, obj)
		}
	}
	b.Expect(found).To(HaveLen(len(resources)), stderr)
	return found
}

// condition is a condition of the resource.
func (o *outcome) condition(kind string) *metav1.Condition {
	var conditions []metav1.Condition
	raw, err := json.Marshal(o.status()["conditions"])
	o.Expect(err).NotTo(HaveOccurred())
	o.Expect(json.Unmarshal(raw, &conditions)).To(Succeed())
	return meta.FindStatusCondition(conditions, kind)
}

func (o *outcome) status() map[string]any {
	all, _ := o.resource.Object["status"].(map[string]any)
	return all
}

// shown is the status without what Orkestra always writes.
func (o *outcome) shown() map[string]any {
	own := map[string]any{}
	for name, value := range o.status() {
		if name != "conditions" && name != "observedGeneration" {
			own[name] = value
		}
	}
	return own
}

// settled says that all is done that is to be done.
func (o *outcome) settled() *outcome {
	o.Expect(o.condition(v1alpha1.ConditionReady)).To(HaveField("Status", metav1.ConditionTrue), "%v", o.status())
	o.Expect(o.condition(v1alpha1.ConditionReconciling)).To(HaveField("Status", metav1.ConditionFalse), "%v", o.status())
	return o
}

// stalled says why nothing is done until something changes, and that the resource is not ready.
func (o *outcome) stalled(reason, text string) {
	o.Expect(o.condition(v1alpha1.ConditionStalled)).To(And(
		HaveField("Status", metav1.ConditionTrue), HaveField("Reason", reason), HaveField("Message", ContainSubstring(text))))
	o.Expect(o.condition(v1alpha1.ConditionReady)).To(And(
		HaveField("Status", metav1.ConditionFalse), HaveField("Reason", v1alpha1.ReasonReconcileError)))
}

// childless says that nothing was made.
func (o *outcome) childless() { o.Expect(o.children).To(BeEmpty()) }

// names are the names of all children.
func (o *outcome) names() []string {
	var names []string
	for _, c := range o.children {
		names = append(names, c.GetName())
	}
	return names
}

// hasData says what is in a ConfigMap, and gives it.
func (o *outcome) hasData(name string, data map[string]string) *unstructured.Unstructured {
	for _, c := range o.children {
		if c.GetKind() != "ConfigMap" || c.GetName() != name {
			continue
		}
		found, _, err := unstructured.NestedStringMap(c.Object, "data")
		o.Expect(err).NotTo(HaveOccurred())
		o.Expect(found).To(Equal(data), name)
		return c
	}
	o.Expect(o.names()).To(ContainElement(name))
	return nil
}

// seen says that the groups have seen a spec that is this JSON.
func (o *outcome) seen(want string) {
	o.settled()
	o.Expect(o.children).To(HaveLen(1))
	text, _, err := unstructured.NestedString(o.children[0].Object, "data", "spec")
	o.Expect(err).NotTo(HaveOccurred())
	o.Expect(text).To(MatchJSON(want))
}
