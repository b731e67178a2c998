package e2e_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var _ = Describe("Revisions of a box after a bad edit, in a process that never ran it", func() {
	var w *world
	var good string
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		DeferCleanup(runManager)
		good = w.runs(ctx, `{onReconcile: {configmaps: [{data: {value: good, mode: "{{ default \"none\" .spec.mode }}"}}]}, onDelete: {jobs: [`+job("bye", endless)+`]}}`)
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
	})
	// replaced puts a revision with other data in the place of one.
	replaced := func(ctx context.Context, name, data string) {
		GinkgoHelper()
		old := &appsv1.ControllerRevision{}
		Expect(kube.Get(ctx, types.NamespacedName{Namespace: ownNamespace, Name: name}, old)).To(Succeed())
		Expect(kube.Delete(ctx, old)).To(Succeed())
		next := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: ownNamespace, Name: name, Labels: old.Labels}, Revision: old.Revision}
		next.Data.Raw = []byte(data)
		Expect(kube.Create(ctx, next)).To(Succeed())
	}
	// inVain makes a bad edit, of which the next process alone knows.
	inVain := func(ctx context.Context, more string) {
		GinkgoHelper()
		manager.stop()
		w.box(ctx, `{`+more+`finalizers: [not-qualified], onReconcile: {configmaps: [{data: {value: "{{ .spec.nothing }}"}}]}}`)
	}
	goesOn := func(ctx context.Context) {
		GinkgoHelper()
		boxShows(ctx, w.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "spec.nothing")
		boxShows(ctx, w.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "; revision "+good+" goes on")
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "spec.nothing")
		w.overwrites(ctx, "web", "by hand")
		w.holds(ctx, "web", "good")
		w.website(ctx, "new", `{}`)
		w.settled(ctx, "new")
		w.holds(ctx, "new", "good")
		Eventually(func(g Gomega) {
			g.Expect(getBox(ctx, g, w.id).Status.Revision).To(Equal(good))
			g.Expect(getHealth(ctx, g, w.id).Status).To(And(HaveField("State", v1alpha1.HealthHealthy), HaveField("Revision", good)))
		}).WithContext(ctx).Should(Succeed())
	}

	It("go on in full, and give way to the next good one", func(ctx context.Context) {
		inVain(ctx, "")
		manager = startManager(cluster.Config())
		goesOn(ctx)
		Expect(kube.Delete(ctx, w.ref("new"))).To(Succeed())
		w.cleaning(ctx, "new", "new-bye")
		w.finishes(ctx, "new-bye")
		w.vanished(ctx, "new")
		w.runs(ctx, oneMap(1, "better"))
		w.holds(ctx, "web", "better")
	})

	It("go on in one that takes over", func(ctx context.Context) {
		replaceManager(elected(w.namespace))
		w.running(ctx, w.id)
		w.box(ctx, doesNotCompile)
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "spec.nothing")
		watches := newStreams()
		follower := startManager(cluster.Config(), elected(w.namespace), via(watches.wrap))
		DeferCleanup(func() { follower.stop() })
		Eventually(func() int { return watches.count("/" + w.group + "/") }).WithContext(ctx).Should(Equal(1), "it keeps caches")
		Expect(follower.requests.changes(0)).To(BeEmpty())
		manager.stop()
		goesOn(ctx)
		follower.stop()
		manager = startManager(cluster.Config())
	})

	It("go on where the box's status is lost, too", func(ctx context.Context) {
		inVain(ctx, "")
		box := getBox(ctx, Default, w.id)
		box.Status = v1alpha1.OperatorBoxStatus{}
		Expect(kube.Status().Update(ctx, box)).To(Succeed())
		manager = startManager(cluster.Config())
		goesOn(ctx)
	})

	It("run what the box declared for deletions, while it is suspended", func(ctx context.Context) {
		inVain(ctx, "suspend: true, ")
		manager = startManager(cluster.Config())
		Expect(kube.Delete(ctx, w.ref("web"))).To(Succeed())
		w.cleaning(ctx, "web", "web-bye")
		w.finishes(ctx, "web-bye")
		w.vanished(ctx, "web")
		w.website(ctx, "new", `{}`)
		healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) { g.Expect(s.Resources.Total).To(BeZero()) })
		Expect(w.get(ctx, Default, "new").GetFinalizers()).To(BeEmpty())
	})

	It("run what the box declared for deletions, while it is being deleted in the foreground", func(ctx context.Context) {
		inVain(ctx, "")
		Expect(kube.Delete(ctx, w.ref("web"))).To(Succeed())
		Expect(kube.Delete(ctx, getBox(ctx, Default, w.id), client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
		By("waiting until the garbage collector has done what it does with what belongs to the box")
		Eventually(func() bool {
			return apierrors.IsNotFound(kube.Get(ctx, types.NamespacedName{Name: w.id}, &v1alpha1.CRDHealth{}))
		}).WithContext(ctx).Should(BeTrue())
		manager = startManager(cluster.Config())
		w.cleaning(ctx, "web", "web-bye")
		Expect(revisionNames(ctx, Default, w.id)).To(Equal([]string{good}))
		w.finishes(ctx, "web-bye")
		w.vanished(ctx, "web")
		boxGone(ctx, w.id)
		Expect(revisions(ctx, Default, w.id)).To(BeEmpty())
	})

	It("do not give way to older ones when they are gone", func(ctx context.Context) {
		good = w.runs(ctx, `{onReconcile: {configmaps: [{data: {value: better}}]}}`)
		w.holds(ctx, "web", "better")
		w.website(ctx, "other", `{}`)
		w.settled(ctx, "other")
		inVain(ctx, "")
		var copied appsv1.ControllerRevision
		Expect(kube.Get(ctx, types.NamespacedName{Namespace: ownNamespace, Name: good}, &copied)).To(Succeed())
		Expect(kube.Delete(ctx, &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: ownNamespace, Name: good}})).To(Succeed())
		manager = startManager(cluster.Config())
		says := func() {
			GinkgoHelper()
			for _, kind := range []string{v1alpha1.ConditionCompiled, v1alpha1.ConditionReady} {
				boxShows(ctx, w.id, kind, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed,
					`it can't go on with what it ran before: revision "`+good+`" of box "`+w.id+`" is no longer kept`)
			}
			healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
				g.Expect(meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady).Message).To(HavePrefix("it can't go on with what it ran before"))
			})
		}
		says()
		w.removed(ctx, "other") // the sub-controller that serves this had the box looked at once more
		says()
		Expect(getBox(ctx, Default, w.id).Status.Revision).To(Equal(good))
		w.holds(ctx, "web", "better")

		By("bringing it back")
		copied.ResourceVersion, copied.UID = "", ""
		Expect(kube.Create(ctx, &copied)).To(Succeed())
		boxShows(ctx, w.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "revision "+good+" goes on")
		w.overwrites(ctx, "web", "by hand")
		w.holds(ctx, "web", "better")
	})

	DescribeTable("are refused by name where they can't be had; deletions are served", func(ctx context.Context, spoil func(context.Context), why string) {
		inVain(ctx, "")
		spoil(ctx)
		manager = startManager(cluster.Config())
		boxShows(ctx, w.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed,
			`it can't go on with what it ran before: revision "`+good+`" of box "`+w.id+`" `+why)
		w.removed(ctx, "web")
		w.gone(ctx, &corev1.ConfigMap{}, "web")
	},
		Entry("because somebody replaced them", func(ctx context.Context) { replaced(ctx, good, `{"crd":{"name":"websites.example.com"}}`) }, "was replaced by hand"),
		Entry("because they hold no spec", func(ctx context.Context) { replaced(ctx, good, `{}`) }, "was replaced by hand"),
		Entry("because somebody removed them", func(ctx context.Context) {
			Expect(kube.Delete(ctx, &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: ownNamespace, Name: good}})).To(Succeed())
		}, "is no longer kept"),
		Entry("because the CRD does not fit them any more", func(ctx context.Context) {
			w.changeCRD(ctx, func(crd *apiextensionsv1.CustomResourceDefinition) {
				delete(crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties, "mode")
			})
		}, "does not compile any more: spec.onReconcile.configmaps[0].data.mode"),
	)
})
