package e2e_test

import (
	"context"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var _ = Describe("Boxes", func() {
	const many = 200

	// fill makes many resources at once.
	fill := func(ctx context.Context, w *world, spec map[string]any) {
		GinkgoHelper()
		for _, name := range names(many) {
			obj := w.ref(name)
			obj.Object["spec"] = spec
			Expect(kube.Create(ctx, obj)).To(Succeed())
		}
	}
	// works checks that a box makes, corrects and cleans up.
	works := func(ctx context.Context, w *world, name string) {
		GinkgoHelper()
		w.website(ctx, name, `{}`)
		w.settled(ctx, name)
		w.overwrites(ctx, name, "by hand")
		w.holds(ctx, name, "good")
		Expect(kube.Delete(ctx, w.ref(name))).To(Succeed())
		w.gone(ctx, w.ref(name), name)
	}

	It("end a reconcile that takes too long, and try it again", func(ctx context.Context) {
		w := newWorld(ctx)
		d := startBlocked(writesOf(w.namespace, "configmaps"), func(s *settings) { s.orkestra.ReconcileTimeout = time.Second })
		d.yields = true
		d.shut()
		w.running(ctx, w.box(ctx, oneMap(3, "good")))
		w.website(ctx, "web", `{}`)
		w.fails(ctx, "web", "", "onReconcile: the reconcile took longer than 1s and was ended: applying ConfigMap")
		d.open()
		w.settled(ctx, "web")
	})

	for name, tc := range map[string]struct{ bad, says string }{
		"keeps text in a list": {
			`{onReconcile: {configmaps: [{data: {x: '{{ $x := list }}{{ range until 10000 }}{{ $x = list $x (repeat 1048576 "a") }}{{ end }}{{ len $x }}'}}]}}`,
			"limit of a template (1", // that of memory, or of time on a machine that is slow or busy
		},
		"renders a megabyte a thousand times": {
			`{onReconcile: {configmaps: [{name: "{{ .metadata.name }}-{{ .item }}", forEach: {field: "{{ until 1000 }}"}, data: {x: '{{ repeat 1000000 "a" }}'}}]}}`,
			"over the limit of what the templates of one resource may give in one reconcile (8 MiB)",
		},
		"compares lists that double": {
			`{onReconcile: {configmaps: [{when: [{cel: "5 in [[1, 2, 3, 4]]` + strings.Repeat(".map(x, x + x + x)", 12) + `[0]"}]}]}}`,
			"over the cost limit of a CEL expression (1000000 units)",
		},
		"walks through much, again and again": {
			`{onReconcile: {configmaps: [{data: {x: '{{ $x := until 10000 }}{{ range until 10000 }}{{ $_ := has 1 (list $x) }}{{ end }}'}}]}}`,
			"limit of a template (1", // that of work, or of time
		},
	} {
		It("work beside one that "+name, func(ctx context.Context) {
			bad, good := newWorld(ctx), newWorld(ctx)
			bad.running(ctx, bad.box(ctx, tc.bad))
			good.running(ctx, good.box(ctx, oneMap(3, "good")))
			for _, resource := range names(10) {
				bad.website(ctx, resource, `{}`)
			}
			works(ctx, good, "during")
			for _, resource := range names(10) {
				bad.shows(ctx, resource, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonBudgetExceeded, tc.says)
			}
		})
	}

	It("work beside one all of whose resources are wrong, and which evaluates each of them once", func(ctx context.Context) {
		bad, good := newWorld(ctx), newWorld(ctx)
		bad.running(ctx, bad.box(ctx, atMostTen))
		good.running(ctx, good.box(ctx, oneMap(3, "good")))
		fill(ctx, bad, map[string]any{"replicas": int64(11)})
		works(ctx, good, "during")
		healthShows(ctx, bad.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.Resources).To(Equal(v1alpha1.ResourceCounts{Total: many, Failing: many}))
		})
		inState(ctx, bad.id, v1alpha1.HealthDegraded, v1alpha1.ReasonDegraded)
		works(ctx, good, "after")
		inState(ctx, good.id, v1alpha1.HealthHealthy, v1alpha1.ReasonHealthy)
		Expect(manager.evaluations(Default, bad.id)).To(BeEquivalentTo(many))
	})

	It("work beside one all of whose resources are retried again and again, with growing pauses", func(ctx context.Context) {
		bad, good, missing := newWorld(ctx), newWorld(ctx), newWorldWithoutCRD(ctx)
		bad.running(ctx, bad.box(ctx, `{onReconcile: {resources: [{manifest: {apiVersion: `+missing.group+`/v1, kind: Website}}]}}`))
		good.running(ctx, good.box(ctx, oneMap(3, "good")))
		mark := manager.requests.mark()
		fill(ctx, bad, map[string]any{})
		works(ctx, good, "during")
		healthShows(ctx, bad.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.Resources).To(Equal(v1alpha1.ResourceCounts{Total: many, Failing: many}))
		})
		inState(ctx, bad.id, v1alpha1.HealthDegraded, v1alpha1.ReasonDegraded)
		works(ctx, good, "after")
		inState(ctx, good.id, v1alpha1.HealthHealthy, v1alpha1.ReasonHealthy)
		// Pauses double from 5 ms: fifteen tries take more than two minutes.
		Expect(manager.evaluations(Default, bad.id)).To(BeNumerically("<", 15*many))
		asked := 0
		for _, r := range manager.requests.since(mark, "/apis/"+missing.group) {
			Expect(r.method).To(Equal(http.MethodGet))
			asked++
		}
		GinkgoWriter.Println("evaluations:", manager.evaluations(Default, bad.id), "questions about the missing kind:", asked)
	})

	It("work beside one that panics, whose CRDHealth says so", func(ctx context.Context) {
		bad, good := newWorld(ctx), newWorld(ctx)
		isBad := writesOf(bad.namespace, "configmaps")
		replaceManager(via(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				if isBad(r) {
					panic("a bug")
				}
				return next.RoundTrip(r)
			})
		}))
		bad.running(ctx, bad.box(ctx, oneMap(3, "good")))
		good.running(ctx, good.box(ctx, oneMap(3, "good")))
		bad.website(ctx, "web", `{}`)
		healthShows(ctx, bad.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.LastFailure).To(HaveValue(And(HaveField("Resource.Name", "web"), HaveField("Message", ContainSubstring("panic: a bug")))))
			g.Expect(s.Resources.Failing).To(BeEquivalentTo(1))
		})
		inState(ctx, bad.id, v1alpha1.HealthDegraded, v1alpha1.ReasonDegraded)
		works(ctx, good, "during")
		inState(ctx, good.id, v1alpha1.HealthHealthy, v1alpha1.ReasonHealthy)
	})

	It("work beside one whose reconciles do not end, which is Stuck and holds no place", func(ctx context.Context) {
		stuck, good := newWorld(ctx), newWorld(ctx)
		d := startBlocked(writesOf(stuck.namespace, "configmaps"), func(s *settings) {
			s.orkestra.ReconcileTimeout, s.orkestra.MaxConcurrentReconciles = time.Second, 2
		})
		overdue := func(g Gomega) float64 { return manager.gauge(g, "orkestra_reconciles_overdue", stuck.id) }
		stuck.running(ctx, stuck.box(ctx, oneMap(2, "good")))
		good.running(ctx, good.box(ctx, oneMap(1, "good")))
		d.shut()
		stuck.website(ctx, names(3)[0], `{}`)
		healthShows(ctx, stuck.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.State).To(Equal(v1alpha1.HealthHealthy), "the other worker goes on")
			g.Expect(meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)).To(HaveField("Message", ContainSubstring(
				"the box works; but 1 of 2 workers is in a reconcile past the deadline of 1s without an end: "+stuck.namespace+"/"+names(3)[0]+";")))
		})
		stuck.saysEvent(ctx, stuck.namespace, names(3)[0], v1alpha1.ReasonOverdue, "its reconcile is past the deadline of 1s and does not end")
		stuck.commandsSay(ctx, names(3)[0], v1alpha1.ReasonOverdue)
		for _, name := range names(3)[1:] {
			stuck.website(ctx, name, `{}`)
		}
		Eventually(d.holding).WithContext(ctx).Should(Equal(2), "the second begins when the first has given its place back")
		boxShows(ctx, stuck.id, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonStuck, "all 2 workers are in reconciles that took longer than 1s and do not end: "+stuck.namespace+"/web-00")
		boxShows(ctx, stuck.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonStuck, "")
		inState(ctx, stuck.id, v1alpha1.HealthDegraded, v1alpha1.ReasonStuck)
		Expect(overdue(Default)).To(BeEquivalentTo(2))
		works(ctx, good, "during")
		Expect(d.holding()).To(Equal(2), "the keys are locked: nobody begins anew")
		d.open()
		for _, name := range names(3) {
			stuck.settled(ctx, name)
		}
		boxShows(ctx, stuck.id, v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonRunning, "")
		inState(ctx, stuck.id, v1alpha1.HealthHealthy, v1alpha1.ReasonHealthy)
		healthShows(ctx, stuck.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)).To(HaveField("Message", Equal("the box works")))
		})
		Expect(overdue(Default)).To(BeZero())
	})

	It("work beside one whose every write hangs", func(ctx context.Context) {
		stuck, good := newWorld(ctx), newWorld(ctx)
		d := startBlocked(func(r *http.Request) bool {
			return r.Method != http.MethodGet && strings.Contains(r.URL.Path, "/namespaces/"+stuck.namespace+"/")
		})
		stuck.running(ctx, stuck.box(ctx, oneMap(10, "good")))
		good.running(ctx, good.box(ctx, oneMap(3, "good")))
		d.shut()
		for _, name := range names(20) {
			stuck.website(ctx, name, `{}`)
		}
		Eventually(d.holding).WithContext(ctx).Should(Equal(10))
		works(ctx, good, "during")
		Expect(d.holding()).To(Equal(10))

		By("editing, stopping and starting boxes meanwhile")
		good.running(ctx, good.box(ctx, oneMap(5, "good")))
		other := newWorld(ctx)
		other.running(ctx, other.box(ctx, oneMap(3, "good")))
		works(ctx, other, "during")
		Expect(kube.Delete(ctx, &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: other.id}})).To(Succeed())
		Eventually(func() error {
			return client.IgnoreNotFound(kube.Get(ctx, client.ObjectKey{Name: other.id}, &v1alpha1.OperatorBox{}))
		}).WithContext(ctx).Should(Succeed())
		d.open()
		for _, name := range names(20) {
			stuck.settled(ctx, name)
		}
	})
})
