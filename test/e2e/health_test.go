package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// atMostTen is a box that denies more than ten replicas, and is Degraded at three failures in a row.
const atMostTen = `
failureThreshold: 3
validation: {rules: [{field: spec.replicas, operator: lte, value: "10", message: "at most ten"}]}
onReconcile: {configmaps: [{data: {replicas: "{{ .spec.replicas }}"}}]}
`

// healthShows waits until the CRDHealth of a box is as it should be.
func healthShows(ctx context.Context, name string, check func(g Gomega, s v1alpha1.CRDHealthStatus)) {
	GinkgoHelper()
	Eventually(func(g Gomega) { check(g, getHealth(ctx, g, name).Status) }).WithContext(ctx).Should(Succeed())
}

// states collects the states that a CRDHealth goes through.
func states(ctx context.Context, name string) func() []v1alpha1.HealthState {
	GinkgoHelper()
	watcher, err := client.NewWithWatch(cluster.Config(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	stream, err := watcher.Watch(ctx, &v1alpha1.CRDHealthList{}, client.MatchingFields{"metadata.name": name})
	Expect(err).NotTo(HaveOccurred())
	var (
		mu   sync.Mutex
		all  []v1alpha1.HealthState
		done = make(chan struct{})
	)
	go func() {
		defer close(done)
		for event := range stream.ResultChan() {
			h, ok := event.Object.(*v1alpha1.CRDHealth)
			if !ok {
				continue
			}
			mu.Lock()
			if s := h.Status.State; s != "" && (len(all) == 0 || all[len(all)-1] != s) {
				all = append(all, s)
			}
			mu.Unlock()
		}
	}()
	DeferCleanup(func() {
		stream.Stop()
		<-done
	})
	return func() []v1alpha1.HealthState {
		mu.Lock()
		defer mu.Unlock()
		return append([]v1alpha1.HealthState(nil), all...)
	}
}

var _ = Describe("CRDHealth", func() {
	It("follows a box from its beginning through failures and back", func(ctx context.Context) {
		w := newWorldWithoutCRD(ctx)
		d := startBlocked(func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, w.group+"/v1/websites") })
		d.shut()
		seen := states(ctx, w.id)
		w.box(ctx, atMostTen)
		inState(ctx, w.id, v1alpha1.HealthPending, v1alpha1.ReasonCRDMissing)

		By("starting: the resources can't be listed yet")
		Expect(kube.Create(ctx, w.crd())).To(Succeed())
		inState(ctx, w.id, v1alpha1.HealthStarting, v1alpha1.ReasonStarting)
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonStarting, "caches are filling")
		d.open()
		inState(ctx, w.id, v1alpha1.HealthHealthy, v1alpha1.ReasonHealthy)

		By("looking at who owns it and what it says")
		box, h := getBox(ctx, Default, w.id), getHealth(ctx, Default, w.id)
		Expect(h.OwnerReferences).To(ConsistOf(metav1.OwnerReference{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "OperatorBox", Name: box.Name, UID: box.UID,
			Controller: new(true), BlockOwnerDeletion: new(true),
		}))
		Expect(h.Spec.OperatorBoxRef).To(HaveValue(HaveField("Name", w.id)))
		Expect(h.Spec.CRD.Name).To(Equal(w.crdName()))
		w.website(ctx, "good", `{replicas: 1}`)
		w.settled(ctx, "good")
		healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.Resources).To(Equal(v1alpha1.ResourceCounts{Total: 1, Ready: 1}))
			g.Expect(s.SuccessCount).To(BeNumerically(">=", 1))
			g.Expect(s.LastReconcile).NotTo(BeNil())
			g.Expect(s.LastSuccess).To(Equal(s.LastReconcile))
			g.Expect(s.LastKnownGood).To(HaveValue(HaveField("Revision", box.Status.Revision)))
			g.Expect(s).To(And(
				HaveField("ObservedGeneration", h.Generation), HaveField("StartedAt", Not(BeNil())), HaveField("ClaimedAt", Not(BeNil())),
				HaveField("FailureThreshold", BeEquivalentTo(3)), HaveField("Workers", BeEquivalentTo(3)), HaveField("QueueDepth", BeZero()),
				HaveField("Revision", box.Status.Revision), HaveField("ConsecutiveFailures", BeZero()), HaveField("FailureCount", BeZero()),
				HaveField("LastFailure", BeNil()), HaveField("Failing", BeEmpty())))
		})

		By("failing twice, which is not enough")
		for _, name := range []string{"a", "b"} {
			w.website(ctx, name, `{replicas: 11}`)
			w.shows(ctx, name, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonValidationFailed, "at most ten")
		}
		healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.Failing).To(HaveLen(2))
			g.Expect(s.State).To(Equal(v1alpha1.HealthHealthy))
		})

		By("failing for the third time in a row")
		w.website(ctx, "c", `{replicas: 12}`)
		inState(ctx, w.id, v1alpha1.HealthDegraded, v1alpha1.ReasonDegraded)
		denied := "spec.replicas: at most ten (found 12)"
		healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.ConsecutiveFailures).To(BeEquivalentTo(3))
			g.Expect(s.FailureCount).To(BeEquivalentTo(3))
			g.Expect(s.Resources).To(Equal(v1alpha1.ResourceCounts{Total: 4, Ready: 1, Failing: 3}))
			g.Expect(s.LastFailure).To(HaveValue(And(HaveField("Resource", v1alpha1.ResourceReference{Namespace: w.namespace, Name: "c"}),
				HaveField("Step", "validation"), HaveField("Message", denied), HaveField("Time", Not(BeZero())))))
			g.Expect(s.Failing).To(HaveLen(3))
			g.Expect(s.Failing).To(ContainElement(And(HaveField("Name", "c"), HaveField("Namespace", w.namespace),
				HaveField("ConsecutiveFailures", BeEquivalentTo(1)), HaveField("Step", "validation"), HaveField("Message", denied),
				HaveField("Since", Not(BeZero())))))
		})
		h = getHealth(ctx, Default, w.id)
		Expect(healthCondition(h, v1alpha1.ConditionHealthy).Status).To(Equal(metav1.ConditionFalse))
		Expect(healthCondition(h, v1alpha1.ConditionStarted).Status).To(Equal(metav1.ConditionTrue))
		Expect(healthCondition(h, v1alpha1.ConditionReady).Message).To(HavePrefix("at least 3 reconciles in a row failed; websites " + w.namespace + "/"))
		w.saysEvent(ctx, "default", w.id, v1alpha1.ReasonDegraded, "3 reconciles in a row failed")
		Eventually(func(g Gomega) {
			g.Expect(getBox(ctx, g, w.id).Status.Resources).To(Equal(h.Status.Resources))
		}).WithContext(ctx).Should(Succeed())

		By("succeeding once")
		w.website(ctx, "c", `{replicas: 10}`)
		inState(ctx, w.id, v1alpha1.HealthHealthy, v1alpha1.ReasonHealthy)
		healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.ConsecutiveFailures).To(BeZero())
			g.Expect(s.Failing).To(HaveLen(2))
			g.Expect(s.FailureCount).To(BeEquivalentTo(3))
		})
		w.saysEvent(ctx, "default", w.id, v1alpha1.ReasonRecovered, "a reconcile succeeded again")
		_, err := cluster.Kubectl(ctx, "wait", "--for=condition=Healthy", "--timeout=60s", "crdhealth/"+w.id)
		Expect(err).NotTo(HaveOccurred())

		By("suspending the box, and losing the CRD, with nothing left that fails")
		for _, name := range []string{"a", "b"} {
			w.website(ctx, name, `{replicas: 1}`)
			w.settled(ctx, name)
		}
		w.box(ctx, "suspend: true"+atMostTen)
		inState(ctx, w.id, v1alpha1.HealthSuspended, v1alpha1.ReasonSuspended)
		w.box(ctx, atMostTen)
		inState(ctx, w.id, v1alpha1.HealthHealthy, v1alpha1.ReasonHealthy)
		w.deleteCRD(ctx)
		inState(ctx, w.id, v1alpha1.HealthStopped, v1alpha1.ReasonCRDMissing)
		Eventually(seen).WithContext(ctx).Should(Equal([]v1alpha1.HealthState{
			v1alpha1.HealthPending, v1alpha1.HealthStarting, v1alpha1.HealthHealthy, v1alpha1.HealthDegraded, v1alpha1.HealthHealthy,
			v1alpha1.HealthSuspended, v1alpha1.HealthHealthy, v1alpha1.HealthStopped,
		}))
	})

	It("lists the ten that fail most", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, atMostTen))
		for _, name := range names(12) {
			w.website(ctx, name, `{replicas: 11}`)
			w.shows(ctx, name, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonValidationFailed, "found 11")
		}
		w.website(ctx, "web-011", `{replicas: 12}`)
		w.shows(ctx, "web-011", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonValidationFailed, "found 12")
		healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.Failing).To(HaveLen(10))
			g.Expect(s.Failing[0]).To(And(HaveField("Name", "web-011"), HaveField("ConsecutiveFailures", BeEquivalentTo(2))))
			g.Expect(s.Resources).To(Equal(v1alpha1.ResourceCounts{Total: 12, Failing: 12}))
			g.Expect(s.ConsecutiveFailures).To(BeEquivalentTo(13))
		})
	})

	It("is put right when someone edits or deletes it", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, atMostTen))
		for _, name := range []string{"a", "b", "c"} {
			w.website(ctx, name, `{replicas: 11}`)
		}
		inState(ctx, w.id, v1alpha1.HealthDegraded, v1alpha1.ReasonDegraded)
		healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) { g.Expect(s.FailureCount).To(BeEquivalentTo(3)) })
		before := getHealth(ctx, Default, w.id)

		By("editing spec and owner")
		change := func(patch string) {
			Expect(kube.Patch(ctx, &v1alpha1.CRDHealth{ObjectMeta: metav1.ObjectMeta{Name: w.id}}, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
		}
		change(`{"metadata":{"ownerReferences":null},"spec":{"operatorBoxRef":{"name":"other"},"crd":{"name":"others.example.com"}}}`)
		Eventually(func(g Gomega) {
			h := getHealth(ctx, g, w.id)
			g.Expect(h.Spec).To(Equal(before.Spec))
			g.Expect(h.OwnerReferences).To(Equal(before.OwnerReferences))
		}).WithContext(ctx).Should(Succeed())

		By("editing the status")
		Eventually(func(g Gomega) {
			h := getHealth(ctx, g, w.id)
			h.Status = v1alpha1.CRDHealthStatus{State: v1alpha1.HealthHealthy}
			g.Expect(kube.Status().Update(ctx, h)).To(Succeed(), "Orkestra may write at the same moment")
		}).WithContext(ctx).Should(Succeed())
		same := func() {
			GinkgoHelper()
			healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
				g.Expect(s.State).To(Equal(v1alpha1.HealthDegraded))
				g.Expect(s.FailureCount).To(BeEquivalentTo(3))
				g.Expect(s.ConsecutiveFailures).To(BeEquivalentTo(3))
				g.Expect(s.Failing).To(HaveLen(3))
				g.Expect(s.Resources).To(Equal(before.Status.Resources))
				g.Expect(s.ClaimedAt).To(Equal(before.Status.ClaimedAt))
				g.Expect(s.StartedAt).To(Equal(before.Status.StartedAt))
				g.Expect(s.LastFailure).To(Equal(before.Status.LastFailure))
			})
		}
		same()

		By("deleting it")
		Expect(kube.Delete(ctx, before)).To(Succeed())
		same()
		Expect(getHealth(ctx, Default, w.id).UID).NotTo(Equal(before.UID))

		By("having the box recover: of its health it has said twice something, and nothing of what others did to the object")
		w.website(ctx, "a", `{replicas: 1}`)
		Eventually(func(g Gomega) {
			var list eventsv1.EventList
			g.Expect(kube.List(ctx, &list, client.InNamespace("default"))).To(Succeed())
			var said []string
			for i := range list.Items {
				e := &list.Items[i]
				if e.Regarding.Name == w.id && (e.Reason == v1alpha1.ReasonDegraded || e.Reason == v1alpha1.ReasonRecovered) {
					g.Expect(e.Series).To(BeNil())
					said = append(said, e.Reason)
				}
			}
			g.Expect(said).To(ConsistOf(v1alpha1.ReasonDegraded, v1alpha1.ReasonRecovered))
		}).WithContext(ctx).Should(Succeed())
	})

	It("stays as it is while the box stops to start anew", func(ctx context.Context) {
		w := newWorld(ctx)
		s := newStreams()
		d := startBlocked(writesOf(w.namespace, "configmaps"), via(s.wrap))
		w.running(ctx, w.box(ctx, oneMap(3, "good")))
		inState(ctx, w.id, v1alpha1.HealthHealthy, v1alpha1.ReasonHealthy)
		watches := func() int { return s.count("/" + w.group + "/") }
		Eventually(watches).WithContext(ctx).Should(Equal(1))
		seen := states(ctx, w.id)
		d.shut()
		w.website(ctx, "web", `{}`)
		Eventually(d.holding).WithContext(ctx).Should(Equal(1))

		By("choosing namespaces, for which it must start anew, while a worker is held in a write")
		w.box(ctx, `{namespaces: {include: [`+w.namespace+`]}, onReconcile: {configmaps: [{data: {value: good}}]}}`)
		Eventually(watches).WithContext(ctx).Should(BeZero(), "the box stops")

		By("having CRDHealth looked at, and after it another one, which nobody runs")
		w.merge(ctx, getHealth(ctx, Default, w.id), `{"metadata":{"labels":{"look":"now"}}}`)
		inState(ctx, w.healthWithoutBox(ctx), v1alpha1.HealthPending, v1alpha1.ReasonCRDMissing)
		Expect(d.holding()).To(Equal(1))
		Expect(getHealth(ctx, Default, w.id).Status).To(And(
			HaveField("State", v1alpha1.HealthHealthy), HaveField("Revision", Not(BeEmpty())), HaveField("Workers", BeEquivalentTo(3))))
		d.open()
		w.settled(ctx, "web")
		inState(ctx, w.id, v1alpha1.HealthHealthy, v1alpha1.ReasonHealthy)
		Expect(seen()).NotTo(ContainElement(v1alpha1.HealthPending))
	})

	It("goes on after a restart, which heals nothing", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, atMostTen))
		w.website(ctx, "good", `{replicas: 1}`)
		w.settled(ctx, "good")
		for _, name := range []string{"a", "b", "c"} {
			w.website(ctx, name, `{replicas: 11}`)
			w.shows(ctx, name, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonValidationFailed, "found 11")
		}
		inState(ctx, w.id, v1alpha1.HealthDegraded, v1alpha1.ReasonDegraded)
		var before v1alpha1.CRDHealthStatus
		healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.FailureCount).To(BeEquivalentTo(3))
			g.Expect(s.ConsecutiveFailures).To(BeEquivalentTo(3))
			before = s
		})
		manager.stop()
		seen := states(ctx, w.id)
		manager = startManager(cluster.Config())
		Eventually(func(g Gomega) {
			g.Expect(manager.evaluations(g, w.id)).To(BeNumerically(">=", 4))
		}).WithContext(ctx).Should(Succeed())
		inState(ctx, w.id, v1alpha1.HealthDegraded, v1alpha1.ReasonDegraded)

		By("failing once more, which counts on from where it was")
		w.website(ctx, "d", `{replicas: 11}`)
		healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.FailureCount).To(BeEquivalentTo(4), "once per input, not once per process")
			g.Expect(s.ConsecutiveFailures).To(BeEquivalentTo(4))
			g.Expect(s.SuccessCount).To(Equal(before.SuccessCount))
			g.Expect(s.LastSuccess).To(Equal(before.LastSuccess))
			g.Expect(s.ClaimedAt).To(Equal(before.ClaimedAt))
			g.Expect(s.Resources).To(Equal(v1alpha1.ResourceCounts{Total: 5, Ready: 1, Failing: 4}))
			g.Expect(s.Failing).To(HaveLen(4))
		})
		Expect(seen()).NotTo(ContainElement(v1alpha1.HealthHealthy))

		By("succeeding")
		w.website(ctx, "a", `{replicas: 1}`)
		inState(ctx, w.id, v1alpha1.HealthHealthy, v1alpha1.ReasonHealthy)
	})

	It("is written seldom: counters are gathered, and an idle box writes nothing", func(ctx context.Context) {
		w, other := newWorld(ctx), newWorld(ctx)
		w.running(ctx, w.box(ctx, oneMap(3, "good")))
		other.running(ctx, other.box(ctx, oneMap(3, "good")))
		path := "/crdhealths/" + w.id
		mark := manager.requests.mark()
		for _, name := range names(50) {
			w.website(ctx, name, `{}`)
		}
		for _, name := range names(50) {
			w.settled(ctx, name)
		}
		healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.Resources.Ready).To(BeEquivalentTo(50))
			g.Expect(s.SuccessCount).To(BeEquivalentTo(manager.evaluations(g, w.id)))
			g.Expect(s.QueueDepth).To(BeZero())
		})
		Expect(len(manager.requests.writes(mark, path))).To(BeNumerically("<", 25), "writes for 50 new resources")

		By("letting other things happen")
		Eventually(func(g Gomega) {
			g.Expect(getBox(ctx, g, w.id).Status.Resources).To(Equal(getHealth(ctx, g, w.id).Status.Resources))
		}).WithContext(ctx).Should(Succeed())
		mark = manager.requests.mark()
		for i := range 30 {
			name := fmt.Sprintf("other-%d", i)
			other.website(ctx, name, `{}`)
			other.settled(ctx, name)
		}
		Expect(manager.requests.since(mark, "/"+w.id)).To(BeEmpty(), "requests about the box, its CRDHealth, its resources and children")
	})
})
