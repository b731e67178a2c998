package e2e_test

import (
	"context"
	"net/http"
	"path"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// writes are the requests since a mark that change something whose path holds a text.
func (l *requestLog) writes(mark int, text string) []request {
	var out []request
	for _, r := range l.since(mark, text) {
		if r.method != http.MethodGet {
			out = append(out, r)
		}
	}
	return out
}

var _ = Describe("A restart of the manager", func() {
	It("sends nothing for what is settled, and serves everything again", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, everyKind))
		for _, name := range names(5) {
			w.website(ctx, name, `{image: "nginx:1", replicas: 1}`)
		}
		for _, name := range names(5) {
			w.settled(ctx, name)
		}
		manager.stop()
		manager = startManager(cluster.Config())
		Eventually(func(g Gomega) {
			g.Expect(manager.evaluations(g, w.id)).To(BeNumerically(">=", 5))
		}).WithContext(ctx).Should(Succeed())
		w.running(ctx, w.id)

		By("correcting drift and serving a new resource, after which all else was looked at")
		var d appsv1.Deployment
		w.child(ctx, Default, &d, "web-000")
		d.Spec.Replicas = new(int32(3))
		Expect(kube.Update(ctx, &d)).To(Succeed())
		Eventually(func(g Gomega) {
			w.child(ctx, g, &d, "web-000")
			g.Expect(d.Spec.Replicas).To(HaveValue(BeEquivalentTo(1)))
		}).WithContext(ctx).Should(Succeed())
		w.website(ctx, "new", `{image: "nginx:1", replicas: 1}`)
		w.settled(ctx, "new")
		for _, r := range manager.requests.since(0, "/namespaces/"+w.namespace+"/") {
			Expect(r.path).To(Or(ContainSubstring("/new"), ContainSubstring("/web-000"), HaveSuffix("/events")), "%s", r)
		}
	})

	It("writes nothing where nothing has changed, and asks for each right once", func(ctx context.Context) {
		var worlds []*world
		for range 3 {
			w := newWorld(ctx)
			w.running(ctx, w.box(ctx, oneMap(3, "good")))
			w.website(ctx, "web", `{}`)
			w.settled(ctx, "web")
			inState(ctx, w.id, v1alpha1.HealthHealthy, v1alpha1.ReasonHealthy)
			all := v1alpha1.ResourceCounts{Total: 1, Ready: 1}
			healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) { g.Expect(s.Resources).To(Equal(all)) })
			Eventually(func(g Gomega) { g.Expect(getBox(ctx, g, w.id).Status.Resources).To(Equal(all)) }).WithContext(ctx).Should(Succeed())
			worlds = append(worlds, w)
		}
		reviews := &writeLog{parts: []string{"/selfsubject"}}
		replaceManager(via(reviews.wrap))

		By("waiting until a box that comes later is served: all else was looked at before")
		for _, w := range worlds {
			Eventually(func(g Gomega) {
				g.Expect(manager.evaluations(g, w.id)).To(BeNumerically(">=", 1))
				g.Expect(manager.state(g, w.id)).To(Equal(v1alpha1.HealthHealthy))
			}).WithContext(ctx).Should(Succeed())
		}
		later := newWorld(ctx)
		later.running(ctx, later.box(ctx, oneMap(3, "good")))
		later.website(ctx, "web", `{}`)
		later.settled(ctx, "web")
		inState(ctx, later.id, v1alpha1.HealthHealthy, v1alpha1.ReasonHealthy)
		for _, w := range worlds {
			Expect(manager.requests.writes(0, "/"+w.id)).To(BeEmpty(), "neither its resources, nor the box, nor its health")
		}
		asked := reviews.bodies()
		Expect(slices.Compact(slices.Clone(asked))).To(Equal(asked), "none is asked for twice")
		GinkgoWriter.Println("reviews:", len(asked))
	})

	It("picks up what happened while no manager ran", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, oneMap(3, "good")))
		for _, name := range []string{"drifted", "removed", "deleted"} {
			w.website(ctx, name, `{}`)
			w.settled(ctx, name)
		}
		manager.stop()
		w.overwrites(ctx, "drifted", "by hand")
		Expect(kube.Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "removed"}})).To(Succeed())
		Expect(kube.Delete(ctx, w.ref("deleted"))).To(Succeed())
		w.website(ctx, "new", `{}`)
		manager = startManager(cluster.Config())
		w.holds(ctx, "drifted", "good")
		w.holds(ctx, "removed", "good")
		w.gone(ctx, w.ref("deleted"), "deleted")
		w.settled(ctx, "new")
	})

	It("never begins with a state that is older than what a former process has seen", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{data: {a: b}}]}}`))
		// An API server that can't stream its first answer: clients list then.
		noStream := refuses(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "sendInitialEvents is forbidden for watch")
		var mu sync.Mutex
		asked := map[string]string{}
		lists := func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				query := r.URL.Query()
				switch {
				case query.Get("sendInitialEvents") == "true":
					return noStream(0)
				case r.Method == http.MethodGet && query.Has("limit") && query.Get("limit") != "1":
					mu.Lock()
					defer mu.Unlock()
					asked[path.Base(r.URL.Path)] += query.Get("resourceVersion")
				}
				return next.RoundTrip(r)
			})
		}
		replaceManager(via(lists))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		mu.Lock()
		defer mu.Unlock()
		for _, resource := range []string{"operatorboxes", "crdhealths", "customresourcedefinitions", "websites", "configmaps"} {
			Expect(asked).To(HaveKeyWithValue(resource, BeEmpty()), "0 is content with any state that there ever was")
		}
	})

	It("finishes what is under way when it is told to stop", func(ctx context.Context) {
		w := newWorld(ctx)
		s := newStreams()
		d := startBlocked(writesOf(w.namespace, "configmaps"), via(s.wrap))
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{data: {a: b}}], services: [{port: 80, selector: {a: b}}]}}`))
		watches := func() int { return s.count("/" + w.group + "/") }
		Eventually(watches).WithContext(ctx).Should(Equal(1))
		d.shut()
		w.website(ctx, "web", `{}`)
		Eventually(d.holding).WithContext(ctx).Should(Equal(1))
		manager.cancel()
		Eventually(watches).WithContext(ctx).Should(BeZero(), "the box stops")
		d.open()
		manager.wait()
		w.child(ctx, Default, &corev1.ConfigMap{}, "web")
		w.child(ctx, Default, &corev1.Service{}, "web")
		Expect(condition(w.get(ctx, Default, "web"), v1alpha1.ConditionReady).Status).To(Equal(metav1.ConditionTrue))
	})

	It("leaves CRDHealth as it was while it stops, and counts nothing again after that", func(ctx context.Context) {
		w := newWorld(ctx)
		s := newStreams()
		d := startBlocked(writesOf(w.namespace, "configmaps"), via(s.wrap))
		w.running(ctx, w.box(ctx, atMostTen))
		w.website(ctx, "good", `{replicas: 1}`)
		w.settled(ctx, "good")
		w.website(ctx, "bad", `{replicas: 11}`)
		w.box(ctx, `{onReconcile: {configmaps: [{data: {a: "{{ .spec.nothing }}"}}]}}`)
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "spec.nothing")
		var before v1alpha1.CRDHealthStatus
		healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.Resources).To(Equal(v1alpha1.ResourceCounts{Total: 2, Ready: 1, Failing: 1}))
			g.Expect(s.SuccessCount + s.FailureCount).To(BeEquivalentTo(manager.evaluations(g, w.id)))
			g.Expect(s.Conditions).To(ContainElement(HaveField("Message", ContainSubstring("spec.nothing"))))
			before = s
		})

		By("stopping while a worker is held in a write")
		d.shut()
		w.website(ctx, "late", `{replicas: 1}`)
		Eventually(d.holding).WithContext(ctx).Should(Equal(1))
		manager.cancel()
		Eventually(func() int { return s.count("/" + w.group + "/") }).WithContext(ctx).Should(BeZero(), "the box stops")
		Expect(d.holding()).To(Equal(1))

		By("having CRDHealth looked at, and after it another one, which nobody runs")
		w.merge(ctx, getHealth(ctx, Default, w.id), `{"metadata":{"labels":{"look":"now"}}}`)
		inState(ctx, w.healthWithoutBox(ctx), v1alpha1.HealthPending, v1alpha1.ReasonCRDMissing)
		d.open()
		manager.wait()
		Expect(getHealth(ctx, Default, w.id).Status).To(Equal(before))

		By("starting again with the spec that ran, which looks at everything once")
		w.box(ctx, atMostTen)
		manager = startManager(cluster.Config())
		Eventually(func(g Gomega) {
			g.Expect(manager.evaluations(g, w.id)).To(BeNumerically(">=", 3))
		}).WithContext(ctx).Should(Succeed())
		w.website(ctx, "next", `{replicas: 11}`)
		healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.FailureCount).To(Equal(before.FailureCount+1), "once per input, not once per process")
			g.Expect(s.SuccessCount).To(Equal(before.SuccessCount))
			g.Expect(s.Revision).To(Equal(before.Revision))
			g.Expect(s.Resources).To(Equal(v1alpha1.ResourceCounts{Total: 4, Ready: 2, Failing: 2}))
		})
	})

	It("cancels what does not finish within the shutdown timeout", func(ctx context.Context) {
		w := newWorld(ctx)
		d := startBlocked(writesOf(w.namespace, "configmaps"), func(c *settings) { c.orkestra.ShutdownTimeout = time.Second })
		d.yields = true
		w.running(ctx, w.box(ctx, oneMap(3, "good")))
		d.shut()
		w.website(ctx, "web", `{}`)
		Eventually(d.holding).WithContext(ctx).Should(Equal(1))
		manager.cancel()
		manager.wait()
		held, _, canceled := d.counts()
		Expect(held).To(BeZero())
		Expect(canceled).To(Equal(1))
		Expect(condition(w.get(ctx, Default, "web"), v1alpha1.ConditionReady).Status).To(BeEmpty(), "what was not finished is no failure")
	})

	It("reads its own writes, however late the watches are", func(ctx context.Context) {
		w, other := newWorld(ctx), newWorld(ctx)
		s := newStreams()
		replaceManager(via(s.wrap))
		other.running(ctx, other.box(ctx, `{onReconcile: {deployments: [{image: "{{ .spec.image }}"}]}}`))
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{data: {a: b}}], deployments: [{image: "{{ .spec.image }}"}]}}`))
		w.website(ctx, "first", `{image: "nginx:1"}`)
		w.settled(ctx, "first")
		mark := manager.requests.mark()

		By("holding back what the watches tell of ConfigMaps, and of the resource once it is known")
		s.pause("/"+w.group+"/", `"name":"web"`)
		s.pause("/configmaps", "")
		DeferCleanup(s.resume)
		w.website(ctx, "web", `{image: "nginx:1"}`)
		status := "/namespaces/" + w.namespace + "/websites/web/status"
		Eventually(func() []request { return manager.requests.writes(mark, status) }).WithContext(ctx).Should(HaveLen(1))

		By("waiting for events of the Deployment, which queue the resource again and again")
		Eventually(func(g Gomega) {
			var deployment appsv1.Deployment
			w.child(ctx, g, &deployment, "web")
			g.Expect(deployment.Status.ReadyReplicas).To(BeEquivalentTo(1))
		}).WithContext(ctx).Should(Succeed())
		other.website(ctx, "later", `{image: "nginx:1"}`)
		other.settled(ctx, "later")
		Expect(manager.requests.writes(mark, status)).To(HaveLen(1))

		By("letting the watches go on")
		s.resume()
		w.settled(ctx, "web")
		Expect(manager.requests.writes(mark, "/namespaces/"+w.namespace+"/websites/web")).To(HaveLen(3),
			"the marks, and the status before and after the Deployment was ready")
		Expect(manager.requests.since(mark, "/namespaces/"+w.namespace+"/configmaps")).To(HaveLen(1), "make it")
		Expect(manager.requests.since(mark, "/namespaces/"+w.namespace+"/deployments")).To(HaveLen(1), "make it")
	})
})
