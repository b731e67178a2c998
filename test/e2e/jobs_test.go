package e2e_test

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// done waits until a resource says with which hash a Job completed, and gives all marks.
func (w *world) done(ctx context.Context, name, id string) string {
	GinkgoHelper()
	var marks string
	Eventually(func(g Gomega) {
		marks = w.get(ctx, g, name).GetAnnotations()[v1alpha1.AnnotationDone]
		g.Expect(marks).To(ContainSubstring(`"` + id + `":"`))
	}).WithContext(ctx).Should(Succeed())
	return marks
}

// job waits for a Job of the world with an image, and gives it.
func (w *world) job(ctx context.Context, name, image string) *batchv1.Job {
	GinkgoHelper()
	j := &batchv1.Job{}
	Eventually(func(g Gomega) {
		*j = batchv1.Job{}
		w.child(ctx, g, j, name)
		g.Expect(j.DeletionTimestamp).To(BeNil())
		g.Expect(j.Spec.Template.Spec.Containers[0].Image).To(Equal(image))
	}).WithContext(ctx).Should(Succeed())
	return j
}

// made counts how often an object was made by an apply or a POST.
func (l *writeLog) made(name string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, r := range l.all {
		if r.code == http.StatusCreated && r.answer.GetName() == name {
			n++
		}
	}
	return n
}

var _ = Describe("Jobs", func() {
	var (
		w   *world
		log *writeLog
	)
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		log = &writeLog{parts: []string{"/namespaces/" + w.id, "/jobs"}}
		replaceManager(via(log.wrap))
	})

	// after is a ConfigMap that waits for the Job.
	const after = `configmaps: [{name: "{{ .metadata.name }}-after", data: {mode: "{{ .spec.mode }}"}, when: [{field: "{{ jobSucceeded .children.migrate }}", equals: true}]}]`

	DescribeTable("run once, also when their life time has removed them", func(ctx context.Context, group, declaration string) {
		w.running(ctx, w.box(ctx, `{resync: 24h, `+group+`: {jobs: [`+declaration+`]}}`))
		w.website(ctx, "web", `{image: "busybox:1", mode: a}`)
		w.done(ctx, "web", "migrate")
		w.gone(ctx, &batchv1.Job{}, "web")
		w.settled(ctx, "web")
		nothingSent(ctx, w, "web")

		By("another process, and another template")
		manager.stop()
		manager = startManager(cluster.Config(), via(log.wrap))
		w.running(ctx, w.id)
		w.website(ctx, "web", `{image: "busybox:2", mode: b}`)
		w.observed(ctx, "web")
		w.settled(ctx, "web")
		nothingSent(ctx, w, "web")
		Expect(log.made("web")).To(Equal(1))
	},
		Entry("of onReconcile", "onReconcile", `{id: migrate, image: "{{ .spec.image }}", ttlSecondsAfterFinished: 0}`),
		Entry("of onReconcile, by an overlay", "onReconcile", `{id: migrate, image: "{{ .spec.image }}", spec: {ttlSecondsAfterFinished: 0}}`),
		Entry("of onCreate that is reconciled", "onCreate", `{id: migrate, reconcile: true, image: "{{ .spec.image }}", ttlSecondsAfterFinished: 0}`),
		Entry("of onReconcile that is made once", "onReconcile", `{id: migrate, once: true, image: "{{ .spec.image }}", ttlSecondsAfterFinished: 0}`),
		Entry("of onCreate", "onCreate", `{id: migrate, image: "{{ .spec.image }}", ttlSecondsAfterFinished: 0}`),
	)

	It("keep gates open when they are gone", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `{resync: 24h, onReconcile: {jobs: [{id: migrate, image: "busybox:1", ttlSecondsAfterFinished: 0}], `+after+`}}`))
		w.website(ctx, "web", `{mode: a}`)
		w.gone(ctx, &batchv1.Job{}, "web")
		w.hasData(ctx, "web-after", map[string]string{"mode": "a"})
		w.settled(ctx, "web")
		Expect(kube.Delete(ctx, w.configMap("web-after"))).To(Succeed())
		w.hasData(ctx, "web-after", map[string]string{"mode": "a"})
		w.website(ctx, "web", `{mode: b}`)
		w.hasData(ctx, "web-after", map[string]string{"mode": "b"})
		w.settled(ctx, "web")
	})

	It("get their life time only when their completion is noted", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `{resync: 24h, onReconcile: {jobs: [{id: migrate, image: "busybox:1", parallelism: "{{ .spec.replicas }}", ttlSecondsAfterFinished: 600}]}}`))
		w.website(ctx, "web", `{replicas: 0}`)
		j := w.job(ctx, "web", "busybox:1")
		Expect(j.Spec.TTLSecondsAfterFinished).To(BeNil())
		w.website(ctx, "web", `{replicas: 1}`)
		w.done(ctx, "web", "migrate")
		Eventually(func(g Gomega) {
			w.child(ctx, g, j, "web")
			g.Expect(j.Spec.TTLSecondsAfterFinished).To(HaveValue(BeNumerically("==", 600)))
		}).WithContext(ctx).Should(Succeed())
		w.settled(ctx, "web")
		nothingSent(ctx, w, "web")

		By("a life time that somebody changes")
		w.merge(ctx, j, `{"spec":{"ttlSecondsAfterFinished":5000}}`)
		Eventually(func(g Gomega) {
			w.child(ctx, g, j, "web")
			g.Expect(j.Spec.TTLSecondsAfterFinished).To(HaveValue(BeNumerically("==", 600)))
		}).WithContext(ctx).Should(Succeed())
	})

	It("that say so are replaced when what is declared changes, whether they have completed, run, or are gone", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `{resync: 24h, onReconcile: {jobs: [{id: migrate, replace: true, image: "{{ .spec.image }}", parallelism: "{{ .spec.replicas }}"}]}}`))
		w.website(ctx, "web", `{image: "busybox:1", replicas: 1}`)
		first := w.job(ctx, "web", "busybox:1")
		before := w.done(ctx, "web", "migrate")
		w.settled(ctx, "web")

		By("completed")
		w.website(ctx, "web", `{image: "busybox:2", replicas: 0}`)
		second := w.job(ctx, "web", "busybox:2")
		Expect(second.UID).NotTo(Equal(first.UID))
		Expect(log.deletes()).To(ConsistOf(HavePrefix("/apis/batch/v1/namespaces/" + w.namespace + "/jobs/web " + string(first.UID) + " ")))
		Expect(w.done(ctx, "web", "migrate")).To(Equal(before), "the new one has not completed")
		pods := &corev1.PodList{}
		Eventually(func(g Gomega) {
			g.Expect(kube.List(ctx, pods, client.InNamespace(w.namespace))).To(Succeed())
			g.Expect(pods.Items).To(BeEmpty())
		}).WithContext(ctx).Should(Succeed(), "pods go with their Job")

		By("running")
		w.website(ctx, "web", `{image: "busybox:3", replicas: 1}`)
		third := w.job(ctx, "web", "busybox:3")
		Expect(third.UID).NotTo(Equal(second.UID))
		Eventually(func(g Gomega) { g.Expect(w.done(ctx, "web", "migrate")).NotTo(Equal(before)) }).WithContext(ctx).Should(Succeed())
		w.settled(ctx, "web")

		By("gone")
		Expect(kube.Delete(ctx, third, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		w.gone(ctx, &batchv1.Job{}, "web")
		w.lookedAt(ctx, "web")
		nothingSent(ctx, w, "web")
		w.website(ctx, "web", `{image: "busybox:4", replicas: 1}`)
		w.job(ctx, "web", "busybox:4")
		w.settled(ctx, "web")
		nothingSent(ctx, w, "web")
		Expect(log.made("web")).To(Equal(4))
	})

	DescribeTable("order each version: what is gated on a Job waits for the Job of that version", func(ctx context.Context, declared, second string) {
		w.running(ctx, w.box(ctx, `{resync: 24h, status: {ready: Current}, onReconcile: {
			jobs: [{id: migrate, `+declared+`, image: "{{ .spec.image }}", parallelism: "{{ .spec.replicas }}"}], `+after+`}}`))
		w.website(ctx, "web", `{image: "busybox:1", replicas: 1, mode: a}`)
		w.settled(ctx, "web")
		mark := manager.requests.mark()
		w.website(ctx, "web", `{image: "busybox:2", replicas: 0, mode: b}`)
		w.job(ctx, second, "busybox:2")
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForGate,
			`configmaps/web-after: {{ jobSucceeded .children.migrate }}: wanted equals true, actual false; ConfigMap "web-after" is left as it is`)
		Expect(manager.requests.writes(mark, w.path("configmaps"))).To(BeEmpty())
		Expect(w.job(ctx, second, "busybox:2").Status.Succeeded).To(BeZero())
		w.hasData(ctx, "web-after", map[string]string{"mode": "a"})

		By("letting the Job run")
		w.website(ctx, "web", `{image: "busybox:2", replicas: 1, mode: b}`)
		w.hasData(ctx, "web-after", map[string]string{"mode": "b"})
		Expect(w.job(ctx, second, "busybox:2").Status.Succeeded).To(BeEquivalentTo(1))
		w.settled(ctx, "web")
	},
		Entry("that is replaced", `replace: true`, "web"),
		Entry("that has a name of its own", `name: "{{ .metadata.name }}-{{ .spec.mode }}"`, "web-b"),
	)

	It("with rerunOn run again for other values, and for nothing else", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `{resync: 24h, status: {ready: Current}, onReconcile: {jobs: [{id: migrate, image: "{{ .spec.image }}", rerunOn: ["{{ .spec.mode }}"]}]}}`))
		w.website(ctx, "web", `{image: "busybox:1", mode: a}`)
		first := w.job(ctx, "web", "busybox:1")
		w.settled(ctx, "web")
		w.website(ctx, "web", `{image: "busybox:2", mode: a}`)
		w.lookedAt(ctx, "web")
		w.settled(ctx, "web")
		Expect(w.job(ctx, "web", "busybox:1").UID).To(Equal(first.UID))
		nothingSent(ctx, w, "web")
		w.website(ctx, "web", `{image: "busybox:2", mode: b}`)
		Expect(w.job(ctx, "web", "busybox:2").UID).NotTo(Equal(first.UID))
		w.settled(ctx, "web")
		nothingSent(ctx, w, "web")
	})

	It("that are on their way while they are replaced are waited for", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `{resync: 24h, onReconcile: {jobs: [{replace: true, image: "{{ .spec.image }}"}]}}`))
		w.website(ctx, "web", `{image: "busybox:1"}`)
		first := w.job(ctx, "web", "busybox:1")
		w.done(ctx, "web", "jobs")
		w.merge(ctx, first, `{"metadata":{"finalizers":["e2e.test/hold"]}}`)
		w.website(ctx, "web", `{image: "busybox:2"}`)
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonChildTerminating, `Job "web" is being deleted`)
		w.merge(ctx, first, `{"metadata":{"finalizers":null}}`)
		Expect(w.job(ctx, "web", "busybox:2").UID).NotTo(Equal(first.UID))
		w.settled(ctx, "web")
	})

	It("that can't be changed say how they can be run again", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `{onReconcile: {jobs: [{image: "{{ .spec.image }}", parallelism: 0}]}}`))
		w.website(ctx, "web", `{image: "busybox:1"}`)
		first := w.job(ctx, "web", "busybox:1")
		w.website(ctx, "web", `{image: "busybox:2"}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonInvalidChild,
			`applying Job "web": spec.template.spec.containers[name=main].image can't be changed from "busybox:1" to "busybox:2"; set replace: true to delete the Job and make it again`)
		Expect(w.job(ctx, "web", "busybox:1").UID).To(Equal(first.UID))
		w.box(ctx, `{onReconcile: {jobs: [{image: "{{ .spec.image }}", parallelism: 0, replace: true}]}}`)
		Expect(w.job(ctx, "web", "busybox:2").UID).NotTo(Equal(first.UID))
	})

	It("that have completed are left as they are without replace", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `{resync: 24h, onReconcile: {jobs: [{id: migrate, image: "{{ .spec.image }}"}]}}`))
		w.website(ctx, "web", `{image: "busybox:1"}`)
		w.done(ctx, "web", "migrate")
		w.settled(ctx, "web")
		mark := manager.requests.mark()
		w.website(ctx, "web", `{image: "busybox:2"}`)
		w.observed(ctx, "web")
		w.settled(ctx, "web")
		Expect(manager.requests.writes(mark, w.path("jobs"))).To(BeEmpty())
		w.job(ctx, "web", "busybox:1")
	})

	It("under another name are other Jobs", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `{resync: 24h, onReconcile: {jobs: [{id: migrate, name: "{{ .metadata.name }}-{{ .spec.mode }}", image: "busybox:1", ttlSecondsAfterFinished: 0}]}}`))
		w.website(ctx, "web", `{mode: first}`)
		w.done(ctx, "web", "migrate")
		w.gone(ctx, &batchv1.Job{}, "web-first")
		w.website(ctx, "web", `{mode: second}`)
		Eventually(func() string { return w.done(ctx, "web", "migrate") }).WithContext(ctx).Should(ContainSubstring(" web-second"))
		w.settled(ctx, "web")
		Expect([]int{log.made("web-first"), log.made("web-second")}).To(Equal([]int{1, 1}))
	})

	DescribeTable("that have failed are shown, and run again when somebody deletes them", func(ctx context.Context, ready string) {
		w.running(ctx, w.box(ctx, `{resync: 24h, onReconcile: {jobs: [{image: "busybox:1", `+failing+`}]}, status: {ready: `+ready+`}}`))
		w.website(ctx, "web", `{}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonChildFailed, `Job "web": `)
		Expect(condition(w.get(ctx, Default, "web"), v1alpha1.ConditionReconciling).Status).To(Equal(metav1.ConditionFalse))
		Expect(condition(w.get(ctx, Default, "web"), v1alpha1.ConditionReady).Status).To(Equal(metav1.ConditionFalse))
		Expect(w.get(ctx, Default, "web").GetAnnotations()).NotTo(HaveKey(v1alpha1.AnnotationDone))
		j := w.job(ctx, "web", "busybox:1")
		Expect(kube.Delete(ctx, j, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		Eventually(func() types.UID { return w.job(ctx, "web", "busybox:1").UID }).WithContext(ctx).ShouldNot(Equal(j.UID))
	},
		Entry("with ready: Reconciled", "Reconciled"),
		Entry("with ready: Current", "Current"),
	)

	It("whose declaration is gone are forgotten", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `{resync: 24h, onReconcile: {jobs: [{id: migrate, image: "busybox:1"}, {id: other, name: "{{ .metadata.name }}-other", image: "busybox:1"}]}}`))
		w.website(ctx, "web", `{}`)
		w.done(ctx, "web", "migrate")
		w.done(ctx, "web", "other")
		w.box(ctx, `{resync: 24h, onReconcile: {jobs: [{id: other, name: "{{ .metadata.name }}-other", image: "busybox:1"}]}}`)
		w.gone(ctx, &batchv1.Job{}, "web")
		Eventually(func(g Gomega) {
			g.Expect(w.get(ctx, g, "web").GetAnnotations()[v1alpha1.AnnotationDone]).To(And(ContainSubstring(`"other"`), Not(ContainSubstring(`"migrate"`))))
		}).WithContext(ctx).Should(Succeed())
		w.settled(ctx, "web")
		nothingSent(ctx, w, "web")
	})
})
