package e2e_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// selecting is a box that makes a ConfigMap for each resource that it selects.
func selecting(selection string) string {
	return fmt.Sprintf(`{%s onReconcile: {configmaps: [{data: {key: declared}}], services: [{port: 80, selector: {a: b}}]}}`, selection)
}

var _ = Describe("Selection", func() {
	var (
		w    *world
		a, b string
	)
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		a, b = w.anotherNamespace(ctx), w.anotherNamespace(ctx)
	})
	at := func(namespace string) types.NamespacedName {
		return types.NamespacedName{Namespace: namespace, Name: "web"}
	}
	get := func(ctx context.Context, g Gomega, key types.NamespacedName) *unstructured.Unstructured {
		obj := w.ref(key.Name)
		g.Expect(kube.Get(ctx, key, obj)).To(Succeed())
		return obj
	}
	// taken waits until a resource is managed and has its children.
	taken := func(ctx context.Context, key types.NamespacedName) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			obj := get(ctx, g, key)
			g.Expect(obj.GetFinalizers()).To(ContainElement(v1alpha1.Finalizer))
			g.Expect(condition(obj, v1alpha1.ConditionReady).Status).To(Equal(metav1.ConditionTrue))
			g.Expect(kube.Get(ctx, key, &corev1.ConfigMap{})).To(Succeed())
			g.Expect(kube.Get(ctx, key, &corev1.Service{})).To(Succeed())
		}).WithContext(ctx).Should(Succeed())
	}
	// released waits until a resource carries nothing of Orkestra, and checks that its children are still there.
	released := func(ctx context.Context, key types.NamespacedName) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			obj := get(ctx, g, key)
			g.Expect(obj.GetFinalizers()).To(BeEmpty())
			g.Expect(obj.GetLabels()).NotTo(HaveKey(v1alpha1.LabelManaged))
			for name := range obj.GetAnnotations() {
				g.Expect(name).NotTo(HavePrefix(v1alpha1.GroupName))
			}
		}).WithContext(ctx).Should(Succeed())
		unkept(get(ctx, Default, key), v1alpha1.ReasonNotSelected, `OperatorBox "`+w.id+`" does not select this resource any more`)
		c := &corev1.ConfigMap{}
		Expect(kube.Get(ctx, key, c)).To(Succeed())
		Expect(c.Labels).To(HaveKeyWithValue(v1alpha1.LabelBox, w.id), "it is left as it is")
		Expect(kube.Get(ctx, key, &corev1.Service{})).To(Succeed())
	}
	// untaken checks that a resource and its namespace have nothing of Orkestra.
	untaken := func(ctx context.Context, key types.NamespacedName) {
		GinkgoHelper()
		obj := get(ctx, Default, key)
		Expect(obj.GetFinalizers()).To(BeEmpty())
		Expect(obj.Object).NotTo(HaveKey("status"))
		Expect(apierrors.IsNotFound(kube.Get(ctx, key, &corev1.ConfigMap{}))).To(BeTrue())
	}
	counted := func(ctx context.Context, n int) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			g.Expect(getBox(ctx, g, w.id).Status.Resources.Total).To(BeEquivalentTo(n))
			g.Expect(getHealth(ctx, g, w.id).Status.Resources.Total).To(BeEquivalentTo(n))
		}).WithContext(ctx).Should(Succeed())
	}
	// watches waits until a box watches exactly these namespaces.
	watches := func(ctx context.Context, namespaces ...string) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			box := getBox(ctx, g, w.id)
			g.Expect(box.Status.WatchedNamespaces).To(ConsistOf(namespaces))
			g.Expect(boxCondition(box, v1alpha1.ConditionReady)).To(HaveField("Status", metav1.ConditionTrue))
		}).WithContext(ctx).Should(Succeed())
	}
	restart := func() {
		manager.stop()
		manager = startManager(cluster.Config())
	}

	It("takes resources in the namespaces that match, and no others", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, selecting(fmt.Sprintf(`namespaces: {include: ["%s*"], exclude: ["%s"]},`, w.id, b))))
		w.websiteIn(ctx, b, "web", nil) // first, so that it would have been seen by the time the others are
		w.websiteIn(ctx, a, "web", nil)
		w.websiteIn(ctx, w.namespace, "web", nil)
		taken(ctx, at(a))
		taken(ctx, at(w.namespace))
		untaken(ctx, at(b))
		counted(ctx, 2)
	})

	It("watches only the namespaces that are named literally", func(ctx context.Context) {
		mark := manager.requests.mark()
		w.running(ctx, w.box(ctx, selecting(fmt.Sprintf(`namespaces: {include: ["%s", "%s"], exclude: ["%s*"]},`, a, w.namespace, b))))
		w.websiteIn(ctx, b, "web", nil)
		w.websiteIn(ctx, a, "web", nil)
		taken(ctx, at(a))
		untaken(ctx, at(b))
		watches(ctx, a, w.namespace)
		for _, r := range manager.requests.since(mark, w.group+"/v1/") {
			Expect(strings.HasSuffix(r.path, "/v1/websites")).To(BeFalse(), "%s looks into all namespaces", r)
			Expect(r.path).NotTo(ContainSubstring("/namespaces/" + b + "/"))
		}
	})

	It("refuses namespaces for resources that are in none, and patterns that are none", func(ctx context.Context) {
		w.box(ctx, selecting(`namespaces: {include: ["[a"], exclude: [Not_A_Name]},`))
		boxShows(ctx, w.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "spec.namespaces.include[0]")
		boxShows(ctx, w.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "spec.namespaces.exclude[0]")
	})

	It("takes a resource that enters, and releases one that leaves by its labels", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, selecting(`selector: {matchLabels: {tier: gold}},`)))
		w.websiteIn(ctx, a, "web", map[string]string{"tier": "silver"})
		w.websiteIn(ctx, b, "web", map[string]string{"tier": "gold"})
		taken(ctx, at(b))
		untaken(ctx, at(a))
		w.websiteIn(ctx, a, "web", map[string]string{"tier": "gold"})
		taken(ctx, at(a))
		counted(ctx, 2)

		w.websiteIn(ctx, a, "web", map[string]string{"tier": "silver"})
		released(ctx, at(a))
		counted(ctx, 1)

		By("leaving its children alone from then on")
		c := &corev1.ConfigMap{}
		Expect(kube.Get(ctx, at(a), c)).To(Succeed())
		w.merge(ctx, c, `{"data":{"key":"changed"}}`)
		c = &corev1.ConfigMap{}
		Expect(kube.Get(ctx, at(b), c)).To(Succeed())
		w.merge(ctx, c, `{"data":{"key":"changed"}}`)
		Eventually(func(g Gomega) {
			c := &corev1.ConfigMap{}
			g.Expect(kube.Get(ctx, at(b), c)).To(Succeed())
			g.Expect(c.Data).To(HaveKeyWithValue("key", "declared"))
		}).WithContext(ctx).Should(Succeed())
		Expect(kube.Get(ctx, at(a), c)).To(Succeed())
		Expect(c.Data).To(HaveKeyWithValue("key", "changed"))

		By("coming back")
		w.websiteIn(ctx, a, "web", map[string]string{"tier": "gold"})
		taken(ctx, at(a))
		Eventually(func(g Gomega) {
			g.Expect(kube.Get(ctx, at(a), c)).To(Succeed())
			g.Expect(c.Data).To(HaveKeyWithValue("key", "declared"))
		}).WithContext(ctx).Should(Succeed())
	})

	It("follows an edit of the selector", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, selecting("")))
		w.websiteIn(ctx, a, "web", map[string]string{"tier": "silver"})
		w.websiteIn(ctx, b, "web", map[string]string{"tier": "gold"})
		taken(ctx, at(a))
		taken(ctx, at(b))
		w.box(ctx, selecting(`selector: {matchLabels: {tier: gold}},`))
		released(ctx, at(a))
		counted(ctx, 1)
		w.box(ctx, selecting(`selector: {matchLabels: {tier: silver}},`))
		taken(ctx, at(a))
		released(ctx, at(b))
	})

	It("takes the box's own finalizers off what leaves, too", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, selecting(`finalizers: [example.io/hold], selector: {matchLabels: {tier: gold}},`)))
		w.websiteIn(ctx, a, "web", map[string]string{"tier": "gold"})
		taken(ctx, at(a))
		w.websiteIn(ctx, a, "web", nil)
		released(ctx, at(a))
	})

	DescribeTable("follows an edit of the namespaces", func(ctx context.Context, before, after string, between func(edit func())) {
		fill := func(s string) string { return strings.NewReplacer("$A", a, "$B", b, "$W", w.id).Replace(s) }
		w.running(ctx, w.box(ctx, selecting(fill(before))))
		w.websiteIn(ctx, a, "web", nil)
		taken(ctx, at(a))
		w.websiteIn(ctx, b, "web", nil)
		between(func() { w.box(ctx, selecting(fill(after))) })
		taken(ctx, at(b))
		released(ctx, at(a))
		counted(ctx, 1)
		if strings.Contains(after, "*") || after == "" {
			watches(ctx, "*")
		} else {
			watches(ctx, b)
		}
	},
		Entry("from one list to another", `namespaces: {include: [$A]},`, `namespaces: {include: [$B]},`, func(edit func()) { edit() }),
		Entry("from all to a list", ``, `namespaces: {include: [$B]},`, func(edit func()) { edit() }),
		Entry("from a pattern to another", `namespaces: {include: ["$W*"]},`, `namespaces: {include: ["$W*"], exclude: [$A]},`, func(edit func()) { edit() }),
		Entry("from a list to a pattern", `namespaces: {include: [$A]},`, `namespaces: {include: ["*"], exclude: [$A]},`, func(edit func()) { edit() }),
		Entry("from one list to another while no manager runs", `namespaces: {include: [$A]},`, `namespaces: {include: [$B]},`, func(edit func()) {
			manager.stop()
			edit()
			manager = startManager(cluster.Config())
		}),
		Entry("from all to a list while no manager runs", ``, `namespaces: {include: [$B]},`, func(edit func()) {
			manager.stop()
			edit()
			manager = startManager(cluster.Config())
		}),
	)

	It("watches what it left until a deletion there is finished", func(ctx context.Context) {
		const hold = ` onDelete: {jobs: [{image: "busybox:1", parallelism: 0}]},`
		w.running(ctx, w.box(ctx, selecting(fmt.Sprintf(`namespaces: {include: [%s]},`, a)+hold)))
		w.websiteIn(ctx, a, "web", nil)
		taken(ctx, at(a))
		gone := w.ref("web")
		gone.SetNamespace(a)
		Expect(kube.Delete(ctx, gone)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(condition(get(ctx, g, at(a)), v1alpha1.ConditionReady).Reason).To(Equal(v1alpha1.ReasonDeleting))
		}).WithContext(ctx).Should(Succeed())
		w.box(ctx, selecting(fmt.Sprintf(`namespaces: {include: [%s]},`, b)+hold))
		w.websiteIn(ctx, b, "web", nil)
		taken(ctx, at(b))
		watches(ctx, a, b)
		restart()
		Expect(get(ctx, Default, at(a)).GetFinalizers()).To(ContainElement(v1alpha1.Finalizer))
		gone.SetAnnotations(nil)
		w.merge(ctx, gone, `{"metadata":{"annotations":{"`+v1alpha1.AnnotationSkipCleanup+`":"true"}}}`)
		Eventually(func() bool {
			return apierrors.IsNotFound(kube.Get(ctx, client.ObjectKeyFromObject(gone), w.ref("web")))
		}).WithContext(ctx).Should(BeTrue(), "it is gone")
		watches(ctx, b)
	})
})
