package e2e_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var _ = Describe("A box over objects of others", func() {
	var (
		w     *world
		label string
	)
	BeforeEach(func(ctx context.Context) {
		w = newWorldWithoutCRD(ctx)
		label = w.id + ".e2e.test/expose"
	})
	const makes = `onReconcile: {configmaps: [{name: "{{ .metadata.name }}-of", data: {replicas: "{{ .spec.replicas }}"}}]}`
	box := func(ctx context.Context, more string) {
		GinkgoHelper()
		w.boxNamed(ctx, w.id, fmt.Sprintf(`{crd: {apiVersion: apps/v1, kind: Deployment}, selector: {matchLabels: {%q: "yes"}}, %s, %s}`, label, makes, more))
	}
	deployment := func(ctx context.Context, name, value string) *appsv1.Deployment {
		GinkgoHelper()
		return w.deployment(ctx, name, map[string]string{label: value})
	}
	key := func(name string) types.NamespacedName {
		return types.NamespacedName{Namespace: w.namespace, Name: name}
	}
	made := func(ctx context.Context, name, replicas string) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			c := &corev1.ConfigMap{}
			g.Expect(kube.Get(ctx, key(name+"-of"), c)).To(Succeed())
			g.Expect(c.Data).To(HaveKeyWithValue("replicas", replicas))
		}).WithContext(ctx).Should(Succeed())
	}
	gone := func(ctx context.Context, name string) {
		GinkgoHelper()
		Eventually(func() error { return kube.Get(ctx, key(name+"-of"), &corev1.ConfigMap{}) }).WithContext(ctx).Should(Satisfy(apierrors.IsNotFound))
	}
	relabel := func(ctx context.Context, d *appsv1.Deployment, value string) {
		GinkgoHelper()
		w.merge(ctx, d, fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, label, value))
	}

	It("makes children for those that it selects, writes nothing to them, and cleans up after those that go or leave", func(ctx context.Context) {
		box(ctx, "")
		w.running(ctx, w.id)
		mark := manager.requests.mark()
		web, other := deployment(ctx, "web", "yes"), deployment(ctx, "other", "no")
		made(ctx, "web", "0")
		Eventually(func(g Gomega) {
			h := getHealth(ctx, g, w.id)
			g.Expect(h.Spec.CRD.Name).To(Equal("deployments.apps"))
			g.Expect(h.Status.Resources.Total).To(BeEquivalentTo(1))
			g.Expect(h.Status.Resources.Ready).To(BeEquivalentTo(1))
		}).WithContext(ctx).Should(Succeed())

		By("leaving the Deployments as they are")
		Expect(kube.Get(ctx, client.ObjectKeyFromObject(web), web)).To(Succeed())
		Expect(web.Finalizers).To(BeEmpty())
		Expect(web.Annotations).NotTo(HaveKey(HavePrefix(v1alpha1.GroupName)))
		Expect(web.Labels).To(HaveLen(1))
		for _, by := range web.ManagedFields {
			Expect(by.Manager).NotTo(HavePrefix("orkestra"))
		}
		Expect(kube.Get(ctx, key("other-of"), &corev1.ConfigMap{})).To(Satisfy(apierrors.IsNotFound))
		Expect(manager.requests.since(mark, "deployments")).To(BeEmpty(), "neither of them is read, or written")

		By("following what changes")
		w.merge(ctx, web, `{"spec":{"replicas":1}}`)
		made(ctx, "web", "1")

		By("taking back what was made for one that leaves the selection, and making it again when that returns")
		relabel(ctx, web, "no")
		gone(ctx, "web")
		Expect(kube.Get(ctx, client.ObjectKeyFromObject(web), web)).To(Succeed())
		relabel(ctx, web, "yes")
		made(ctx, "web", "1")
		relabel(ctx, other, "yes")
		made(ctx, "other", "0")

		By("cleaning up after another selector")
		w.merge(ctx, &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: w.id}}, fmt.Sprintf(`{"spec":{"selector":{"matchLabels":{%q:"no"}}}}`, label))
		gone(ctx, "web")
		gone(ctx, "other")
	})

	It("cleans up after one that left while no manager ran, and leaves what is there as it is", func(ctx context.Context) {
		box(ctx, "")
		w.running(ctx, w.id)
		web := deployment(ctx, "web", "yes")
		deployment(ctx, "stays", "yes")
		made(ctx, "web", "0")
		made(ctx, "stays", "0")
		manager.stop()
		relabel(ctx, web, "no")
		manager = startManager(cluster.Config())
		gone(ctx, "web")
		Expect(kube.Get(ctx, key("stays-of"), &corev1.ConfigMap{})).To(Succeed())
		Expect(manager.requests.since(0, "/namespaces/"+w.namespace+"/deployments/")).To(HaveLen(1), "only the one that left is asked for")

		By("keeping what was made while the box is suspended, until it goes on")
		relabel(ctx, web, "yes")
		made(ctx, "web", "0")
		suspend := func(yes bool) {
			GinkgoHelper()
			w.merge(ctx, &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: w.id}}, fmt.Sprintf(`{"spec":{"suspend":%t}}`, yes))
		}
		suspend(true)
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonSuspended, "spec.suspend is true")
		relabel(ctx, web, "no")
		Eventually(func(g Gomega) {
			g.Expect(getHealth(ctx, g, w.id).Status.Resources.Total).To(BeEquivalentTo(1))
		}).WithContext(ctx).Should(Succeed())
		Expect(kube.Get(ctx, key("web-of"), &corev1.ConfigMap{})).To(Succeed())
		suspend(false)
		gone(ctx, "web")
	})

	It("leaves to an older box what both select, and takes it when that selects it no more", func(ctx context.Context) {
		by := func(name, box string) {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				c := &corev1.ConfigMap{}
				g.Expect(kube.Get(ctx, key(name+"-of"), c)).To(Succeed())
				g.Expect(c.Labels).To(HaveKeyWithValue(v1alpha1.LabelBox, box))
			}).WithContext(ctx).Should(Succeed())
		}
		over := func(name, values string) {
			GinkgoHelper()
			w.boxNamed(ctx, name, fmt.Sprintf(`{crd: {apiVersion: apps/v1, kind: Deployment},
				selector: {matchExpressions: [{key: %q, operator: In, values: [%s]}]}, %s}`, label, values, makes))
		}
		elder, younger := w.id+"-a", w.id+"-b" // made in one second, the name decides
		over(elder, `"a", "both"`)
		w.running(ctx, elder)
		over(younger, `"b", "both"`)
		w.running(ctx, younger)
		for _, name := range []string{"a", "b", "both"} {
			deployment(ctx, name, name)
		}
		by("a", elder)
		by("b", younger)
		by("both", elder)
		boxShows(ctx, younger, v1alpha1.ConditionCompiled, metav1.ConditionTrue, v1alpha1.ReasonCompiled, fmt.Sprintf("objects that OperatorBox %q selects, too, are left to it: it is older", elder))
		counts := func(name string, n int) {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				g.Expect(getHealth(ctx, g, name).Status.Resources.Total).To(BeEquivalentTo(n))
			}).WithContext(ctx).Should(Succeed())
		}
		counts(elder, 2)
		counts(younger, 1)

		By("another selector of the older one, and its end")
		over(elder, `"a"`)
		by("both", younger)
		counts(younger, 2)
		over(elder, `"a", "both"`)
		by("both", elder)
		counts(younger, 1)
		Expect(kube.Delete(ctx, &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: elder}})).To(Succeed())
		by("both", younger)
		Expect(kube.Get(ctx, key("a-of"), &corev1.ConfigMap{})).To(Succeed())
	})

	It("is shown by the commands with what it serves, its patches, and what a former box has left", func(ctx context.Context) {
		over := func(name, value string) {
			GinkgoHelper()
			w.boxNamed(ctx, name, fmt.Sprintf(`{crd: {apiVersion: apps/v1, kind: Deployment}, selector: {matchLabels: {%q: %q}},
				onReconcile: {configmaps: [{id: %[3]s, name: "{{ .metadata.name }}-%[3]s", data: {a: b}}],
					patches: [{id: mine, target: {apiVersion: v1, kind: ConfigMap, name: shared}, patch: {metadata: {labels: {by: "{{ .metadata.name }}"}}}}]}}`, label, value, name))
			w.running(ctx, name)
		}
		says := func(name string, code int, status, tree string) {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				out, got := orkestra(ctx, "status", "deployment/"+name, "-n", w.namespace)
				g.Expect(out).To(MatchRegexp(status))
				g.Expect(got).To(Equal(code), out)
				out, got = orkestra(ctx, "tree", "deployment/"+name, "-n", w.namespace)
				g.Expect(out).To(MatchRegexp(tree))
				g.Expect(got).To(Equal(code), out)
			}).WithContext(ctx).Should(Succeed())
		}
		elder, younger := w.id+"a", w.id+"b" // ids of declarations, too
		over(elder, "a")
		over(younger, "b")
		shared := w.owned(ctx, "shared", map[string]string{"own": "x"})
		first := deployment(ctx, "first", "b")

		By("the box that selects the object, and the patch that stands")
		ready := `(?s)^Deployment %[1]s/first is ready\nBox: %[2]s, .*\n%[2]s +ConfigMap/first-%[2]s +Ready .*\nmine +ConfigMap/shared +Ready`
		inTree := `(?s)OperatorBox/%[1]s .*Deployment/%[2]s/first +True .*ConfigMap/shared +True .* patched by mine`
		says("first", 0, fmt.Sprintf(ready, w.namespace, younger), fmt.Sprintf(inTree, younger, w.namespace))

		By("a patch that the first one is in the way of")
		deployment(ctx, "second", "b")
		says("second", 1, `(?s)^Deployment `+w.namespace+`/second is not ready: Conflict: patches: mine: .*\nmine +ConfigMap/shared +Failed`,
			`(?s)Deployment/`+w.namespace+`/second +False .*ConfigMap/shared +False .* patch mine: Failed: .*the patch "mine" of Deployment`)

		By("no target")
		Expect(kube.Delete(ctx, shared)).To(Succeed())
		says("first", 1, `(?s)^Deployment `+w.namespace+`/first is not ready: Waiting: mine: ConfigMap "`+w.namespace+`/shared" does not exist\n.*\nmine +ConfigMap/shared +Waiting`,
			`(?s)Deployment/`+w.namespace+`/first +False .*ConfigMap/shared +False .* patch mine: Waiting`)

		By("what a former box has left")
		Expect(kube.Delete(ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "second"}})).To(Succeed())
		w.owned(ctx, "shared", map[string]string{"own": "x"})
		relabel(ctx, first, "a")
		says("first", 0, fmt.Sprintf(ready, w.namespace, elder), fmt.Sprintf(inTree, elder, w.namespace))
		Expect(kube.Delete(ctx, &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: elder}})).To(Succeed())
		Eventually(func() error { return kube.Get(ctx, types.NamespacedName{Name: elder}, &v1alpha1.OperatorBox{}) }).WithContext(ctx).Should(Satisfy(apierrors.IsNotFound))
		relabel(ctx, first, "b")
		says("first", 0, `(?s)^Deployment `+w.namespace+`/first is ready\n.*ConfigMap first-`+elder+` is left as it is: .*`+elder+` +ConfigMap/first-`+elder+` +Undeclared`,
			`(?s)OperatorBox/`+younger+` .*ConfigMap/first-`+elder+` +- `)
	})

	It("leaves children when it is deleted, and takes them with it where that is asked for", func(ctx context.Context) {
		box(ctx, "")
		w.running(ctx, w.id)
		deployment(ctx, "web", "yes")
		made(ctx, "web", "0")
		ref := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: w.id}}
		Expect(kube.Delete(ctx, ref)).To(Succeed())
		Eventually(func() error { return kube.Get(ctx, types.NamespacedName{Name: w.id}, ref) }).WithContext(ctx).Should(Satisfy(apierrors.IsNotFound))
		Expect(kube.Get(ctx, key("web-of"), &corev1.ConfigMap{})).To(Succeed())

		box(ctx, "")
		w.running(ctx, w.id)
		made(ctx, "web", "0")
		ref = &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: w.id}}
		w.merge(ctx, ref, fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, v1alpha1.AnnotationCleanup))
		Expect(kube.Delete(ctx, ref)).To(Succeed())
		gone(ctx, "web")
	})

	It("takes the conditions of others for theirs, and writes the fields that it declares alone", func(ctx context.Context) {
		w.boxNamed(ctx, w.id, fmt.Sprintf(`{crd: {apiVersion: v1, kind: Pod}, selector: {matchLabels: {%q: "yes"}},
			onReconcile: {configmaps: [{name: "{{ .metadata.name }}-of", data: {replicas: "{{ .metadata.name }}"}}]},
			status: {fields: [{path: message, value: "{{ .metadata.name }}"}]}}`, label))
		w.running(ctx, w.id)
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web", Labels: map[string]string{label: "yes"}}}
		pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "example.com/nothing"}}
		Expect(kube.Create(ctx, pod)).To(Succeed())
		failing := fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":"False","reason":%q}]}}`, v1alpha1.ReasonReconcileError)
		Expect(kube.Status().Patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType, []byte(failing)))).To(Succeed())
		made(ctx, "web", "web")
		Eventually(func(g Gomega) {
			g.Expect(kube.Get(ctx, key("web"), pod)).To(Succeed())
			g.Expect(pod.Status.Message).To(Equal("web"))
			resources := getHealth(ctx, g, w.id).Status.Resources
			g.Expect(resources.Ready).To(BeEquivalentTo(1))
			g.Expect(resources.Failing).To(BeZero())
		}).WithContext(ctx).Should(Succeed())
		for _, c := range pod.Status.Conditions {
			Expect(c.Type).NotTo(BeElementOf(corev1.PodConditionType(v1alpha1.ConditionReconciling), corev1.PodConditionType(v1alpha1.ConditionStalled)))
		}
	})

	It("refuses at once what would select all", func(ctx context.Context) {
		for _, selector := range []string{``, `, selector: {}`, `, selector: {matchLabels: {}}`} {
			obj := w.boxObject(w.id, `{crd: {apiVersion: apps/v1, kind: Deployment}`+selector+`, `+makes+`}`)
			err := kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner("e2e"), client.ForceOwnership)
			Expect(err).To(MatchError(ContainSubstring("with crd.kind, selector or annotationSelector says which objects are served: give matchLabels, matchAnnotations or matchExpressions")))
		}
	})
})
