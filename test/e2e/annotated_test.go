package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

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

var _ = Describe("A box over annotated objects of others", func() {
	var (
		w   *world
		key string // of the annotation
	)
	BeforeEach(func(ctx context.Context) {
		w = newWorldWithoutCRD(ctx)
		key = w.id + ".e2e.test/expose"
	})
	// spec is that of a box over NetworkPolicies, which nobody in the cluster of the suite acts on.
	spec := func(selectors string) string {
		return fmt.Sprintf(`{crd: {apiVersion: networking.k8s.io/v1, kind: NetworkPolicy}, %s,
			onReconcile: {configmaps: [{name: "{{ .metadata.name }}-of", data: {note: '{{ index .metadata.annotations %q }}', app: "{{ .spec.podSelector.matchLabels.app }}"}}]}}`, selectors, key)
	}
	annotated := func(values ...string) string {
		return fmt.Sprintf(`annotationSelector: {matchExpressions: [{key: %q, operator: In, values: ["%s"]}]}`, key, strings.Join(values, `", "`))
	}
	policy := func(ctx context.Context, name, value string) *networkingv1.NetworkPolicy {
		GinkgoHelper()
		p := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Annotations: map[string]string{key: value}}}
		p.Spec.PodSelector.MatchLabels = map[string]string{"app": name}
		Expect(kube.Create(ctx, p)).To(Succeed())
		return p
	}
	annotate := func(ctx context.Context, obj client.Object, value string) {
		GinkgoHelper()
		w.merge(ctx, obj, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value))
	}
	child := func(name string) types.NamespacedName {
		return types.NamespacedName{Namespace: w.namespace, Name: name + "-of"}
	}
	made := func(ctx context.Context, name, note, box string) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			c := &corev1.ConfigMap{}
			g.Expect(kube.Get(ctx, child(name), c)).To(Succeed())
			g.Expect(c.Data).To(Equal(map[string]string{"note": note, "app": name}), "the object is read whole")
			g.Expect(c.Labels).To(HaveKeyWithValue(v1alpha1.LabelBox, box))
		}).WithContext(ctx).Should(Succeed())
	}
	gone := func(ctx context.Context, name string) {
		GinkgoHelper()
		Eventually(func() error { return kube.Get(ctx, child(name), &corev1.ConfigMap{}) }).WithContext(ctx).Should(Satisfy(apierrors.IsNotFound))
	}
	counts := func(ctx context.Context, box string, n int) {
		GinkgoHelper()
		Eventually(func(g Gomega) { g.Expect(getHealth(ctx, g, box).Status.Resources.Total).To(BeEquivalentTo(n)) }).WithContext(ctx).Should(Succeed())
	}

	It("makes children for those that are annotated, follows them, and cleans up after those that are not any more", func(ctx context.Context) {
		w.running(ctx, w.boxNamed(ctx, w.id, spec(annotated("https://a.example.com/?b=c", "second"))))
		web, other := policy(ctx, "web", "https://a.example.com/?b=c"), policy(ctx, "other", "no")
		made(ctx, "web", "https://a.example.com/?b=c", w.id)
		counts(ctx, w.id, 1)
		annotate(ctx, web, "second")
		made(ctx, "web", "second", w.id)
		annotate(ctx, web, "no")
		gone(ctx, "web")
		counts(ctx, w.id, 0)
		annotate(ctx, web, "second")
		made(ctx, "web", "second", w.id)
		annotate(ctx, other, "second")
		made(ctx, "other", "second", w.id)
		Expect(kube.Get(ctx, client.ObjectKeyFromObject(web), web)).To(Succeed())
		Expect(web.Finalizers).To(BeEmpty())
		Expect(web.Annotations).To(HaveLen(1))

		By("another selector of annotations")
		w.boxNamed(ctx, w.id, spec(annotated("third")))
		gone(ctx, "web")
		gone(ctx, "other")
		annotate(ctx, web, "third")
		made(ctx, "web", "third", w.id)

		By("the deletion of the object")
		Expect(kube.Delete(ctx, web)).To(Succeed())
		gone(ctx, "web")
	})

	It("sends no request for a thousand that are not selected, and one for each change of one that is", func(ctx context.Context) {
		const others = 1000
		w.running(ctx, w.boxNamed(ctx, w.id, spec(annotated("yes"))))
		policy(ctx, "web", "yes")
		made(ctx, "web", "yes", w.id)
		counts(ctx, w.id, 1)
		mark := manager.requests.mark()
		name := func(i int) *networkingv1.NetworkPolicy {
			return &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: fmt.Sprintf("other-%d", i)}}
		}
		for i := range others {
			Expect(kube.Create(ctx, name(i))).To(Succeed())
		}
		for i := range others / 10 {
			annotate(ctx, name(i), "no")
		}
		last := policy(ctx, "last", "yes") // the watch tells of it after all others
		made(ctx, "last", "yes", w.id)
		reads := func() []string {
			var out []string
			for _, r := range manager.requests.since(mark, "networkpolicies") {
				out = append(out, r.String())
			}
			return out
		}
		Expect(reads()).To(ConsistOf(HavePrefix("GET /apis/networking.k8s.io/v1/namespaces/" + w.namespace + "/networkpolicies/last?")))
		annotate(ctx, last, "no")
		gone(ctx, "last")
		Expect(reads()).To(HaveLen(2), "it was asked for before its child was deleted")
	})

	It("evaluates labels and annotations together", func(ctx context.Context) {
		label := w.id + ".e2e.test/team"
		w.running(ctx, w.boxNamed(ctx, w.id, spec(fmt.Sprintf(`selector: {matchLabels: {%q: a}}, annotationSelector: {matchExpressions: [{key: %q, operator: NotIn, values: ["no"]}]}`, label, key))))
		relabel := func(obj client.Object, value string) {
			GinkgoHelper()
			w.merge(ctx, obj, fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, label, value))
		}
		web, other := policy(ctx, "web", "yes"), policy(ctx, "other", "no")
		relabel(web, "a")
		relabel(other, "a")
		made(ctx, "web", "yes", w.id)
		counts(ctx, w.id, 1)
		relabel(web, "b")
		gone(ctx, "web")
		relabel(web, "a")
		made(ctx, "web", "yes", w.id)
		annotate(ctx, web, "no")
		gone(ctx, "web")
		annotate(ctx, other, "yes")
		made(ctx, "other", "yes", w.id)
	})

	It("cleans up after those that left while no manager ran", func(ctx context.Context) {
		w.running(ctx, w.boxNamed(ctx, w.id, spec(annotated("yes"))))
		web, second := policy(ctx, "web", "yes"), policy(ctx, "second", "yes")
		policy(ctx, "stays", "yes")
		for _, name := range []string{"web", "second", "stays"} {
			made(ctx, name, "yes", w.id)
		}
		manager.stop()
		annotate(ctx, web, "no")
		manager = startManager(cluster.Config())
		gone(ctx, "web")
		Expect(kube.Get(ctx, child("stays"), &corev1.ConfigMap{})).To(Succeed())

		By("a manager that is killed")
		manager.stop()
		DeferCleanup(func() {
			manager.stop()
			manager = startManager(cluster.Config())
		})
		killed := w.startReplica(&journal{}, "killed", built.path())
		killed.leads(ctx)
		w.running(ctx, w.id)
		killed.Kill()
		Eventually(killed, patience).Should(gexec.Exit())
		annotate(ctx, second, "no")
		manager = startManager(cluster.Config())
		gone(ctx, "second")
		Expect(kube.Get(ctx, child("stays"), &corev1.ConfigMap{})).To(Succeed())
	})

	It("leaves to an older box what both select, by labels and annotations", func(ctx context.Context) {
		elder, younger := w.id+"-a", w.id+"-b" // made in one second, the name decides
		w.running(ctx, w.boxNamed(ctx, elder, spec(annotated("a", "both"))))
		w.running(ctx, w.boxNamed(ctx, younger, spec(annotated("b", "both"))))
		for _, name := range []string{"a", "b", "both"} {
			policy(ctx, name, name)
		}
		made(ctx, "a", "a", elder)
		made(ctx, "b", "b", younger)
		made(ctx, "both", "both", elder)
		boxShows(ctx, younger, v1alpha1.ConditionCompiled, metav1.ConditionTrue, v1alpha1.ReasonCompiled, fmt.Sprintf("objects that OperatorBox %q selects, too, are left to it: it is older", elder))
		counts(ctx, elder, 2)
		counts(ctx, younger, 1)
		w.boxNamed(ctx, elder, spec(annotated("a")))
		made(ctx, "both", "both", younger)
		w.boxNamed(ctx, elder, spec(annotated("a", "both")))
		made(ctx, "both", "both", elder)
		Expect(kube.Delete(ctx, &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: elder}})).To(Succeed())
		made(ctx, "both", "both", younger)
	})

	It("finds what left while its watch was broken, and could not go on", func(ctx context.Context) {
		broken := &brokenWatch{of: "/apis/networking.k8s.io/v1/networkpolicies"}
		replaceManager(via(broken.wrap))
		w.running(ctx, w.boxNamed(ctx, w.id, spec(annotated("yes"))))
		web := policy(ctx, "web", "yes")
		made(ctx, "web", "yes", w.id)
		broken.away.Store(true)
		broken.cut()
		annotate(ctx, web, "no")
		policy(ctx, "new", "yes")
		broken.expired.Store(true)
		broken.away.Store(false)
		gone(ctx, "web")
		made(ctx, "new", "yes", w.id)
		Expect(broken.expired.Load()).To(BeFalse(), "it was told that its version is too old")
	})

	It("names an object that can't be read, goes on with the others, and reads it when it can", func(ctx context.Context) {
		f := &fault{
			match:  matching(http.MethodGet, "/namespaces/"+w.namespace+"/networkpolicies/web?"),
			answer: refuses(http.StatusInternalServerError, metav1.StatusReasonInternalError, "no leader"),
		}
		replaceManager(via(f.wrap))
		policy(ctx, "web", "yes")
		policy(ctx, "other", "yes")
		w.running(ctx, w.boxNamed(ctx, w.id, spec(annotated("yes"))))
		made(ctx, "other", "yes", w.id)
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonRunning, fmt.Sprintf(`networkpolicies.networking.k8s.io "%s/web" is selected and can't be read, which is tried again: no leader`, w.namespace))
		f.mend()
		w.merge(ctx, &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web"}}, `{"metadata":{"labels":{"a":"b"}}}`)
		made(ctx, "web", "yes", w.id)
		Eventually(func(g Gomega) {
			g.Expect(boxCondition(getBox(ctx, g, w.id), v1alpha1.ConditionReady).Message).NotTo(ContainSubstring("can't be read"))
		}).WithContext(ctx).Should(Succeed())
	})

	It("refuses selectors that select nearly all", func(ctx context.Context) {
		obj := w.boxObject(w.id, spec(`annotationSelector: {matchAnnotations: {}}`))
		err := kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner("e2e"), client.ForceOwnership)
		Expect(err).To(MatchError(ContainSubstring("with crd.kind, selector or annotationSelector says which objects are served")))
		for _, selector := range []string{
			fmt.Sprintf(`annotationSelector: {matchExpressions: [{key: %q, operator: DoesNotExist}]}`, key),
			fmt.Sprintf(`selector: {matchExpressions: [{key: %q, operator: NotIn, values: [a]}]}`, key),
		} {
			w.boxNamed(ctx, w.id, spec(selector))
			boxShows(ctx, w.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "they select nearly all objects of the kind: add what an object must have")
		}
	})
})

// brokenWatch breaks the watches of a path, and the requests to watch it on.
type brokenWatch struct {
	of      string
	away    atomic.Bool // nothing of the path is answered
	expired atomic.Bool // the next request to watch on from a version is answered with 410

	mu   sync.Mutex
	open []*endedWatch
}

func (b *brokenWatch) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		query := r.URL.RawQuery
		if r.URL.Path != b.of || !strings.Contains(query, "watch=true") {
			return next.RoundTrip(r)
		}
		if b.away.Load() {
			return refuses(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "away")(0)
		}
		if !strings.Contains(query, "sendInitialEvents") && b.expired.CompareAndSwap(true, false) {
			return refuses(http.StatusGone, metav1.StatusReasonExpired, "too old resource version")(0)
		}
		response, err := next.RoundTrip(r)
		if err == nil {
			b.mu.Lock()
			defer b.mu.Unlock()
			watch := &endedWatch{ReadCloser: response.Body}
			b.open, response.Body = append(b.open, watch), watch
		}
		return response, err
	})
}

// cut ends the watches that are open.
func (b *brokenWatch) cut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, watch := range b.open {
		watch.ended.Store(true)
		_ = watch.Close() // it may have ended
	}
	b.open = nil
}

// endedWatch is the body of a watch that can be ended as the API server ends one: after an error a reflector would list again by itself.
type endedWatch struct {
	io.ReadCloser

	ended atomic.Bool
}

func (e *endedWatch) Read(p []byte) (int, error) {
	n, err := e.ReadCloser.Read(p)
	if err != nil && e.ended.Load() {
		err = io.EOF
	}
	return n, err
}
