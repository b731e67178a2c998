package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/cmd/orkestra/initialize"
)

var _ = Describe("Init", func() {
	It("makes an operator of a chart's two instances, which runs both", func(ctx context.Context) {
		w := newWorldWithoutCRD(ctx)
		dir := filepath.Join(GinkgoT().TempDir(), "website")
		const testdata = "../../cmd/orkestra/initialize/testdata"
		bin, err := filepath.Abs("../../bin") // helm is there
		Expect(err).NotTo(HaveOccurred())
		GinkgoT().Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
		var notes bytes.Buffer
		command := initialize.NewCommand(nil, time.Now)
		command.SetArgs([]string{
			"Website", "--group", w.group, "--version", "v1", "-n", w.namespace, "-o", dir,
			"--chart", filepath.Join(testdata, "chart"), "--values", filepath.Join(testdata, "values-shop.yaml"), "--values", filepath.Join(testdata, "values-blog.yaml"),
		})
		command.SetOut(io.Discard)
		command.SetErr(&notes)
		Expect(command.ExecuteContext(ctx)).To(Succeed(), notes.String())

		w.applyFile(ctx, dir, "crd.yaml")
		w.waitEstablished(ctx)
		// Boxes are not in namespaces: this one gets the name of the world, which is removed with it.
		w.applyFile(ctx, dir, "box.yaml")
		w.running(ctx, w.id)
		for _, name := range []string{"shop", "blog"} {
			w.applyFile(ctx, dir, "resource-"+name+".yaml")
			w.settled(ctx, name)
			w.hasAll(ctx, filepath.Join(testdata, name+".yaml")) // what helm once made of it
		}
		deployment := &appsv1.Deployment{}
		w.child(ctx, Default, deployment, "blog-website")
		Expect(deployment.Spec.Template.Spec.Containers[0].Image).To(Equal("registry.example.com/website:2.2"))
		w.child(ctx, Default, &networkingv1.Ingress{}, "shop-website")
		w.gone(ctx, &networkingv1.Ingress{}, "blog-website")
		w.gone(ctx, &corev1.Pod{}, "shop-website-test")
		hpa := &autoscalingv2.HorizontalPodAutoscaler{}
		w.child(ctx, Default, hpa, "blog-website")
		Expect(hpa.Spec.MaxReplicas).To(BeEquivalentTo(3))

		By("switching on what an instance did not have, for which the API server wants what it needs")
		blog := w.get(ctx, Default, "blog")
		Expect(kube.Patch(ctx, blog.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"ingressEnabled":true}}`)))).
			To(MatchError(ContainSubstring("spec.host: Required value: host is needed where ingressEnabled is true")))
		w.patch(ctx, blog, `{"spec":{"ingressEnabled":true,"host":"blog.example.com"}}`)
		w.settled(ctx, "blog")
		config := &corev1.ConfigMap{}
		w.child(ctx, Default, config, "blog-website-config")
		Expect(config.Data).To(HaveKeyWithValue("site.conf", "upstream = http://blog-website:80\ngreeting = Hello, {{ .User }}!\n"))
		ingress := &networkingv1.Ingress{}
		w.child(ctx, Default, ingress, "blog-website")
		Expect(ingress.Spec.Rules[0].Host).To(Equal("blog.example.com"))
		Expect(ingress.Labels).To(HaveKeyWithValue("app.kubernetes.io/version", "2.2"))
	})
})

// applyFile applies a file of an operator. A box of it is called by the id of the world.
func (w *world) applyFile(ctx context.Context, dir, name string) {
	GinkgoHelper()
	for _, obj := range manifestsOf(filepath.Join(dir, name)) {
		if obj.GetKind() == "OperatorBox" {
			obj.SetName(w.id)
		}
		Expect(kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner("e2e"), client.ForceOwnership)).To(Succeed())
	}
}

// hasAll compares the objects of manifests with those that are there: each field that is written there has its value.
func (w *world) hasAll(ctx context.Context, file string) {
	GinkgoHelper()
	for _, want := range manifestsOf(file) {
		if want.GetAnnotations()["helm.sh/hook"] != "" {
			continue
		}
		got := &unstructured.Unstructured{}
		got.SetGroupVersionKind(want.GroupVersionKind())
		w.child(ctx, Default, got, want.GetName())
		unstructured.RemoveNestedField(want.Object, "metadata", "labels", "helm.sh/chart")
		unstructured.RemoveNestedField(want.Object, "metadata", "labels", "app.kubernetes.io/managed-by")
		for _, label := range []string{"helm.sh/chart", "app.kubernetes.io/managed-by"} {
			unstructured.RemoveNestedField(want.Object, "spec", "template", "metadata", "labels", label)
		}
		// The autoscaler decides how many there are.
		unstructured.RemoveNestedField(want.Object, "spec", "replicas")
		Expect(within(want.Object, got.Object)).To(BeEmpty(), "%s %s", want.GetKind(), want.GetName())
	}
}

// within names the first field whose value is another than the one that is wanted; empty: there is none.
func within(want, got any) string {
	switch want := want.(type) {
	case map[string]any:
		object, _ := got.(map[string]any)
		for key, below := range want {
			if at := within(below, object[key]); at != "" {
				return "." + key + at
			}
		}
		return ""
	case []any:
		list, _ := got.([]any)
		if len(list) != len(want) {
			return " has another length"
		}
		for i := range want {
			if at := within(want[i], list[i]); at != "" {
				return "[]" + at
			}
		}
		return ""
	default:
		if want == got {
			return ""
		}
		return " differs"
	}
}

// manifestsOf reads the objects of a file.
func manifestsOf(file string) []*unstructured.Unstructured {
	GinkgoHelper()
	text, err := os.ReadFile(file)
	Expect(err).NotTo(HaveOccurred())
	return decoded(bytes.NewReader(text))
}

// decoded reads the objects of a text.
func decoded(text io.Reader) []*unstructured.Unstructured {
	GinkgoHelper()
	var out []*unstructured.Unstructured
	objects := utilyaml.NewYAMLOrJSONDecoder(text, 4096)
	for {
		var raw runtime.RawExtension
		err := objects.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return out
		}
		Expect(err).NotTo(HaveOccurred())
		if len(raw.Raw) == 0 || string(raw.Raw) == "null" {
			continue // nothing between two separators
		}
		obj := &unstructured.Unstructured{} // reads whole numbers as the API server's answers have them
		Expect(obj.UnmarshalJSON(raw.Raw)).To(Succeed())
		out = append(out, obj)
	}
}
