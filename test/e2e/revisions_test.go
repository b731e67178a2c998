package e2e_test

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/boxspec"
)

// revisions are those of a box, the oldest first.
func revisions(ctx context.Context, g Gomega, box string) []appsv1.ControllerRevision {
	var list appsv1.ControllerRevisionList
	g.Expect(kube.List(ctx, &list, client.InNamespace(ownNamespace), client.MatchingLabels{v1alpha1.LabelRevisionOf: box})).To(Succeed())
	slices.SortFunc(list.Items, func(a, b appsv1.ControllerRevision) int { return cmp.Compare(a.Revision, b.Revision) })
	return list.Items
}

// revisionNames are the names of a box's revisions, the oldest first.
func revisionNames(ctx context.Context, g Gomega, box string) []string {
	out := []string{}
	for _, r := range revisions(ctx, g, box) {
		out = append(out, r.Name)
	}
	return out
}

// runs applies a box, waits until it runs, and gives its revision.
func (w *world) runs(ctx context.Context, spec string) string {
	GinkgoHelper()
	w.running(ctx, w.box(ctx, spec))
	return getBox(ctx, Default, w.id).Status.Revision
}

// doesNotCompile is a box that does not compile.
const doesNotCompile = `{onReconcile: {configmaps: [{data: {value: "{{ .spec.nothing }}"}}]}}`

// inNamespace has a manager keep revisions in another namespace.
func inNamespace(namespace string) func(*settings) {
	return func(s *settings) { s.orkestra.Namespace = namespace }
}

// runManager starts the manager of the suite where a spec has failed while none ran.
func runManager() {
	if manager.cancel == nil {
		manager = startManager(cluster.Config())
	}
}

var _ = Describe("Revisions of a box", func() {
	var w *world
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		DeferCleanup(runManager)
	})
	It("are kept for each spec that runs, and go with it", func(ctx context.Context) {
		first := w.runs(ctx, oneMap(1, "first"))
		all := revisions(ctx, Default, w.id)
		Expect(all).To(HaveLen(1))
		box := getBox(ctx, Default, w.id)
		data, err := boxspec.Data(box)
		Expect(err).NotTo(HaveOccurred())
		Expect(all[0].Name).To(Equal(first))
		Expect(all[0].Data.Raw).To(MatchJSON(data))
		Expect(all[0].OwnerReferences).To(BeEmpty())

		By("editing it, badly, well, and back")
		second := w.runs(ctx, oneMap(1, "second"))
		w.box(ctx, doesNotCompile)
		boxShows(ctx, w.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "; revision "+second+" goes on")
		Expect(revisionNames(ctx, Default, w.id)).To(Equal([]string{first, second}), "what does not compile is not kept")
		Expect(w.runs(ctx, oneMap(1, "first"))).To(Equal(first))
		Expect(revisionNames(ctx, Default, w.id)).To(Equal([]string{second, first}), "it is the newest again")

		By("annotating one, as people do")
		w.merge(ctx, &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: ownNamespace, Name: second}}, `{"metadata":{"annotations":{"a":"b"}}}`)
		Expect(w.runs(ctx, oneMap(1, "second"))).To(Equal(second))
		Expect(revisionNames(ctx, Default, w.id)).To(Equal([]string{first, second}))

		deleteBox(ctx, w.id)
		boxGone(ctx, w.id)
		Expect(revisions(ctx, Default, w.id)).To(BeEmpty())
	})

	It("are one for a box that leaves lists and maps out, and for one that writes them empty", func(ctx context.Context) {
		said := w.runs(ctx, oneMap(1, "first"))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		same := func(spec string) {
			GinkgoHelper()
			// Not applied: to a server-side apply null is a value, which the API server refuses.
			Eventually(func(g Gomega) {
				obj := w.boxObject(w.id, spec)
				obj.SetResourceVersion(getBox(ctx, g, w.id).ResourceVersion)
				g.Expect(kube.Update(ctx, obj)).To(Succeed())
			}).WithContext(ctx).Should(Succeed())
			Eventually(func(g Gomega) {
				box := getBox(ctx, g, w.id)
				g.Expect(box.Status.ObservedGeneration).To(Equal(box.Generation))
			}).WithContext(ctx).Should(Succeed())
			w.running(ctx, w.id)
			Expect(getBox(ctx, Default, w.id).Status.Revision).To(Equal(said))
		}
		same(`{workers: 1, finalizers: [], dependsOn: [], selector: {}, namespaces: {include: []}, mutation: {rules: []}, commonLabels: {},
			onCreate: {}, onDelete: {jobs: []}, onReconcile: {secrets: [], configmaps: [{data: {value: first}, binaryData: {}, labels: {}, when: [], spec: {}}]}}`)
		same(`{workers: 1, finalizers: null, dependsOn: null, selector: null, namespaces: {include: null}, mutation: {rules: null}, commonLabels: null,
			onCreate: null, onDelete: {jobs: null}, onReconcile: {secrets: null, configmaps: [{data: {value: first}, binaryData: null, labels: null, when: null, spec: null}]}}`)
		Expect(getBox(ctx, Default, w.id).Generation).To(BeNumerically(">", 1))
		Expect(revisionNames(ctx, Default, w.id)).To(Equal([]string{said}))
	})

	It("can be gone back to by hand", func(ctx context.Context) {
		first := w.runs(ctx, oneMap(1, "first"))
		w.website(ctx, "web", `{}`)
		w.runs(ctx, oneMap(1, "second"))
		w.holds(ctx, "web", "second")
		spec, err := cluster.Kubectl(ctx, "--namespace", ownNamespace, "get", "controllerrevision", first, "-o", "jsonpath={.data}")
		Expect(err).NotTo(HaveOccurred())
		_, err = cluster.Kubectl(ctx, "patch", "operatorbox", w.id, "--type=json", "-p", `[{"op":"replace","path":"/spec","value":`+spec+`}]`)
		Expect(err).NotTo(HaveOccurred())
		w.holds(ctx, "web", "first")
		w.running(ctx, w.id)
		Expect(getBox(ctx, Default, w.id).Status.Revision).To(Equal(first))
	})

	It("are pruned above the limit, but neither what runs nor what was healthy last", func(ctx context.Context) {
		limited := func(value string) string {
			return `{revisionHistoryLimit: 2, failureThreshold: 1, onReconcile: {configmaps: [{data: {value: "` + value + `"}}]}}`
		}
		good := w.runs(ctx, limited("good"))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		knows := func() {
			GinkgoHelper()
			healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
				g.Expect(s.State).To(Equal(v1alpha1.HealthDegraded))
				g.Expect(s.LastKnownGood).To(HaveValue(HaveField("Revision", good)))
			})
		}
		var failing []string
		for _, value := range []string{"one", "two", "three", "four"} {
			failing = append(failing, w.runs(ctx, limited(`{{ fail \"`+value+`\" }}`)))
			w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonTemplateError, value)
			knows()
		}
		Expect(revisionNames(ctx, Default, w.id)).To(Equal(slices.Concat([]string{good}, failing[1:])))

		By("restarting: a plan that fails does not become good by that")
		replaceManager()
		w.running(ctx, w.id)
		w.website(ctx, "web", `{image: other}`)
		Eventually(func(g Gomega) { // what the former process has written says the same, but of the resource as it was
			web := w.get(ctx, g, "web")
			conditions, _, err := unstructured.NestedSlice(web.Object, "status", "conditions")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(conditions).To(ContainElement(And(
				HaveKeyWithValue("type", v1alpha1.ConditionStalled), HaveKeyWithValue("message", ContainSubstring("four")), HaveKeyWithValue("observedGeneration", web.GetGeneration()))))
		}).WithContext(ctx).Should(Succeed())
		knows()

		By("going back, and on")
		Expect(w.runs(ctx, limited("good"))).To(Equal(good))
		w.settled(ctx, "web")
		inState(ctx, w.id, v1alpha1.HealthHealthy, v1alpha1.ReasonHealthy)
		Expect(revisionNames(ctx, Default, w.id)).To(Equal([]string{failing[2], failing[3], good}))
		better := w.runs(ctx, limited("better"))
		w.holds(ctx, "web", "better")
		healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.LastKnownGood).To(HaveValue(HaveField("Revision", better)))
		})
		Expect(revisionNames(ctx, Default, w.id)).To(Equal([]string{failing[3], good, better}))
	})

	It("cost a restart one request each, and are put back where somebody removed them", func(ctx context.Context) {
		running := w.runs(ctx, oneMap(1, "first"))
		asked := func() []string {
			var methods []string
			for _, r := range manager.requests.since(0, "/controllerrevisions/"+running) {
				methods = append(methods, r.method)
			}
			return methods
		}
		replaceManager()
		Eventually(asked).WithContext(ctx).Should(Equal([]string{http.MethodGet}))
		w.running(ctx, w.id)
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		Expect(asked()).To(Equal([]string{http.MethodGet}))
		manager.stop()
		Expect(kube.Delete(ctx, &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: ownNamespace, Name: running}})).To(Succeed())
		manager = startManager(cluster.Config())
		Eventually(func(g Gomega) {
			g.Expect(revisionNames(ctx, g, w.id)).To(Equal([]string{running}))
		}).WithContext(ctx).Should(Succeed())
	})

	It("are not what a box waits for: without a namespace it runs, and says so", func(ctx context.Context) {
		namespace := w.namespace + "-none"
		replaceManager(inNamespace(namespace))
		w.runs(ctx, oneMap(1, "first"))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		boxShows(ctx, w.id, v1alpha1.ConditionCompiled, metav1.ConditionTrue, v1alpha1.ReasonCompiled,
			`; the spec runs, but is not kept as a revision: creating ControllerRevision `+namespace+`/`)
		boxShows(ctx, w.id, v1alpha1.ConditionCompiled, metav1.ConditionTrue, v1alpha1.ReasonCompiled, `create namespace "`+namespace+`", or name another with the manager's flag --namespace`)
		healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.Resources).To(Equal(v1alpha1.ResourceCounts{Total: 1, Ready: 1}))
			g.Expect(s.SuccessCount).To(BeEquivalentTo(1))
		})
		By("trying again though nothing changes any more")
		mark := manager.requests.mark()
		Eventually(func() int { return sent(mark, http.MethodPost, "/namespaces/"+namespace+"/controllerrevisions") }).
			WithContext(ctx).Should(BeNumerically(">=", 3), "one may have been under way, and one may come of the last change")
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		Expect(kube.Create(ctx, ns)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(kube.Delete(ctx, ns)).To(Succeed()) })
		Eventually(func(g Gomega) {
			g.Expect(boxCondition(getBox(ctx, g, w.id), v1alpha1.ConditionCompiled).Message).To(Equal("the spec is valid"))
		}).WithContext(ctx).Should(Succeed())
		revision := types.NamespacedName{Namespace: namespace, Name: getBox(ctx, Default, w.id).Status.Revision}
		Expect(kube.Get(ctx, revision, &appsv1.ControllerRevision{})).To(Succeed())
	})

	It("of a box whose finalizer was taken off go when the next manager leads", func(ctx context.Context) {
		w.runs(ctx, oneMap(1, "first"))
		manager.stop()
		deleteBox(ctx, w.id)
		w.merge(ctx, getBox(ctx, Default, w.id), `{"metadata":{"finalizers":null}}`)
		Eventually(func() bool {
			return apierrors.IsNotFound(kube.Get(ctx, types.NamespacedName{Name: w.id}, &v1alpha1.OperatorBox{}))
		}).WithContext(ctx).Should(BeTrue())
		Expect(revisions(ctx, Default, w.id)).To(HaveLen(1))
		manager = startManager(cluster.Config())
		Eventually(func(g Gomega) { g.Expect(revisions(ctx, g, w.id)).To(BeEmpty()) }).WithContext(ctx).Should(Succeed())
	})

	Context("tell what a box has made whose status was lost", func() {
		BeforeEach(func(ctx context.Context) {
			w.runs(ctx, `{onReconcile: {configmaps: [{data: {value: good}}], secrets: [{data: {a: b}}]}}`)
			w.website(ctx, "web", `{}`)
			w.settled(ctx, "web")
		})
		lost := func(ctx context.Context) {
			GinkgoHelper()
			Eventually(func() error {
				box := getBox(ctx, Default, w.id)
				box.Status = v1alpha1.OperatorBoxStatus{}
				return kube.Status().Update(ctx, box)
			}).WithContext(ctx).Should(Succeed())
		}
		knows := ContainElement(HaveField("Kind", "Secret"))
		manages := func(ctx context.Context, g Gomega) []v1alpha1.GroupVersionKind {
			return getBox(ctx, g, w.id).Status.ManagedKinds
		}

		It("while no manager ran", func(ctx context.Context) {
			secret := &corev1.Secret{}
			w.child(ctx, Default, secret, "web")
			manager.stop()
			w.box(ctx, oneMap(1, "better"))
			lost(ctx)
			manager = startManager(cluster.Config())
			w.holds(ctx, "web", "better")
			w.gone(ctx, secret, "web")
			w.running(ctx, w.id)
		})

		It("while one runs", func(ctx context.Context) {
			secret := &corev1.Secret{}
			w.child(ctx, Default, secret, "web")
			w.merge(ctx, secret, `{"metadata":{"finalizers":["e2e.test/hold"]}}`)
			w.runs(ctx, oneMap(1, "better"))
			w.holds(ctx, "web", "better")
			Eventually(func(g Gomega) {
				w.child(ctx, g, secret, "web")
				g.Expect(secret.DeletionTimestamp).NotTo(BeNil(), "no declaration stands for it")
			}).WithContext(ctx).Should(Succeed())
			lost(ctx)
			Eventually(func(g Gomega) { g.Expect(manages(ctx, g)).To(knows) }).WithContext(ctx).Should(Succeed())
			w.merge(ctx, secret, `{"metadata":{"finalizers":null}}`)
			Eventually(func(g Gomega) { g.Expect(manages(ctx, g)).NotTo(knows) }).WithContext(ctx).Should(Succeed())
		})
	})
})
