package e2e_test

import (
	"context"
	"net/http"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// boxState is the family that says which state a box is in.
const boxState = "orkestra_health_state"

// series names the families in which a box has series, sorted.
func (p *process) series(g Gomega, box string) []string {
	families, err := p.registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	var out []string
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "box" && l.GetValue() == box {
					out = append(out, f.GetName())
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// state is the state of a box by its series; empty: it has none, or more than one.
func (p *process) state(g Gomega, box string) v1alpha1.HealthState {
	families, err := p.registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	var found []v1alpha1.HealthState
	for _, f := range families {
		if f.GetName() != boxState {
			continue
		}
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if labels["box"] == box && m.GetGauge().GetValue() == 1 {
				found = append(found, v1alpha1.HealthState(labels["state"]))
			}
		}
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// gauge reads a series of a box by its family's name; -1: there is none.
func (p *process) gauge(g Gomega, family, box string) float64 {
	families, err := p.registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if f.GetName() == family && l.GetName() == "box" && l.GetValue() == box {
					return m.GetGauge().GetValue()
				}
			}
		}
	}
	return -1
}

// healthWithoutBox makes a CRDHealth that belongs to no box, of a CRD that there is not, and gives its name. It is deleted when
// the spec ends.
func (w *world) healthWithoutBox(ctx context.Context) string {
	GinkgoHelper()
	h := &v1alpha1.CRDHealth{
		ObjectMeta: metav1.ObjectMeta{Name: w.id + "-other"},
		Spec:       v1alpha1.CRDHealthSpec{CRD: v1alpha1.CRDName{Name: "things.nowhere." + w.group}},
	}
	Expect(kube.Create(ctx, h)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(kube.Delete(ctx, h)).To(Succeed()) })
	return h.Name
}

var _ = Describe("The series of a box", func() {
	stateIs := func(ctx context.Context, box string, want v1alpha1.HealthState) {
		GinkgoHelper()
		Eventually(func(g Gomega) { g.Expect(manager.state(g, box)).To(Equal(want)) }).WithContext(ctx).Should(Succeed())
	}
	noneLeft := func(ctx context.Context, box string) {
		GinkgoHelper()
		Eventually(func(g Gomega) { g.Expect(manager.series(g, box)).To(BeEmpty()) }).WithContext(ctx).Should(Succeed())
	}

	It("go with it, also when its state is looked at after everything of it has stopped", func(ctx context.Context) {
		w, other := newWorld(ctx), newWorld(ctx)
		d := startBlocked(func(r *http.Request) bool {
			return r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/operatorboxes/"+w.id)
		})
		for _, each := range []*world{w, other} {
			each.running(ctx, each.box(ctx, oneMap(3, "good")))
			each.website(ctx, "web", `{}`)
			each.settled(ctx, "web")
			stateIs(ctx, each.id, v1alpha1.HealthHealthy)
			Eventually(func(g Gomega) { g.Expect(manager.series(g, each.id)).To(HaveLen(16), "one of each family") }).WithContext(ctx).Should(Succeed())
		}
		all := manager.series(Default, other.id)

		By("deleting it, with a child that is held, so that the deletion is well known")
		c := &corev1.ConfigMap{}
		w.child(ctx, Default, c, "web")
		w.merge(ctx, c, `{"metadata":{"finalizers":["e2e.test/hold"]}}`)
		w.merge(ctx, getBox(ctx, Default, w.id), `{"metadata":{"annotations":{"`+v1alpha1.AnnotationCleanup+`":"true"}}}`)
		deleteBox(ctx, w.id)
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonDeletionBlocked, w.namespace+"/web")
		stateIs(ctx, w.id, v1alpha1.HealthStopped)

		By("having its state looked at when nothing is left of it but its finalizer")
		d.shut()
		w.merge(ctx, c, `{"metadata":{"finalizers":null}}`)
		Eventually(d.holding).WithContext(ctx).Should(Equal(1))
		w.merge(ctx, getHealth(ctx, Default, w.id), `{"metadata":{"labels":{"look":"now"}}}`)
		Eventually(func(g Gomega) {
			g.Expect(manager.series(g, w.id)).To(Equal([]string{boxState}))
		}).WithContext(ctx).Should(Succeed())
		d.open()
		boxGone(ctx, w.id)
		noneLeft(ctx, w.id)
		Expect(manager.series(Default, other.id)).To(Equal(all))
	})

	It("show what hangs while it hangs, and that it is over", func(ctx context.Context) {
		w := newWorld(ctx)
		d := startBlocked(writesOf(w.namespace, "configmaps"))
		w.running(ctx, w.box(ctx, oneMap(2, "good")))
		d.shut()
		for _, name := range names(5) {
			w.website(ctx, name, `{}`)
		}
		loaded := func(queued gomegatypes.GomegaMatcher, busy int) {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				g.Expect(manager.gauge(g, "orkestra_queue_depth", w.id)).To(queued)
				g.Expect(manager.gauge(g, "orkestra_workers_busy", w.id)).To(BeEquivalentTo(busy))
				g.Expect(manager.gauge(g, "orkestra_workers_wanted", w.id)).To(BeEquivalentTo(2))
			}).WithContext(ctx).Should(Succeed())
		}
		Eventually(d.holding).WithContext(ctx).Should(Equal(2))
		loaded(BeNumerically(">=", 3), 2)
		d.open()
		for _, name := range names(5) {
			w.settled(ctx, name)
		}
		loaded(BeZero(), 0)
	})

	It("count the requests that the audit log of the API server has", func(ctx context.Context) {
		w, since := newWorld(ctx), auditedUntilNow()
		w.running(ctx, w.box(ctx, oneMap(3, "good")))
		for _, name := range names(3) {
			w.website(ctx, name, `{}`)
			w.settled(ctx, name)
		}
		w.merge(ctx, w.configMap(names(3)[0]), `{"data":{"value":"bad"}}`)
		w.holds(ctx, names(3)[0], "good")
		Expect(kube.Delete(ctx, w.ref(names(3)[1]))).To(Succeed())
		w.gone(ctx, w.ref(names(3)[1]), names(3)[1])
		Eventually(func(g Gomega) {
			counted, noted := map[string]int{}, map[string]int{}
			for _, m := range manager.scraped(g).find("orkestra_api_requests_total", "box="+w.id) {
				for _, l := range m.GetLabel() {
					if l.GetName() == "verb" {
						counted[strings.Replace(l.GetValue(), "apply", "patch", 1)] += int(m.GetCounter().GetValue())
					}
				}
			}
			for _, e := range w.audited(since) {
				ours := e.ObjectRef.Namespace == w.namespace && slices.Contains([]string{"configmaps", "websites"}, e.ObjectRef.Resource)
				if ours && e.Verb != "list" && e.Verb != "watch" { // those are shared
					noted[e.Verb]++
				}
			}
			g.Expect(counted).To(Equal(noted))
			g.Expect(counted["patch"]).To(BeNumerically(">=", 7))
		}).WithContext(ctx).Should(Succeed())
	})

	DescribeTable("go with one that never ran", func(ctx context.Context, spec string) {
		w := newWorld(ctx)
		w.box(ctx, spec)
		stateIs(ctx, w.id, v1alpha1.HealthPending)
		deleteBox(ctx, w.id)
		boxGone(ctx, w.id)
		noneLeft(ctx, w.id)
	},
		Entry("because it does not compile", `{onReconcile: {configmaps: [{data: {a: "{{ .spec.nothing }}"}}]}}`),
		Entry("because there is no CRD", `{crd: {name: things.nowhere.e2e.test}, onReconcile: {configmaps: [{data: {a: b}}]}}`),
	)

	It("are none where no box is", func(ctx context.Context) {
		w := newWorld(ctx)
		h := w.healthWithoutBox(ctx)
		inState(ctx, h, v1alpha1.HealthPending, v1alpha1.ReasonCRDMissing)
		Expect(manager.series(Default, h)).To(BeEmpty())
	})
})
