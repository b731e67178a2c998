package e2e_test

import (
	"context"
	"strings"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// depends is the spec of a box with one ConfigMap for each resource, which depends on others. Only events have it look before
// a day is over.
func depends(dependencies string) string {
	return `{resync: 24h, dependsOn: [` + dependencies + `], onReconcile: {configmaps: [{data: {mode: "{{ .spec.mode }}"}}]}}`
}

// waitsFor waits until a resource waits for a dependency, with these words.
func (w *world) waitsFor(ctx context.Context, name, words string) {
	GinkgoHelper()
	w.shows(ctx, name, v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonWaitingForDependency, words)
	w.shows(ctx, name, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForDependency, words)
	Expect(condition(w.get(ctx, Default, name), v1alpha1.ConditionStalled).Status).To(Equal(metav1.ConditionFalse))
}

// hasMap waits until the ConfigMap of a resource holds its mode.
func (w *world) hasMap(ctx context.Context, name, mode string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		var c corev1.ConfigMap
		w.child(ctx, g, &c, name)
		g.Expect(c.Data).To(HaveKeyWithValue("mode", mode))
	}).WithContext(ctx).Should(Succeed())
}

// hasNoMap says that a resource has no ConfigMap.
func (w *world) hasNoMap(ctx context.Context, name string) {
	GinkgoHelper()
	err := kube.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: name}, &corev1.ConfigMap{})
	Expect(client.IgnoreNotFound(err)).To(Succeed())
	Expect(err).To(HaveOccurred(), "nothing is made for it")
}

// pretendHealthy writes into the CRDHealth of a box what is not so.
func pretendHealthy(ctx context.Context, box string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		var h v1alpha1.CRDHealth
		g.Expect(kube.Get(ctx, types.NamespacedName{Name: box}, &h)).To(Succeed())
		h.Status.State = v1alpha1.HealthHealthy
		for i := range h.Status.Conditions {
			h.Status.Conditions[i].Status = metav1.ConditionTrue
		}
		g.Expect(kube.Status().Update(ctx, &h)).To(Succeed())
	}).WithContext(ctx).Should(Succeed())
}

// dependency waits until the CRDHealth of a box says whether a dependency is met.
func dependency(ctx context.Context, box, name, condition string, met bool) {
	GinkgoHelper()
	healthShows(ctx, box, func(g Gomega, s v1alpha1.CRDHealthStatus) {
		g.Expect(s.Dependencies).To(ContainElement(v1alpha1.DependencyStatus{Name: name, Condition: condition, Met: met}))
	})
}

// degrade has the box of a world, which must be atMostTen, fail until it is Degraded.
func (w *world) degrade(ctx context.Context) {
	GinkgoHelper()
	for _, name := range []string{"a", "b", "c"} {
		w.website(ctx, name, `{replicas: 11}`)
	}
	inState(ctx, w.id, v1alpha1.HealthDegraded, v1alpha1.ReasonDegraded)
}

var _ = Describe("A box that depends on another", func() {
	It("has new resources wait, and nothing else; a watch lets them go", func(ctx context.Context) {
		w, db := newWorld(ctx), newWorld(ctx)
		w.running(ctx, w.box(ctx, depends(`{name: `+db.id+`, condition: hEALTHY}`)))

		By("waiting for a box that there is not")
		unknown := `there is no box or CRDHealth "` + db.id + `" yet, wanted Healthy`
		for _, name := range []string{"first", "unwanted"} {
			w.website(ctx, name, `{mode: a}`)
			w.waitsFor(ctx, name, unknown)
		}
		dependency(ctx, w.id, db.id, v1alpha1.ConditionHealthy, false)
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonRunning, "new resources wait: "+unknown)
		healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.State).To(Equal(v1alpha1.HealthHealthy), "to wait is no failure")
			g.Expect(s.SuccessCount+s.FailureCount).To(BeZero(), "nor is it a success")
			g.Expect(s.Resources).To(Equal(v1alpha1.ResourceCounts{Total: 2, Waiting: 2}))
		})

		By("deleting one that waits")
		Expect(kube.Delete(ctx, w.ref("unwanted"))).To(Succeed())
		w.gone(ctx, w.ref("unwanted"), "unwanted")

		By("having the other box start")
		db.box(ctx, atMostTen)
		w.settled(ctx, "first")
		w.hasMap(ctx, "first", "a")
		dependency(ctx, w.id, db.id, v1alpha1.ConditionHealthy, true)
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonRunning, "the sub-controller runs")

		By("having it degrade: what is Active goes on, and is deleted")
		w.website(ctx, "second", `{mode: a}`)
		w.settled(ctx, "second")
		db.degrade(ctx)
		w.website(ctx, "first", `{mode: b}`)
		w.hasMap(ctx, "first", "b")
		w.settled(ctx, "first")
		Expect(kube.Delete(ctx, w.ref("second"))).To(Succeed())
		w.gone(ctx, w.ref("second"), "second")
		w.website(ctx, "third", `{mode: c}`)
		w.waitsFor(ctx, "third", `box "`+db.id+`" is Degraded, wanted Healthy`)
		w.hasNoMap(ctx, "third")
		w.website(ctx, "third", `{mode: d}`)
		w.waitsFor(ctx, "third", `box "`+db.id+`" is Degraded, wanted Healthy`)

		By("having somebody else write that it is healthy")
		for range 10 {
			pretendHealthy(ctx, db.id)
			inState(ctx, db.id, v1alpha1.HealthDegraded, v1alpha1.ReasonDegraded)
		}
		w.hasNoMap(ctx, "third")

		By("having it recover")
		db.website(ctx, "a", `{replicas: 1}`)
		w.settled(ctx, "third")
		w.hasMap(ctx, "third", "d")

		By("having it go")
		deleteBox(ctx, db.id)
		boxGone(ctx, db.id)
		w.website(ctx, "fourth", `{mode: d}`)
		w.waitsFor(ctx, "fourth", unknown)
		w.website(ctx, "third", `{mode: e}`)
		w.hasMap(ctx, "third", "e")
		w.running(ctx, w.box(ctx, depends("")))
		w.settled(ctx, "fourth")
	})

	It("waits for Started by default, which a degraded box is and a suspended one is not", func(ctx context.Context) {
		w, db := newWorld(ctx), newWorld(ctx)
		w.running(ctx, w.box(ctx, depends(`{name: `+db.id+`}`)))
		db.box(ctx, "suspend: true"+atMostTen)
		inState(ctx, db.id, v1alpha1.HealthSuspended, v1alpha1.ReasonSuspended)
		w.website(ctx, "web", `{mode: a}`)
		w.waitsFor(ctx, "web", `box "`+db.id+`" is Suspended, wanted Started`)
		db.box(ctx, atMostTen)
		w.settled(ctx, "web")
		db.degrade(ctx)
		w.website(ctx, "next", `{mode: a}`)
		w.settled(ctx, "next")
		dependency(ctx, w.id, db.id, v1alpha1.ConditionStarted, true)
	})

	It("is refused when it closes a ring, and comes back when another box opens it", func(ctx context.Context) {
		a, b, c := newWorld(ctx), newWorld(ctx), newWorld(ctx)
		a.running(ctx, a.box(ctx, depends(`{name: `+b.id+`}`)))
		b.running(ctx, b.box(ctx, depends(`{name: `+c.id+`}`)))
		c.running(ctx, c.box(ctx, depends("")))
		c.box(ctx, depends(`{name: `+a.id+`}`))
		ring := strings.Join([]string{c.id, a.id, b.id, c.id}, " → ")
		boxShows(ctx, c.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed,
			`spec.dependsOn[0].name: Invalid value: "`+a.id+`": a ring of dependencies: `+ring+`; take one of them away`)

		By("changing those who were there before: they are not to blame")
		for _, w := range []*world{a, b} {
			next := map[*world]string{a: b.id, b: c.id}[w]
			w.running(ctx, w.box(ctx, depends(`{name: `+next+`, condition: Healthy}`)))
		}

		By("opening it elsewhere")
		b.running(ctx, b.box(ctx, depends("")))
		boxShows(ctx, c.id, v1alpha1.ConditionCompiled, metav1.ConditionTrue, v1alpha1.ReasonCompiled, "valid")

		By("depending on oneself")
		c.box(ctx, depends(`{name: `+c.id+`}`))
		boxShows(ctx, c.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "a box can't depend on itself")
		c.website(ctx, "web", `{mode: a}`)
		c.settled(ctx, "web") // by the spec of before
	})

	It("starts and stops in the order of the graph when the process does", func(ctx context.Context) {
		w, db := newWorld(ctx), newWorld(ctx)
		s := newStreams()
		d := startBlocked(writesOf(w.namespace, "configmaps"), via(s.wrap))
		db.running(ctx, db.box(ctx, depends("")))
		w.running(ctx, w.box(ctx, depends(`{name: `+db.id+`, condition: Healthy}`)))
		watches := func(w *world) func() int { return func() int { return s.count("/" + w.group + "/") } }
		Eventually(watches(w)).WithContext(ctx).Should(Equal(1))
		d.shut()
		w.website(ctx, "web", `{mode: a}`)
		Eventually(d.holding).WithContext(ctx).Should(Equal(1))

		By("stopping while a worker of the one that depends is held in a write")
		manager.cancel()
		Eventually(watches(w)).WithContext(ctx).Should(BeZero(), "it stops")
		db.website(ctx, "late", `{mode: a}`)
		db.settled(ctx, "late")
		Expect(d.holding()).To(Equal(1))
		d.open()
		manager.wait()
		w.hasMap(ctx, "web", "a")
		db.website(ctx, "later", `{mode: a}`)

		By("starting again")
		manager = startManager(cluster.Config())
		db.settled(ctx, "later")
		w.website(ctx, "new", `{mode: a}`)
		w.settled(ctx, "new")
	})

	It("starts after it when a follower with warm caches takes over", func(ctx context.Context) {
		w, db := newWorld(ctx), newWorld(ctx)
		if w.id > db.id {
			w, db = db, w // by name, the one that depends would come first
		}
		replaceManager(elected(w.namespace))
		db.running(ctx, db.box(ctx, depends("")))
		w.running(ctx, w.box(ctx, depends(`{name: `+db.id+`, condition: Healthy}`)))
		s, started := newStreams(), make(chan string, 2)
		follower := startManager(cluster.Config(), elected(w.namespace), via(s.wrap), func(set *settings) {
			set.manager.Logger = funcr.New(func(_, line string) {
				if strings.Contains(line, `"Box started"`) {
					started <- line
				}
			}, funcr.Options{})
		})
		DeferCleanup(func() { follower.stop() })
		for _, of := range []*world{w, db} {
			Eventually(func() int { return s.count("/" + of.group + "/") }).WithContext(ctx).Should(Equal(1), "the follower keeps caches")
		}
		manager.stop()
		for _, next := range []*world{db, w} {
			var line string
			Eventually(started).WithContext(ctx).Should(Receive(&line))
			Expect(line).To(ContainSubstring(next.id))
		}
	})

	It("is let go by the next leader, and so is a CRDHealth without a box looked after", func(ctx context.Context) {
		w, db, foreign := newWorld(ctx), newWorld(ctx), newWorld(ctx)
		replaceManager(elected(w.namespace))
		name := foreign.standalone(ctx, `[]`)
		foreign.website(ctx, "main", `{}`)
		inState(ctx, name, v1alpha1.HealthDegraded, v1alpha1.ReasonDegraded)
		w.running(ctx, w.box(ctx, depends(`{name: `+db.id+`}, {name: `+name+`, condition: Healthy}`)))
		w.website(ctx, "web", `{mode: a}`)
		w.waitsFor(ctx, "web", `there is no box or CRDHealth "`+db.id+`" yet, wanted Started`)
		before := getHealth(ctx, Default, name).Status

		second := newStreams()
		follower := startManager(cluster.Config(), elected(w.namespace), via(second.wrap))
		DeferCleanup(func() { follower.stop() })
		Eventually(func() int { return second.count("/" + w.group + "/") }).WithContext(ctx).Should(Equal(1), "the follower keeps caches")
		foreign.merge(ctx, getHealth(ctx, Default, name), `{"metadata":{"labels":{"look":"now"}}}`)
		db.running(ctx, db.box(ctx, atMostTen))
		w.waitsFor(ctx, "web", `CRDHealth "`+name+`" is Degraded, wanted Healthy`)
		Expect(follower.requests.changes(0)).To(BeEmpty())
		Expect(second.count("/"+foreign.group+"/")).To(BeZero(), "only the leader looks at what it does not run")

		By("stopping the leader")
		manager.stop()
		Eventually(func() int { return second.count("/" + foreign.group + "/") }).WithContext(ctx).Should(Equal(1))
		foreign.operates(ctx, "main", statusReady("True", "up"))
		w.settled(ctx, "web")
		healthShows(ctx, name, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.State).To(Equal(v1alpha1.HealthHealthy))
			g.Expect(s.LastFailure).To(Equal(before.LastFailure), "the next process has not counted it again")
		})
	})
})
