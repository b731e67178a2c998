package e2e_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// storesV2 has the world's CRD serve v2 too, and store resources in it.
func (w *world) storesV2(ctx context.Context) {
	GinkgoHelper()
	w.changeCRD(ctx, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Versions[0].Storage = false
		second := addVersion(crd, "v2")
		second.Served, second.Storage = true, true
	})
}

// withoutSecrets has a manager act as a user who may do what the world's boxes need, but for Secrets.
func (w *world) withoutSecrets(ctx context.Context) func(*settings) {
	GinkgoHelper()
	all := []string{"*"}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.id}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps", "namespaces"}, Verbs: all},
		{APIGroups: []string{
			w.group, v1alpha1.GroupName, "apiextensions.k8s.io", "apps", "authentication.k8s.io", "authorization.k8s.io", "events.k8s.io",
		}, Resources: all, Verbs: all},
	}}
	user := w.id + "-without-secrets"
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: w.id}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: w.id},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	for _, obj := range []client.Object{role, binding} {
		Expect(kube.Create(ctx, obj)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(kube.Delete(ctx, obj)).To(Succeed()) })
	}
	return func(s *settings) { s.config.Impersonate.UserName = user }
}

// failsAtOnce is a box whose resources fail with more than ten replicas, and become Degraded at the second failure.
const failsAtOnce = `
failureThreshold: 2
validation: {rules: [{field: spec.replicas, operator: lte, value: "10", message: "at most ten"}]}
onReconcile: {configmaps: [{data: {value: good}}]}
`

var _ = Describe("A box under fire", func() {
	var w *world
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		DeferCleanup(runManager)
	})
	// inVain has the box not compile any more.
	inVain := func(ctx context.Context, more string) {
		GinkgoHelper()
		w.box(ctx, `{`+more+`onReconcile: {configmaps: [{data: {value: "{{ .spec.nothing }}"}}]}}`)
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "spec.nothing")
	}

	It("works on in its own version when its CRD stores another, and touches no child", func(ctx context.Context) {
		w.runs(ctx, oneMap(1, "good"))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		inState(ctx, w.id, v1alpha1.HealthHealthy, v1alpha1.ReasonHealthy)
		began := getHealth(ctx, Default, w.id).Status.StartedAt
		child := &corev1.ConfigMap{}
		w.child(ctx, Default, child, "web")
		seen := states(ctx, w.id)
		evaluated := manager.evaluations(Default, w.id)
		mark := manager.requests.mark()
		w.storesV2(ctx)
		Eventually(func(g Gomega) {
			g.Expect(manager.evaluations(g, w.id)).To(BeNumerically(">", evaluated), "the CRD has changed: everything is looked at")
		}).WithContext(ctx).Should(Succeed())
		w.running(ctx, w.id)
		Expect(getBox(ctx, Default, w.id).Status.CRD.Version).To(Equal("v1"))
		w.untouched(ctx, child)
		Expect(manager.requests.writes(mark, "/namespaces/"+w.namespace+"/configmaps")).To(BeEmpty())
		Expect(seen()).NotTo(ContainElement(v1alpha1.HealthStarting), "nothing was restarted")
		Expect(getHealth(ctx, Default, w.id).Status.StartedAt).To(Equal(began))
	})

	It("follows its CRD when its own version is no longer served, and neither heals nor forgets by that", func(ctx context.Context) {
		w.runs(ctx, failsAtOnce)
		failed := func(times int) v1alpha1.CRDHealthStatus {
			GinkgoHelper()
			var status v1alpha1.CRDHealthStatus
			healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
				g.Expect(s.State).To(Equal(v1alpha1.HealthDegraded))
				g.Expect(s.Resources).To(Equal(v1alpha1.ResourceCounts{Total: 2, Failing: 2}))
				g.Expect(s.Failing).To(HaveLen(2))
				g.Expect(s.FailureCount).To(BeEquivalentTo(times))
				g.Expect(s.ConsecutiveFailures).To(BeEquivalentTo(times))
				g.Expect(s.Workers).To(BeEquivalentTo(3))
				status = s
			})
			return status
		}
		for _, name := range []string{"bad", "worse"} {
			w.website(ctx, name, `{replicas: 11}`)
			w.fails(ctx, name, v1alpha1.ReasonValidationFailed, "at most ten")
		}
		failed(2)
		w.storesV2(ctx)
		before := failed(4)
		w.changeCRD(ctx, func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Served = false })
		Eventually(func(g Gomega) {
			g.Expect(getBox(ctx, g, w.id).Status.CRD.Version).To(Equal("v2"))
		}).WithContext(ctx).Should(Succeed())
		w.running(ctx, w.id)
		after := failed(4)
		Expect(after.Failing).To(Equal(before.Failing))
		Expect(after.LastFailure).To(Equal(before.LastFailure))

		By("serving the old one again: it does not go back")
		w.serves(ctx, "v1", "v2")
		w.waitEstablished(ctx)
		w.website(ctx, "bad", `{replicas: 1}`)
		w.settled(ctx, "bad")
		inState(ctx, w.id, v1alpha1.HealthHealthy, v1alpha1.ReasonHealthy)
		Expect(getBox(ctx, Default, w.id).Status.CRD.Version).To(Equal("v2"))
	})

	Context("with a spec that does not compile", func() {
		BeforeEach(func(ctx context.Context) {
			w.runs(ctx, `{selector: {matchLabels: {app: shop}}, onReconcile: {configmaps: [{data: {value: good}}]}}`)
			for _, name := range []string{"web", "other"} {
				w.website(ctx, name, `{}`)
				w.merge(ctx, w.ref(name), `{"metadata":{"labels":{"app":"shop"}}}`)
				w.settled(ctx, name)
			}
		})

		DescribeTable("lets go of what leaves the selection that last compiled", func(ctx context.Context, inProcess func()) {
			inVain(ctx, `selector: {matchLabels: {app: other}}, `)
			inProcess()
			boxShows(ctx, w.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "goes on")
			w.merge(ctx, w.ref("web"), `{"metadata":{"labels":{"app":null}}}`)
			w.unmarked(ctx, "web")
			w.child(ctx, Default, &corev1.ConfigMap{}, "web")
			w.overwrites(ctx, "other", "by hand")
			w.holds(ctx, "other", "good")
		}, Entry("in the process that ran it", func() {}), Entry("in another process", func() { replaceManager() }))

		It("goes on when its CRD was deleted with all resources, and made again", func(ctx context.Context) {
			good := getBox(ctx, Default, w.id).Status.Revision
			inVain(ctx, "")
			w.deleteCRD(ctx)
			inState(ctx, w.id, v1alpha1.HealthStopped, v1alpha1.ReasonCRDMissing)
			w.gone(ctx, &corev1.ConfigMap{}, "web")
			Expect(kube.Create(ctx, w.crd())).To(Succeed())
			w.waitEstablished(ctx)
			w.website(ctx, "web", `{}`)
			w.merge(ctx, w.ref("web"), `{"metadata":{"labels":{"app":"shop"}}}`)
			w.settled(ctx, "web")
			w.holds(ctx, "web", "good")
			boxShows(ctx, w.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "revision "+good+" goes on")
			inState(ctx, w.id, v1alpha1.HealthHealthy, v1alpha1.ReasonHealthy)
		})

		It("removes what it was asked to when it is deleted, in another process", func(ctx context.Context) {
			inVain(ctx, `finalizers: [not-qualified], `)
			w.merge(ctx, getBox(ctx, Default, w.id), `{"metadata":{"annotations":{"`+v1alpha1.AnnotationCleanup+`":"true"}}}`)
			replaceManager()
			deleteBox(ctx, w.id)
			boxGone(ctx, w.id)
			for _, name := range []string{"web", "other"} {
				w.unmarked(ctx, name)
				w.gone(ctx, &corev1.ConfigMap{}, name)
			}
		})
	})

	It("goes on in full after an edit that names a version that there is not, in another process", func(ctx context.Context) {
		good := w.runs(ctx, oneMap(1, "good"))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		w.box(ctx, `{crd: {name: `+w.crdName()+`, version: v9}, onReconcile: {configmaps: [{data: {value: better}}]}}`)
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonCRDVersionNotServed, `"v9"`)
		replaceManager()
		w.overwrites(ctx, "web", "by hand")
		w.holds(ctx, "web", "good")
		w.website(ctx, "new", `{}`)
		w.settled(ctx, "new")
		boxShows(ctx, w.id, v1alpha1.ConditionCompiled, metav1.ConditionUnknown, v1alpha1.ReasonCRDVersionNotServed, "; revision "+good+" goes on")
		Expect(getBox(ctx, Default, w.id).Status.Revision).To(Equal(good))
	})

	It("goes on in full after an edit for which rights are missing, in another process", func(ctx context.Context) {
		good := w.runs(ctx, oneMap(1, "good"))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		manager.stop()
		w.box(ctx, `{onReconcile: {configmaps: [{data: {value: better}}], secrets: [{data: {a: b}}]}}`)
		replaceManager(w.withoutSecrets(ctx))
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonForbidden, "secrets")
		w.overwrites(ctx, "web", "by hand")
		w.holds(ctx, "web", "good")
		boxShows(ctx, w.id, v1alpha1.ConditionCompiled, metav1.ConditionTrue, v1alpha1.ReasonCompiled, "; revision "+good+" goes on")
		Expect(getBox(ctx, Default, w.id).Status.Revision).To(Equal(good))
		Expect(revisionNames(ctx, Default, w.id)).To(Equal([]string{good}), "what may not run is not kept")
	})
})
