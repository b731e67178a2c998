package e2e_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"go.uber.org/goleak"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/monitor"
)

// standalone makes a CRDHealth of the world's CRD that belongs to no box, and gives its name. It is gone when the spec ends.
func (w *world) standalone(ctx context.Context, healthyWhen string) string {
	GinkgoHelper()
	h := &v1alpha1.CRDHealth{
		ObjectMeta: metav1.ObjectMeta{Name: w.id + "-db"}, Spec: v1alpha1.CRDHealthSpec{CRD: v1alpha1.CRDName{Name: w.crdName()}},
	}
	Expect(yaml.UnmarshalStrict([]byte(healthyWhen), &h.Spec.HealthyWhen)).To(Succeed())
	Expect(kube.Create(ctx, h)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(kube.Delete(ctx, h))).To(Succeed()) })
	return h.Name
}

// operates does what the operator of the world's CRD would: it writes the status of a resource.
func (w *world) operates(ctx context.Context, name, status string) {
	GinkgoHelper()
	obj := w.ref(name)
	patch, err := yaml.YAMLToJSON([]byte("status: " + status))
	Expect(err).NotTo(HaveOccurred())
	Expect(kube.Status().Patch(ctx, obj, client.RawPatch(types.MergePatchType, patch))).To(Succeed())
}

// statusReady is a status with the condition Ready.
func statusReady(status, message string) string {
	return `{conditions: [{type: Ready, status: "` + status + `", reason: Because, message: "` + message + `"}]}`
}

var _ = Describe("A CRDHealth without a box", func() {
	It("shows how the resources fare that another operator runs", func(ctx context.Context) {
		w := newWorld(ctx)
		name := w.standalone(ctx, `[]`)
		inState(ctx, name, v1alpha1.HealthHealthy, v1alpha1.ReasonHealthy)

		By("having one that is not ready yet, and one that is")
		w.website(ctx, "bad", `{}`)
		w.website(ctx, "good", `{}`)
		w.operates(ctx, "good", statusReady("True", "up"))
		healthShows(ctx, name, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.State).To(Equal(v1alpha1.HealthDegraded))
			g.Expect(s.Resources).To(Equal(v1alpha1.ResourceCounts{Total: 2, Ready: 1, Failing: 1}))
			g.Expect(s.Failing).To(ConsistOf(And(HaveField("Namespace", w.namespace), HaveField("Name", "bad"),
				HaveField("Message", "Ready: wanted True, actual absent"), HaveField("Since", Not(BeZero())))))
		})
		w.operates(ctx, "bad", statusReady("False", "no disk"))
		const lacks = "Ready: wanted True, actual False: Because: no disk"
		healthShows(ctx, name, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.Failing).To(ConsistOf(HaveField("Message", lacks)))
			g.Expect(s).To(And(
				HaveField("ObservedGeneration", BeEquivalentTo(1)), HaveField("StartedAt", Not(BeNil())), HaveField("LastReconcile", Not(BeNil())),
				HaveField("LastFailure", HaveField("Message", lacks)), HaveField("ConsecutiveFailures", BeZero()), HaveField("Workers", BeZero())))
		})
		h := getHealth(ctx, Default, name)
		for kind, want := range map[string]metav1.ConditionStatus{
			v1alpha1.ConditionStarted: metav1.ConditionTrue, v1alpha1.ConditionHealthy: metav1.ConditionFalse, v1alpha1.ConditionStalled: metav1.ConditionFalse,
		} {
			Expect(healthCondition(h, kind)).To(HaveField("Status", want), kind)
		}
		said := "not every resource is healthy; websites " + w.namespace + "/bad: " + lacks
		Expect(healthCondition(h, v1alpha1.ConditionReady).Message).To(Equal(said))
		w.saysEvent(ctx, "default", name, v1alpha1.ReasonDegraded, "not every resource is healthy; websites "+w.namespace+"/bad: Ready")

		By("starting again, which changes nothing")
		manager.stop()
		before := getHealth(ctx, Default, name)
		manager = startManager(cluster.Config())
		w.website(ctx, "late", `{}`)
		w.operates(ctx, "late", statusReady("True", "up"))
		healthShows(ctx, name, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.Resources).To(Equal(v1alpha1.ResourceCounts{Total: 3, Ready: 2, Failing: 1}))
			g.Expect(s.Failing).To(Equal(before.Status.Failing))
			g.Expect(s.LastFailure).To(Equal(before.Status.LastFailure))
		})

		By("having it mended")
		w.operates(ctx, "bad", statusReady("True", "up"))
		inState(ctx, name, v1alpha1.HealthHealthy, v1alpha1.ReasonHealthy)
		w.saysEvent(ctx, "default", name, v1alpha1.ReasonRecovered, "every resource is healthy again")
		_, err := cluster.Kubectl(ctx, "wait", "--for=condition=Healthy", "--timeout=60s", "crdhealth/"+name)
		Expect(err).NotTo(HaveOccurred())
		Expect(kube.Delete(ctx, w.ref("bad"))).To(Succeed())
		healthShows(ctx, name, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.Resources).To(Equal(v1alpha1.ResourceCounts{Total: 2, Ready: 2}))
		})
		Expect(condition(w.get(ctx, Default, "good"), v1alpha1.ConditionReady).Message).To(Equal("up"), "nothing is written to resources")
		Expect(w.get(ctx, Default, "good").GetFinalizers()).To(BeEmpty())
	})

	It("says what is wrong with its conditions, and follows them when they change", func(ctx context.Context) {
		w := newWorld(ctx)
		w.website(ctx, "web", `{replicas: 2}`)
		w.operates(ctx, "web", `{phase: Up, replicas: 1}`)
		name := w.standalone(ctx, `[{field: status.phaze, equals: Up}, {cel: "self.status.replicas =="}]`)
		inState(ctx, name, v1alpha1.HealthPending, v1alpha1.ReasonCompileFailed)
		stalled := healthCondition(getHealth(ctx, Default, name), v1alpha1.ConditionStalled)
		Expect(stalled).To(And(HaveField("Status", metav1.ConditionTrue), HaveField("Reason", v1alpha1.ReasonCompileFailed)))
		Expect(stalled.Message).To(And(HavePrefix("2 mistakes: spec.healthyWhen[0].field: "), ContainSubstring(`did you mean "phase"?`), ContainSubstring("spec.healthyWhen[1].cel: ")))

		change := func(spec string) {
			GinkgoHelper()
			w.merge(ctx, getHealth(ctx, Default, name), `{"spec":`+spec+`}`)
		}
		change(`{"healthyWhen":[{"field":"status.phase","equals":"Up"}]}`)
		inState(ctx, name, v1alpha1.HealthHealthy, v1alpha1.ReasonHealthy)
		change(`{"healthyWhen":[{"cel":"self.status.replicas == self.spec.replicas"}]}`)
		inState(ctx, name, v1alpha1.HealthDegraded, v1alpha1.ReasonDegraded)
		w.operates(ctx, "web", `{replicas: 2}`)
		inState(ctx, name, v1alpha1.HealthHealthy, v1alpha1.ReasonHealthy)

		By("showing CRDHealths, each write of which would be one more to look at")
		change(`{"crd":{"name":"crdhealths.orkestra.orkspace.io"}}`)
		inState(ctx, name, v1alpha1.HealthPending, v1alpha1.ReasonCompileFailed)
		Expect(healthCondition(getHealth(ctx, Default, name), v1alpha1.ConditionStalled).Message).To(HavePrefix(
			`spec.crd.name: Invalid value: "crdhealths.orkestra.orkspace.io": a CRDHealth can't show CRDHealths`))

		By("giving conditions to one of a box")
		err := kube.Patch(ctx, getHealth(ctx, Default, name), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"operatorBoxRef":{"name":"`+name+`"}}}`)))
		Expect(err).To(MatchError(ContainSubstring("healthyWhen goes without operatorBoxRef")))
	})

	It("follows the CRD as it comes and goes, and leaves no watch behind", func(ctx context.Context) {
		w := newWorldWithoutCRD(ctx)
		s := newStreams()
		replaceManager(via(s.wrap))
		watches := func() int { return s.count("/" + w.group + "/") }
		name := w.standalone(ctx, `[]`)
		inState(ctx, name, v1alpha1.HealthPending, v1alpha1.ReasonCRDMissing)
		Expect(kube.Create(ctx, w.crd())).To(Succeed())
		inState(ctx, name, v1alpha1.HealthHealthy, v1alpha1.ReasonHealthy)
		Expect(watches()).To(Equal(1))
		w.website(ctx, "web", `{}`)
		inState(ctx, name, v1alpha1.HealthDegraded, v1alpha1.ReasonDegraded)

		By("deleting the CRD")
		w.deleteCRD(ctx)
		inState(ctx, name, v1alpha1.HealthStopped, v1alpha1.ReasonCRDMissing)
		healthShows(ctx, name, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.Resources).To(BeZero())
			g.Expect(s.Failing).To(BeEmpty())
		})
		Eventually(watches).WithContext(ctx).Should(BeZero())

		By("bringing it back")
		Expect(kube.Create(ctx, w.crd())).To(Succeed())
		inState(ctx, name, v1alpha1.HealthHealthy, v1alpha1.ReasonHealthy)
		Eventually(watches).WithContext(ctx).Should(Equal(1))

		By("deleting the object")
		Expect(kube.Delete(ctx, getHealth(ctx, Default, name))).To(Succeed())
		Eventually(watches).WithContext(ctx).Should(BeZero())
	})

	It("lets go of what depends on it", func(ctx context.Context) {
		w, db := newWorld(ctx), newWorld(ctx)
		name := db.standalone(ctx, `[]`)
		db.website(ctx, "main", `{}`)
		inState(ctx, name, v1alpha1.HealthDegraded, v1alpha1.ReasonDegraded)
		w.running(ctx, w.box(ctx, depends(`{name: `+name+`, condition: Healthy}`)))
		w.website(ctx, "web", `{mode: a}`)
		w.waitsFor(ctx, "web", `CRDHealth "`+name+`" is Degraded, wanted Healthy`)
		db.operates(ctx, "main", statusReady("True", "up"))
		w.settled(ctx, "web")
		dependency(ctx, w.id, name, v1alpha1.ConditionHealthy, true)
	})

	It("is taken over by a box of its name, and goes with it", func(ctx context.Context) {
		w := newWorld(ctx)
		name := w.standalone(ctx, `[{field: status.phase, equals: Up}]`)
		w.website(ctx, "web", `{}`)
		inState(ctx, name, v1alpha1.HealthDegraded, v1alpha1.ReasonDegraded)
		held := &v1alpha1.CRDHealth{ObjectMeta: metav1.ObjectMeta{Name: name}}
		Expect(kube.Patch(ctx, held, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["e2e.test/held"]}}`)))).To(Succeed())
		w.boxNamed(ctx, name, oneMap(3, "good"))
		w.settled(ctx, "web")
		inState(ctx, name, v1alpha1.HealthHealthy, v1alpha1.ReasonHealthy)
		h := getHealth(ctx, Default, name)
		Expect(h.Spec.OperatorBoxRef).To(HaveValue(HaveField("Name", name)))
		Expect(h.Spec.HealthyWhen).To(BeEmpty())
		Expect(metav1.GetControllerOf(h)).To(HaveField("Name", name))
		healthShows(ctx, name, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.Resources).To(Equal(v1alpha1.ResourceCounts{Total: 1, Ready: 1}))
			g.Expect(s.Failing).To(BeEmpty())
			g.Expect(s.Workers).To(BeEquivalentTo(3))
		})
		Expect(h.Finalizers).To(BeEmpty(), "nobody holds the box back when it is deleted")
		deleteBox(ctx, name)
		boxGone(ctx, name)
	})

	It("says which right is missing, and goes on when that is granted", func(ctx context.Context) {
		const account = "somebody-without-rights"
		w := newWorld(ctx)
		base := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.id}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{v1alpha1.GroupName}, Resources: []string{"*"}, Verbs: []string{"*"}},
			{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, Verbs: []string{"get", "list", "watch"}},
			{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
		}}
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: w.id}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: w.id},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: account}},
		}
		for _, obj := range []client.Object{base, binding} {
			Expect(kube.Create(ctx, obj)).To(Succeed())
			DeferCleanup(func(ctx context.Context) { Expect(kube.Delete(ctx, obj)).To(Succeed()) })
		}
		replaceManager(func(s *settings) { s.config.Impersonate.UserName = account })
		name := w.standalone(ctx, `[]`)
		inState(ctx, name, v1alpha1.HealthPending, v1alpha1.ReasonForbidden)
		Expect(healthCondition(getHealth(ctx, Default, name), v1alpha1.ConditionStalled)).To(And(
			HaveField("Status", metav1.ConditionTrue), HaveField("Message", HavePrefix("the manager may not list/watch websites."+w.group+"; grant it"))))
		base.Rules = append(base.Rules, rbacv1.PolicyRule{APIGroups: []string{w.group}, Resources: []string{"websites"}, Verbs: []string{"list", "watch"}})
		Expect(kube.Update(ctx, base)).To(Succeed())
		inState(ctx, name, v1alpha1.HealthHealthy, v1alpha1.ReasonHealthy)
	})

	It("leaves nothing behind when the looking begins and ends many times", func(ctx context.Context) {
		w := newWorld(ctx)
		for _, name := range names(3) {
			w.website(ctx, name, `{}`)
		}
		e := newEngine(w)
		crd := w.plan(ctx, w.id, `{}`).CRD
		check, errs := monitor.Compile(nil, crd, field.NewPath("spec", "healthyWhen"))
		Expect(errs).To(BeEmpty())
		is := monitor.MonitoredCRD{Name: w.id, CRD: crd, Check: check, Revision: "1"}
		round := func() {
			Eventually(func() error { return e.Monitors().Track(is) }).WithContext(ctx).Should(Succeed())
			Eventually(func(g Gomega) {
				report, ok := e.Monitors().Report(w.id)
				g.Expect(ok).To(BeTrue())
				g.Expect(report.Snapshot.Resources).To(Equal(v1alpha1.ResourceCounts{Total: 3, Failing: 3}))
				g.Expect(report.Phase).To(Equal(health.Running))
			}).WithContext(ctx).Should(Succeed())
			e.Monitors().Untrack(w.id)
		}
		for range 3 { // connections and lazy parts of libraries stay
			round()
		}
		known := goleak.IgnoreCurrent()
		for i := range 50 {
			if i%3 == 0 { // ended at once, while it begins
				Expect(e.Monitors().Track(is)).To(Succeed())
				e.Monitors().Untrack(w.id)
				continue
			}
			round()
		}
		Eventually(func() error {
			return goleak.Find(known, goleak.IgnoreAnyFunction("net/http.(*http2Transport).newClientConn"))
		}).WithContext(ctx).Should(Succeed())
		Expect(e.streams.count("")).To(BeZero(), "open watches")
	})

	It("that names another box is told where that box's health is", func(ctx context.Context) {
		w := newWorld(ctx)
		h := &v1alpha1.CRDHealth{ObjectMeta: metav1.ObjectMeta{Name: w.id + "-x"}, Spec: v1alpha1.CRDHealthSpec{
			CRD: v1alpha1.CRDName{Name: w.crdName()}, OperatorBoxRef: &v1alpha1.OperatorBoxReference{Name: w.id},
		}}
		Expect(kube.Create(ctx, h)).To(Succeed())
		DeferCleanup(func(ctx context.Context) {
			err := kube.Delete(ctx, h)
			Expect(err == nil || apierrors.IsNotFound(err)).To(BeTrue())
		})
		inState(ctx, h.Name, v1alpha1.HealthStopped, "NotSupported")
	})
})
