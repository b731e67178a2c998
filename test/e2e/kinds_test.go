package e2e_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds"
)

var _ = Describe("A child of each kind", func() {
	It("is tested", func() {
		tested := []string{"configmaps", "deployments", "ingresses", "jobs", "patches", "resources", "services"} // by specs of their own
		for _, cases := range []map[string]kindCase{workloadKinds(), plainKinds(), grantingKinds()} {
			tested = slices.AppendSeq(tested, maps.Keys(cases))
		}
		Expect(tested).To(ConsistOf(kinds.Keys()))
	})

	for _, cases := range []map[string]kindCase{workloadKinds(), plainKinds()} {
		for _, key := range slices.Sorted(maps.Keys(cases)) {
			It("lives as it is declared: "+key, func(ctx context.Context) {
				cases[key].live(ctx, newWorld(ctx), key)
			})
		}
	}

	for key, c := range grantingKinds() {
		It("lives as it is declared where the manager may grant rights: "+key, func(ctx context.Context) {
			w := newWorld(ctx)
			w.box(ctx, c.box(w, key, c.declared))
			boxShows(ctx, w.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "grants rights; start the manager with --allow-granting-kinds")
			replaceManager(func(s *settings) { s.orkestra.AllowGrantingKinds = true })
			c.live(ctx, w, key)
		})
	}

	It("is explained by kubectl as far as the CRD goes, which says who knows more", func(ctx context.Context) {
		text, err := cluster.Kubectl(ctx, "explain", "operatorbox.spec.onReconcile")
		Expect(err).NotTo(HaveOccurred())
		words := strings.Join(strings.Fields(text), " ")
		Expect(words).To(ContainSubstring("OnReconcile makes objects and keeps them corrected. The keys are the plurals of kinds, such as deployments"))
		Expect(words).To(ContainSubstring("`orkestra explain KEY` shows"))
		text, err = cluster.Kubectl(ctx, "explain", "operatorbox.spec.onReconcile.whenFalse")
		Expect(err).NotTo(HaveOccurred())
		Expect(strings.Join(strings.Fields(text), " ")).To(ContainSubstring("while the gate is false: Keep or Delete. Default: Keep for gates that wait"))
	})

	It("may be cluster-scoped, or in any namespace, where the resource is cluster-scoped", func(ctx context.Context) {
		w := newWorldWithoutCRD(ctx)
		crd := w.crd()
		crd.Spec.Scope = apiextensionsv1.ClusterScoped
		Expect(kube.Create(ctx, crd)).To(Succeed())
		w.waitEstablished(ctx)
		w.running(ctx, w.box(ctx, `{onReconcile: {
			namespaces: [{name: "{{ .metadata.name }}-space", labels: {team: a}}],
			networkpolicies: [{namespace: "{{ .metadata.name }}-space", podSelector: {}}],
			limitranges: [{namespace: "{{ .metadata.name }}-space", limits: [{type: Pod, max: {cpu: 1}}]}]}}`))
		obj := w.ref(w.id)
		obj.SetNamespace("")
		fresh := uncached()
		Expect(fresh.Create(ctx, obj)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(fresh.Delete(ctx, obj))).To(Succeed()) })
		space := w.id + "-space"
		Eventually(func(g Gomega) {
			g.Expect(kube.Get(ctx, types.NamespacedName{Name: space}, &corev1.Namespace{})).To(Succeed())
			g.Expect(kube.Get(ctx, types.NamespacedName{Namespace: space, Name: w.id}, &networkingv1.NetworkPolicy{})).To(Succeed())
			g.Expect(kube.Get(ctx, types.NamespacedName{Namespace: space, Name: w.id}, &corev1.LimitRange{})).To(Succeed())
		}).WithContext(ctx).Should(Succeed())
		Expect(fresh.Delete(ctx, obj)).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(kube.Get(ctx, types.NamespacedName{Name: space}, &corev1.Namespace{}))
		}).WithContext(ctx).Should(BeTrue(), "the namespace goes with the resource")
	})
})

// live makes a child, changes it by hand, changes its declaration, and deletes the resource.
func (c kindCase) live(ctx context.Context, w *world, key string) {
	GinkgoHelper()
	By("making it")
	w.running(ctx, w.box(ctx, c.box(w, key, c.declared)))
	w.website(ctx, "web", `{}`)
	child, want := c.object(w, c.manifest), c.byHand(ctx, w, c.manifest)
	same := func(want map[string]any) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			g.Expect(kube.Get(ctx, client.ObjectKeyFromObject(child), child)).To(Succeed())
			g.Expect(declarable(child)).To(Equal(want))
		}).WithContext(ctx).Should(Succeed())
	}
	same(want)
	nothingSentFor(ctx, w)

	By("changing it by hand")
	version := child.GetResourceVersion()
	w.patch(ctx, child, c.drift)
	Expect(child.GetResourceVersion()).NotTo(Equal(version))
	same(want)
	nothingSentFor(ctx, w)

	By("changing the declaration, and dropping a field of it")
	w.running(ctx, w.box(ctx, c.box(w, key, c.changed)))
	same(c.byHand(ctx, w, c.changedManifest))
	nothingSentFor(ctx, w)

	By("deleting the resource")
	Expect(kube.Delete(ctx, w.ref("web"))).To(Succeed())
	w.gone(ctx, w.ref("web"), "web")
	Eventually(func() bool {
		return apierrors.IsNotFound(kube.Get(ctx, client.ObjectKeyFromObject(child), child))
	}).WithContext(ctx).Should(BeTrue(), "the child goes with the resource")
}

// box is the spec of a box with the declaration.
func (c kindCase) box(w *world, key, declaration string) string {
	GinkgoHelper()
	group, declared := map[string]any{}, map[string]any{}
	Expect(yaml.Unmarshal([]byte("{"+c.others+"}"), &group)).To(Succeed())
	Expect(yaml.Unmarshal([]byte(declaration), &declared)).To(Succeed())
	if clusterScoped(key) {
		declared["name"] = "web-{{ .metadata.namespace }}"
	}
	group[key] = []any{declared}
	spec, err := yaml.Marshal(map[string]any{"onReconcile": group})
	Expect(err).NotTo(HaveOccurred())
	return strings.ReplaceAll(string(spec), "NS", w.namespace)
}

func clusterScoped(key string) bool {
	kind, _ := kinds.Lookup(key)
	return kind.ClusterScoped
}

// object is what a manifest says, with the name that the declaration gives.
func (c kindCase) object(w *world, manifest string) *unstructured.Unstructured {
	GinkgoHelper()
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	Expect(yaml.Unmarshal([]byte(strings.ReplaceAll(manifest, "NS", w.namespace)), &obj.Object)).To(Succeed())
	obj.SetName("web")
	if mapping, err := kube.RESTMapper().RESTMapping(obj.GroupVersionKind().GroupKind()); err == nil && mapping.Scope.Name() == "root" {
		obj.SetName("web-" + w.namespace)
	} else {
		Expect(err).NotTo(HaveOccurred())
		obj.SetNamespace(w.namespace)
	}
	return obj
}

// byHand is what the API server makes of a manifest that a person applies under another name.
func (c kindCase) byHand(ctx context.Context, w *world, manifest string) map[string]any {
	GinkgoHelper()
	obj := c.object(w, manifest)
	obj.SetName(obj.GetName() + "-hand")
	Expect(kube.Create(ctx, obj, client.DryRunAll)).To(Succeed())
	return declarable(obj)
}

// declarable is what a declaration can say of an object.
func declarable(obj *unstructured.Unstructured) map[string]any {
	out := obj.DeepCopy().Object
	delete(out, "status")
	out["metadata"] = map[string]any{"labels": own(obj.GetLabels()), "annotations": own(obj.GetAnnotations())}
	return out
}

// own leaves out the labels and annotations that Orkestra and Kubernetes set.
func own(all map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range all {
		if !strings.Contains(key, "orkestra") && !strings.Contains(key, "kubernetes.io/") && key != "deprecated.daemonset.template.generation" {
			out[key] = value
		}
	}
	return out
}

// nothingSentFor is nothingSent for children that never settle, such as claims that nobody provides, and those without a
// namespace.
func nothingSentFor(ctx context.Context, w *world) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		obj := w.get(ctx, g, "web")
		g.Expect(condition(obj, v1alpha1.ConditionReady).Status).To(Equal(metav1.ConditionTrue), "%v", obj.Object["status"])
		mark, before := manager.requests.mark(), manager.evaluations(g, w.id)
		patch := []byte(`{"metadata":{"annotations":{"` + v1alpha1.AnnotationReconcileAt + `":"` + obj.GetResourceVersion() + `"}}}`)
		g.Expect(kube.Patch(ctx, obj, client.RawPatch(types.MergePatchType, patch))).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(manager.evaluations(g, w.id)).To(BeNumerically(">", before))
		}).WithContext(ctx).Should(Succeed())
		about := manager.requests.since(mark, w.namespace)
		about = slices.DeleteFunc(about, func(r request) bool { return strings.Contains(r.path, v1alpha1.GroupName) }) // the box's own counters
		g.Expect(about).To(BeEmpty(), "requests of a cycle where nothing changed")
	}).WithContext(ctx).WithPolling(500 * time.Millisecond).Should(Succeed())
}
