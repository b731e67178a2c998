package e2e_test

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var _ = Describe("A resource of one box that is a child of another", func() {
	var outer, inner *world
	BeforeEach(func(ctx context.Context) { outer, inner = newWorld(ctx), newWorld(ctx) })

	const served = `onReconcile: {configmaps: [{name: "{{ .metadata.name }}-map", data: {value: "{{ .spec.mode }}"}}]}`
	declare := func(ctx context.Context) {
		GinkgoHelper()
		outer.running(ctx, outer.box(ctx, `onReconcile: {resources: [{manifest: {apiVersion: `+inner.group+`/v1, kind: Website,
  metadata: {name: "{{ .metadata.name }}-inner", labels: {from: outer}}, spec: {mode: "{{ .spec.mode }}"}}}]}`))
	}
	get := func(ctx context.Context, g Gomega) *unstructured.Unstructured {
		obj := inner.ref("web-inner")
		obj.SetNamespace(outer.namespace)
		g.Expect(kube.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		return obj
	}
	// both says that the object is a child of the one box, and a resource of the other if that runs.
	both := func(ctx context.Context, mode string, marked bool) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			obj := get(ctx, g)
			g.Expect(obj.Object["spec"]).To(Equal(map[string]any{"mode": mode}))
			g.Expect(obj.GetLabels()).To(And(HaveKeyWithValue("from", "outer"), HaveKeyWithValue(v1alpha1.LabelBox, outer.id)))
			g.Expect(metav1.GetControllerOf(obj)).To(HaveField("Name", "web"))
			_, since := obj.GetAnnotations()[v1alpha1.AnnotationManagedSince]
			g.Expect([]bool{slices.Contains(obj.GetFinalizers(), v1alpha1.Finalizer), since}).To(HaveEach(marked))
		}).WithContext(ctx).Should(Succeed())
		if marked { // what nobody serves stays under way
			outer.settled(ctx, "web")
		}
	}

	DescribeTable("is both, whichever comes first, and stays the child when its own box goes",
		func(ctx context.Context, innerFirst bool) {
			if innerFirst {
				inner.running(ctx, inner.box(ctx, served))
			}
			declare(ctx)
			outer.website(ctx, "web", `{mode: one}`)
			both(ctx, "one", innerFirst)
			inner.running(ctx, inner.box(ctx, served))
			both(ctx, "one", true)
			outer.holds(ctx, "web-inner-map", "one")

			By("changing what declares it")
			outer.website(ctx, "web", `{mode: two}`)
			outer.holds(ctx, "web-inner-map", "two")
			both(ctx, "two", true)

			By("deleting its own box")
			deleteBox(ctx, inner.id)
			boxGone(ctx, inner.id)
			both(ctx, "two", false)
			outer.website(ctx, "web", `{mode: three}`)
			both(ctx, "three", false)

			By("serving it again, and deleting what declares it")
			inner.running(ctx, inner.box(ctx, served))
			both(ctx, "three", true)
			outer.holds(ctx, "web-inner-map", "three")
			uid := get(ctx, Default).GetUID()
			outer.removed(ctx, "web")
			outer.gone(ctx, &corev1.ConfigMap{}, "web-inner-map")
			Eventually(func(g Gomega) {
				obj := inner.ref("web-inner")
				err := kube.Get(ctx, types.NamespacedName{Namespace: outer.namespace, Name: "web-inner"}, obj)
				g.Expect(client.IgnoreNotFound(err)).To(Succeed())
				g.Expect(obj.GetUID()).NotTo(Equal(uid))
			}).WithContext(ctx).Should(Succeed())
		},
		Entry("its own box", true),
		Entry("the box that declares it", false),
	)

	It("is freed from the marks of a version that wrote them as a declaration's", func(ctx context.Context) {
		site := inner.website(ctx, "web", `{mode: one}`)
		old := inner.ref("web")
		old.SetUID(site.GetUID())
		old.SetFinalizers([]string{v1alpha1.Finalizer})
		old.SetLabels(map[string]string{v1alpha1.LabelManaged: v1alpha1.True})
		old.SetAnnotations(map[string]string{v1alpha1.AnnotationRolledBack: "a mark that is taken off"})
		Expect(kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(old), client.FieldOwner(v1alpha1.FieldManager))).To(Succeed())
		inner.running(ctx, inner.box(ctx, served))
		settled := inner.settled(ctx, "web")
		Expect(settled.GetFinalizers()).To(ConsistOf(v1alpha1.Finalizer))
		Expect(settled.GetAnnotations()).NotTo(HaveKey(v1alpha1.AnnotationRolledBack))
		for _, e := range settled.GetManagedFields() {
			Expect(e.Manager).NotTo(Equal(v1alpha1.FieldManager))
		}
		deleteBox(ctx, inner.id)
		boxGone(ctx, inner.id)
		free := inner.get(ctx, Default, "web")
		Expect(free.GetFinalizers()).To(BeEmpty())
		Expect(free.GetLabels()).NotTo(HaveKey(v1alpha1.LabelManaged))
	})
})
