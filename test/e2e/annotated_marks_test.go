package e2e_test

import (
	"context"
	"fmt"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var _ = Describe("What is noted on annotated objects of others", func() {
	var (
		w   *world
		key string // of the annotation, and of a label
	)
	BeforeEach(func(ctx context.Context) {
		w = newWorldWithoutCRD(ctx)
		key = w.id + ".e2e.test/expose"
	})
	const (
		// bye is made when an object goes, and holds it until it is done.
		bye  = `onDelete: {configmaps: [{id: bye, name: "{{ .metadata.name }}-bye", readyWhen: [{field: object.data.done, equals: "yes"}]}]}`
		note = `data: {note: '{{ index .metadata.annotations %q }}'}`
	)
	annotated := func() string {
		return fmt.Sprintf(`annotationSelector: {matchExpressions: [{key: %q, operator: In, values: ["yes", "still"]}]}`, key)
	}
	labeled := func() string { return fmt.Sprintf(`selector: {matchLabels: {%q: "yes"}}`, key) }
	box := func(ctx context.Context, selector, more string) {
		GinkgoHelper()
		w.boxNamed(ctx, w.id, fmt.Sprintf(`{crd: {apiVersion: networking.k8s.io/v1, kind: NetworkPolicy}, resync: 24h, %s, %s}`, selector, more))
		w.running(ctx, w.id)
	}
	policy := func(ctx context.Context, name, annotation, label string) *networkingv1.NetworkPolicy {
		GinkgoHelper()
		p := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Annotations: map[string]string{key: annotation}, Labels: map[string]string{key: label}}}
		Expect(kube.Create(ctx, p)).To(Succeed())
		return p
	}
	annotate := func(ctx context.Context, obj client.Object, value string) {
		GinkgoHelper()
		w.merge(ctx, obj, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value))
	}
	there := func(ctx context.Context, namespace, name string) *corev1.ConfigMap {
		GinkgoHelper()
		c := &corev1.ConfigMap{}
		Eventually(func(g Gomega) {
			g.Expect(kube.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, c)).To(Succeed())
			g.Expect(c.DeletionTimestamp).To(BeNil())
		}).WithContext(ctx).Should(Succeed())
		return c
	}
	gone := func(ctx context.Context, obj client.Object, namespace, name string) {
		GinkgoHelper()
		Eventually(func() error {
			return kube.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, obj)
		}).WithContext(ctx).Should(Satisfy(apierrors.IsNotFound))
	}
	goneMap := func(ctx context.Context, namespace, name string) {
		GinkgoHelper()
		gone(ctx, &corev1.ConfigMap{}, namespace, name)
	}
	eventually := func(ctx context.Context, name string, is func(g Gomega, p *networkingv1.NetworkPolicy)) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			p := &networkingv1.NetworkPolicy{}
			g.Expect(kube.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: name}, p)).To(Succeed())
			is(g, p)
		}).WithContext(ctx).Should(Succeed())
	}
	held := func(ctx context.Context, name string) {
		GinkgoHelper()
		eventually(ctx, name, func(g Gomega, p *networkingv1.NetworkPolicy) {
			g.Expect(p.Finalizers).To(Equal([]string{v1alpha1.Finalizer}))
			g.Expect(p.Labels).To(HaveKeyWithValue(v1alpha1.LabelServedBy, w.id))
		})
	}
	// bare waits until nothing of ours is on an object.
	bare := func(ctx context.Context, name string) {
		GinkgoHelper()
		eventually(ctx, name, func(g Gomega, p *networkingv1.NetworkPolicy) {
			g.Expect(p.Finalizers).To(BeEmpty())
			g.Expect(p.Labels).To(HaveLen(1))
			g.Expect(p.Annotations).To(HaveLen(1))
		})
	}
	// finish waits for what is made when an object goes, and has it done.
	finish := func(ctx context.Context, name string) {
		GinkgoHelper()
		c := there(ctx, w.namespace, name+"-bye")
		held(ctx, name)
		w.merge(ctx, c, `{"data":{"done":"yes"}}`)
		goneMap(ctx, w.namespace, name+"-bye")
	}
	requests := func(mark int, name, method string) (n int) {
		for _, r := range manager.requests.since(mark, "/networkpolicies/"+name) {
			if r.method == method {
				n++
			}
		}
		return n
	}

	It("cleans up after those that lose the annotation or are deleted, reads an object once for each write to it, and is still then", func(ctx context.Context) {
		elsewhere := w.id + "-else"
		Expect(kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: elsewhere}})).To(Succeed())
		DeferCleanup(func(ctx context.Context) {
			Expect(kube.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: elsewhere}})).To(Succeed())
		})
		target := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "shared"}}
		Expect(kube.Create(ctx, target)).To(Succeed())
		box(ctx, annotated(), fmt.Sprintf(`onCreate: {configmaps: [{name: "{{ .metadata.name }}-first", reconcile: false}]},
			onReconcile: {configmaps: [{id: one, name: "{{ .metadata.name }}-of", namespace: %q, %s}],
				patches: [{target: {apiVersion: v1, kind: ConfigMap, name: shared}, patch: {data: '{{ dict .metadata.name "patched" }}'}}]}, %s`, elsewhere, fmt.Sprintf(note, key), bye))
		patched := func(name string, is bool) {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				g.Expect(kube.Get(ctx, client.ObjectKeyFromObject(target), target)).To(Succeed())
				_, has := target.Data[name]
				g.Expect(has).To(Equal(is))
			}).WithContext(ctx).Should(Succeed())
		}
		ready := func(n int) {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				g.Expect(getHealth(ctx, g, w.id).Status.Resources).To(And(HaveField("Total", BeEquivalentTo(n)), HaveField("Ready", BeEquivalentTo(n))))
			}).WithContext(ctx).Should(Succeed())
		}
		served := func(name string) *networkingv1.NetworkPolicy {
			GinkgoHelper()
			p := policy(ctx, name, "yes", "no")
			there(ctx, elsewhere, name+"-of")
			patched(name, true)
			eventually(ctx, name, func(g Gomega, p *networkingv1.NetworkPolicy) {
				g.Expect(p.Annotations).To(And(HaveKey(v1alpha1.AnnotationActiveSince), HaveKey(v1alpha1.AnnotationPatches)))
			})
			held(ctx, name)
			return p
		}
		start := manager.requests.mark()
		web := served("web")
		ready(1)
		served("second") // the watch tells of it after all that was written to the first
		ready(2)
		// It is read when it is selected, once after each write to it, and once before the first child that nobody else would delete.
		Expect(requests(start, "web", http.MethodGet)).To(BeNumerically("<=", 2+requests(start, "web", http.MethodPatch)))

		By("a change, and nothing after it")
		mark := manager.requests.mark()
		annotate(ctx, web, "still")
		Eventually(func() map[string]string { return there(ctx, elsewhere, "web-of").Data }).WithContext(ctx).Should(Equal(map[string]string{"note": "still"}))
		served("third")
		ready(3)
		Expect(requests(mark, "web", http.MethodPatch)).To(BeZero())
		Expect(requests(mark, "web", http.MethodGet)).To(Equal(1))
		Expect(requests(start, "second", http.MethodGet)).To(BeNumerically("<=", 2+requests(start, "second", http.MethodPatch)))

		By("losing the annotation")
		annotate(ctx, web, "no")
		finish(ctx, "web")
		goneMap(ctx, elsewhere, "web-of")
		patched("web", false)
		bare(ctx, "web")
		ready(2)
		mark = manager.requests.mark()
		served("fourth")
		ready(3)
		Expect(manager.requests.since(mark, "/networkpolicies/web")).To(BeEmpty())

		By("coming back, and being deleted")
		Expect(kube.Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web-first"}})).To(Or(Succeed(), Satisfy(apierrors.IsNotFound)))
		annotate(ctx, web, "yes")
		there(ctx, elsewhere, "web-of")
		there(ctx, w.namespace, "web-first")
		held(ctx, "web")
		Expect(kube.Delete(ctx, web)).To(Succeed())
		finish(ctx, "web")
		gone(ctx, web, w.namespace, "web")
		goneMap(ctx, elsewhere, "web-of")
		patched("web", false)
	})

	It("goes on where a manager was killed, finds what left without one, and follows from labels to annotations and back", func(ctx context.Context) {
		more := `onReconcile: {configmaps: [{name: "{{ .metadata.name }}-of"}]}, ` + bye
		box(ctx, labeled(), more)
		onlyLabel, both := policy(ctx, "label", "no", "yes"), policy(ctx, "both", "yes", "yes")
		policy(ctx, "annotation", "yes", "no")
		for _, p := range []client.Object{onlyLabel, both} {
			there(ctx, w.namespace, p.GetName()+"-of")
			held(ctx, p.GetName())
		}

		By("from labels to annotations, with a manager that is killed meanwhile")
		manager.stop()
		DeferCleanup(func() {
			manager.stop()
			manager = startManager(cluster.Config())
		})
		killed := w.startReplica(&journal{}, "killed", built.path())
		killed.leads(ctx)
		box(ctx, annotated(), more)
		there(ctx, w.namespace, "label-bye")
		there(ctx, w.namespace, "annotation-of")
		held(ctx, "annotation")
		killed.Kill()
		Eventually(killed, patience).Should(gexec.Exit())
		annotate(ctx, &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "annotation"}}, "no")
		Expect(kube.Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "annotation-of"}})).To(Succeed()) // it is known by its marks alone
		manager = startManager(cluster.Config())
		for _, name := range []string{"label", "annotation"} {
			finish(ctx, name)
			bare(ctx, name)
			goneMap(ctx, w.namespace, name+"-of")
		}
		held(ctx, "both")
		there(ctx, w.namespace, "both-of")

		By("and back to labels")
		annotate(ctx, &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "annotation"}}, "yes")
		there(ctx, w.namespace, "annotation-of")
		held(ctx, "annotation")
		box(ctx, labeled(), more)
		finish(ctx, "annotation")
		bare(ctx, "annotation")
		goneMap(ctx, w.namespace, "annotation-of")
		there(ctx, w.namespace, "label-of")
		held(ctx, "label")
		held(ctx, "both")
		Expect(kube.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: "both-bye"}, &corev1.ConfigMap{})).To(Satisfy(apierrors.IsNotFound), "it was selected all the time")
	})

	It("waits, when the box is deleted, for what has left, and for what can't be read yet", func(ctx context.Context) {
		box(ctx, annotated(), `onReconcile: {configmaps: [{name: "{{ .metadata.name }}-of"}]}, `+bye)
		left := policy(ctx, "left", "yes", "no")
		policy(ctx, "stays", "yes", "no")
		for _, name := range []string{"left", "stays"} {
			there(ctx, w.namespace, name+"-of")
			held(ctx, name)
		}
		f := &fault{
			match:  matching(http.MethodGet, "/namespaces/"+w.namespace+"/networkpolicies/stays?"),
			answer: refuses(http.StatusInternalServerError, metav1.StatusReasonInternalError, "no leader"),
		}
		manager.stop()
		annotate(ctx, left, "no")
		ref := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: w.id}}
		Expect(kube.Delete(ctx, ref)).To(Succeed())
		manager = startManager(cluster.Config(), via(f.wrap))
		DeferCleanup(func() {
			manager.stop()
			manager = startManager(cluster.Config())
		})
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonDeletionBlocked, w.namespace+"/left")
		finish(ctx, "left")
		bare(ctx, "left")
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonDeletionBlocked, w.namespace+"/stays")
		f.mend()
		w.merge(ctx, &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "stays"}}, `{"spec":{"podSelector":{"matchLabels":{"a":"b"}}}}`)
		gone(ctx, ref, "", w.id)
		bare(ctx, "stays")
		there(ctx, w.namespace, "stays-of")
	})
})
