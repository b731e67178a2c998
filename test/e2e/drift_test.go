package e2e_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

const everyKind = `
onReconcile:
  deployments:
  - image: "{{ .spec.image }}"
    replicas: "{{ .spec.replicas }}"
    port: 8080
    args: [serve, "--verbose"]
    env: [{name: MODE, value: fast}]
    resources: {limits: {cpu: 1000m, memory: 1024Mi}, requests: {cpu: "0.5"}}
  services:
  - port: 80
  configmaps:
  - data: {key: value, other: "{{ .spec.image }}"}
  ingresses:
  - host: web.example.com
  resources:
  - manifest:
      apiVersion: v1
      kind: ServiceAccount
      metadata:
        name: "{{ .metadata.name }}-sa"
        annotations: {note: hello}
      automountServiceAccountToken: false
`

// nothingSent checks that a cycle for a settled resource sends nothing. The cycle is forced by an annotation that is an
// input, so that every stage is evaluated. A cycle in which a child's own status still moved is tried again.
func nothingSent(ctx context.Context, w *world, name string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		obj := w.settled(ctx, name)
		mark, before := manager.requests.mark(), manager.evaluations(g, w.id)
		patch := []byte(`{"metadata":{"annotations":{"` + v1alpha1.AnnotationReconcileAt + `":"` + obj.GetResourceVersion() + `"}}}`)
		g.Expect(kube.Patch(ctx, obj, client.RawPatch(types.MergePatchType, patch))).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(manager.evaluations(g, w.id)).To(BeNumerically(">", before))
		}).WithContext(ctx).Should(Succeed())
		g.Expect(manager.requests.since(mark, "/namespaces/"+w.namespace+"/")).To(BeEmpty(), "requests of a cycle where nothing changed")
		g.Expect(manager.requests.since(mark, "accessreviews")).To(BeEmpty(), "reviews for a cycle where nothing changed")
	}).WithContext(ctx).WithPolling(500 * time.Millisecond).Should(Succeed())
}

var _ = Describe("Drift", func() {
	var w *world
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		w.running(ctx, w.box(ctx, everyKind))
		w.website(ctx, "web", `{image: "nginx:1", replicas: 1}`)
		w.settled(ctx, "web")
	})

	// corrected changes a child and waits until the change is undone.
	corrected := func(ctx context.Context, obj client.Object, name string, change func(), same func(g Gomega)) {
		GinkgoHelper()
		w.child(ctx, Default, obj, name)
		change()
		Expect(kube.Update(ctx, obj)).To(Succeed())
		Eventually(func(g Gomega) {
			w.child(ctx, g, obj, name)
			same(g)
		}).WithContext(ctx).Should(Succeed())
		nothingSent(ctx, w, "web")
	}

	It("sends nothing at a second reconcile", func(ctx context.Context) {
		nothingSent(ctx, w, "web")
		nothingSent(ctx, w, "web")
	})

	It("corrects a scalar of a Deployment", func(ctx context.Context) {
		d := &appsv1.Deployment{}
		corrected(ctx, d, "web", func() { d.Spec.Replicas = new(int32(5)) },
			func(g Gomega) { g.Expect(d.Spec.Replicas).To(HaveValue(BeEquivalentTo(1))) })
	})

	It("corrects a container that is found by its name", func(ctx context.Context) {
		d := &appsv1.Deployment{}
		corrected(ctx, d, "web", func() { d.Spec.Template.Spec.Containers[0].Image = "evil:1" },
			func(g Gomega) { g.Expect(d.Spec.Template.Spec.Containers[0].Image).To(Equal("nginx:1")) })
	})

	It("corrects a list that goes by position", func(ctx context.Context) {
		d := &appsv1.Deployment{}
		corrected(ctx, d, "web", func() { d.Spec.Template.Spec.Containers[0].Args = []string{"serve", "--quiet", "--more"} },
			func(g Gomega) {
				g.Expect(d.Spec.Template.Spec.Containers[0].Args).To(Equal([]string{"serve", "--verbose"}))
			})
	})

	It("corrects a quantity, and takes no other spelling of it for drift", func(ctx context.Context) {
		d := &appsv1.Deployment{}
		corrected(ctx, d, "web",
			func() {
				d.Spec.Template.Spec.Containers[0].Resources.Limits[corev1.ResourceMemory] = resource.MustParse("2Gi")
			},
			func(g Gomega) {
				memory := d.Spec.Template.Spec.Containers[0].Resources.Limits[corev1.ResourceMemory]
				g.Expect(memory.String()).To(Equal("1Gi"))
			})
	})

	It("tells of what it puts back, from what to what and who had set it, and not of what we ourselves change", func(ctx context.Context) {
		w.website(ctx, "web", `{image: "nginx:1", replicas: 2}`)
		w.settled(ctx, "web")
		d := &appsv1.Deployment{}
		w.child(ctx, Default, d, "web")
		Expect(kube.SubResource("scale").Update(ctx, d, client.WithSubResourceBody(&autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 5}}),
			client.FieldOwner("kubectl"))).To(Succeed())
		Eventually(func(g Gomega) {
			w.child(ctx, g, d, "web")
			g.Expect(d.Spec.Replicas).To(HaveValue(BeEquivalentTo(2)))
		}).WithContext(ctx).Should(Succeed())
		nothingSent(ctx, w, "web")

		By("changing what is content")
		c := &corev1.ConfigMap{}
		corrected(ctx, c, "web", func() { c.Data["key"] = "hidden" }, func(g Gomega) { g.Expect(c.Data).To(HaveKeyWithValue("key", "value")) })
		told := func(kind, note string) OmegaMatcher {
			return And(HaveField("Type", corev1.EventTypeNormal), HaveField("Related.Kind", kind), HaveField("Note", note))
		}
		Eventually(func(g Gomega) {
			var put []eventsv1.Event
			for _, e := range w.eventsOf(ctx, g, "web") {
				if e.Reason == v1alpha1.ReasonPutBack {
					put = append(put, e)
				}
			}
			g.Expect(put).To(ConsistOf(
				told("Deployment", "put back Deployment/web spec.replicas 5→2, set by kubectl"),
				told("ConfigMap", "put back ConfigMap/web data.key, set by e2e.test")))
		}).WithContext(ctx).Should(Succeed())
	})

	It("leaves alone what it does not declare", func(ctx context.Context) {
		d := &appsv1.Deployment{}
		w.child(ctx, Default, d, "web")
		d.Spec.MinReadySeconds = 1
		d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{Name: "sidecar", Image: "side:1"})
		d.Labels["team"] = "a"
		Expect(kube.Update(ctx, d)).To(Succeed())
		nothingSent(ctx, w, "web")
		w.child(ctx, Default, d, "web")
		Expect(d.Spec.MinReadySeconds).To(BeEquivalentTo(1))
		Expect(d.Spec.Template.Spec.Containers).To(HaveLen(2))
		Expect(d.Labels).To(HaveKeyWithValue("team", "a"))
	})

	It("corrects a Service's port, and a selector", func(ctx context.Context) {
		s := &corev1.Service{}
		corrected(ctx, s, "web", func() { s.Spec.Ports[0].TargetPort.IntVal = 1; s.Spec.Selector = map[string]string{"a": "b"} },
			func(g Gomega) {
				g.Expect(s.Spec.Ports[0].TargetPort.IntVal).To(BeEquivalentTo(8080))
				g.Expect(s.Spec.Selector).To(HaveKeyWithValue(v1alpha1.LabelAppName, "web"))
			})
	})

	It("corrects a ConfigMap's data, and puts back a key", func(ctx context.Context) {
		c := &corev1.ConfigMap{}
		corrected(ctx, c, "web", func() { c.Data = map[string]string{"key": "changed", "mine": "stays"} },
			func(g Gomega) {
				g.Expect(c.Data).To(Equal(map[string]string{"key": "value", "other": "nginx:1", "mine": "stays"}))
			})
	})

	It("corrects an Ingress", func(ctx context.Context) {
		i := &networkingv1.Ingress{}
		corrected(ctx, i, "web", func() { i.Spec.Rules[0].Host = "other.example.com" },
			func(g Gomega) { g.Expect(i.Spec.Rules[0].Host).To(Equal("web.example.com")) })
	})

	It("corrects a manifest of any kind", func(ctx context.Context) {
		sa := &corev1.ServiceAccount{}
		corrected(ctx, sa, "web-sa", func() { sa.AutomountServiceAccountToken = new(true); sa.Annotations["note"] = "bye" },
			func(g Gomega) {
				g.Expect(sa.AutomountServiceAccountToken).To(HaveValue(BeFalse()))
				g.Expect(sa.Annotations).To(HaveKeyWithValue("note", "hello"))
			})
	})

	It("puts back labels of ownership, and the owner reference", func(ctx context.Context) {
		c := &corev1.ConfigMap{}
		corrected(ctx, c, "web", func() { c.Labels = nil; c.OwnerReferences = c.OwnerReferences[:1] },
			func(g Gomega) { g.Expect(c.Labels).To(HaveKey(v1alpha1.LabelOwnerUID)) })
		corrected(ctx, c, "web", func() { c.OwnerReferences = nil },
			func(g Gomega) { g.Expect(c.OwnerReferences).To(HaveLen(1)) })
	})

	It("makes a deleted child again", func(ctx context.Context) {
		c := &corev1.ConfigMap{}
		w.child(ctx, Default, c, "web")
		uid := c.UID
		Expect(kube.Delete(ctx, c)).To(Succeed())
		Eventually(func(g Gomega) {
			w.child(ctx, g, c, "web")
			g.Expect(c.UID).NotTo(Equal(uid))
		}).WithContext(ctx).Should(Succeed())
		nothingSent(ctx, w, "web")
	})

	It("removes a field that the declaration dropped", func(ctx context.Context) {
		d := &appsv1.Deployment{}
		w.child(ctx, Default, d, "web")
		Expect(d.Spec.Template.Spec.Containers[0].Env).To(HaveLen(1))
		box := &unstructured.Unstructured{}
		box.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("OperatorBox"))
		Eventually(func(g Gomega) { // the manager writes the status of the box meanwhile
			g.Expect(kube.Get(ctx, types.NamespacedName{Name: w.id}, box)).To(Succeed())
			declarations, _, err := unstructured.NestedSlice(box.Object, "spec", "onReconcile", "deployments")
			g.Expect(err).NotTo(HaveOccurred())
			declaration, _ := declarations[0].(map[string]any)
			delete(declaration, "env")
			g.Expect(unstructured.SetNestedSlice(box.Object, declarations, "spec", "onReconcile", "deployments")).To(Succeed())
			g.Expect(kube.Update(ctx, box)).To(Succeed())
		}).WithContext(ctx).Should(Succeed())
		Eventually(func(g Gomega) {
			w.child(ctx, g, d, "web")
			g.Expect(d.Spec.Template.Spec.Containers[0].Env).To(BeEmpty())
		}).WithContext(ctx).Should(Succeed())
		nothingSent(ctx, w, "web")
	})
})

var _ = Describe("Drift of a custom child kind", func() {
	It("matches lists by the keys of its schema, and leaves entries of others alone", func(ctx context.Context) {
		w := newWorld(ctx)
		w.gadgets(ctx)
		w.running(ctx, w.box(ctx, `{`+w.gadget()+`}`))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		gadget := w.ref("web")
		gadget.SetKind("Gadget")
		w.child(ctx, Default, gadget, "web")
		// Someone puts an entry in front of ours, and changes ours: only ours is put back.
		Expect(unstructured.SetNestedSlice(gadget.Object, []any{
			map[string]any{"name": "a", "size": int64(1)}, map[string]any{"name": "b", "size": int64(9)},
		}, "spec", "parts")).To(Succeed())
		Expect(kube.Update(ctx, gadget)).To(Succeed())
		Eventually(func(g Gomega) {
			w.child(ctx, g, gadget, "web")
			parts, _, err := unstructured.NestedSlice(gadget.Object, "spec", "parts")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(parts).To(ConsistOf(map[string]any{"name": "a", "size": int64(1)}, map[string]any{"name": "b", "size": int64(2)}))
		}).WithContext(ctx).Should(Succeed())
		nothingSent(ctx, w, "web")
	})
})

// gadgets makes another CRD in the world's group, for children of a kind that Kubernetes does not have.
func (w *world) gadgets(ctx context.Context) *apiextensionsv1.CustomResourceDefinition {
	GinkgoHelper()
	crd := w.crd()
	crd.Name = "gadgets." + w.group
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: "gadgets", Singular: "gadget", Kind: "Gadget", ListKind: "GadgetList"}
	var spec apiextensionsv1.JSONSchemaProps
	Expect(yaml.Unmarshal([]byte(`{type: object, properties: {parts: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name],
		items: {type: object, required: [name], properties: {name: {type: string}, size: {type: integer}}}}}}`), &spec)).To(Succeed())
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"] = spec
	Expect(kube.Create(ctx, crd)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(kube.Delete(ctx, crd))).To(Succeed()) })
	return crd
}

// gadget is the part of a box's spec that makes a Gadget.
func (w *world) gadget() string {
	return `onReconcile: {resources: [{manifest: {apiVersion: ` + w.group + `/v1, kind: Gadget,
		metadata: {name: "{{ .metadata.name }}"}, spec: {parts: [{name: b, size: 2}]}}}]}`
}
