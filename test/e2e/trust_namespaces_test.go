package e2e_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/external"
)

var _ = Describe("Reaching other namespaces", func() {
	It("leaves children alone where a namespace no longer lets the resource in, and goes on with all else", func(ctx context.Context) {
		w := newWorld(ctx)
		other := w.anotherNamespace(ctx)
		w.allow(ctx, other, w.namespace)
		const box = `onReconcile: {configmaps: [{id: far, namespace: "{{ .spec.host }}", data: {a: "{{ .spec.mode }}"}}, {id: near, name: near, data: {a: "{{ .spec.mode }}"}}%s]}`
		w.running(ctx, w.box(ctx, fmt.Sprintf(box, `, {id: old, name: old, data: {a: b}}, {id: gone, name: gone, namespace: "{{ .spec.host }}", data: {a: b}}`)))
		w.website(ctx, "web", fmt.Sprintf(`{host: %s, mode: before}`, other))
		w.settled(ctx, "web")
		far := func(name string) (*corev1.ConfigMap, error) {
			c := &corev1.ConfigMap{}
			return c, kube.Get(ctx, types.NamespacedName{Namespace: other, Name: name}, c)
		}
		before, err := far("web")
		Expect(err).NotTo(HaveOccurred())

		By("withdrawing it")
		w.allow(ctx, other, "")
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonNamespaceWithdrawn,
			fmt.Sprintf("far: namespace: namespace %q does not let resources of %q in any more", other, w.namespace))
		w.box(ctx, fmt.Sprintf(box, ""))
		w.website(ctx, "web", fmt.Sprintf(`{host: %s, mode: after}`, other))
		w.hasData(ctx, "near", map[string]string{"a": "after"})
		w.gone(ctx, &corev1.ConfigMap{}, "old")
		Eventually(func() bool {
			_, err := far("gone")
			return apierrors.IsNotFound(err)
		}).WithContext(ctx).Should(BeTrue(), "what is no longer declared goes there too")
		left, err := far("web")
		Expect(err).NotTo(HaveOccurred())
		Expect(left.ResourceVersion).To(Equal(before.ResourceVersion))

		By("having somebody else change it")
		left.Data["a"] = "theirs"
		Expect(kube.Update(ctx, left)).To(Succeed())
		w.lookedAt(ctx, "web")
		again, err := far("web")
		Expect(err).NotTo(HaveOccurred())
		Expect(again.Data).To(HaveKeyWithValue("a", "theirs"))

		By("letting it in again")
		w.allow(ctx, other, w.namespace)
		w.settled(ctx, "web")
		Eventually(func(g Gomega) {
			c, err := far("web")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(c.Data).To(HaveKeyWithValue("a", "after"))
		}).WithContext(ctx).Should(Succeed())

		By("deleting the owner while nobody is let in")
		w.allow(ctx, other, "")
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonNamespaceWithdrawn, other)
		w.removed(ctx, "web")
		_, err = far("web")
		Expect(apierrors.IsNotFound(err)).To(BeTrue(), "it went with its owner")
	})

	It("gives no name of a cluster-scoped child to a resource of another namespace", func(ctx context.Context) {
		w := newWorld(ctx)
		// The namespaces are <id> and <id>-b: resource b-c of the first would take the name of resource c of the second.
		second := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace + "-b"}}
		Expect(kube.Create(ctx, second)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(kube.Delete(ctx, second)).To(Succeed()) })
		const class = `{onReconcile: {resources: [{manifest: {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, %s value: 7}}]}}`
		w.running(ctx, w.box(ctx, fmt.Sprintf(class, `metadata: {name: "{{ .metadata.namespace }}-{{ .metadata.name }}"},`)))
		w.website(ctx, "b-c", `{}`)
		w.shows(ctx, "b-c", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonInvalidChild,
			fmt.Sprintf("it can't be told that its resource is in namespace %q", w.namespace))
		victim := w.websiteIn(ctx, second.Name, "c", nil)
		made := &schedulingv1.PriorityClass{}
		Eventually(func() error {
			return kube.Get(ctx, types.NamespacedName{Name: w.namespace + "-b-c"}, made)
		}).WithContext(ctx).Should(Succeed())
		Expect(made.Labels).To(HaveKeyWithValue(v1alpha1.LabelOwnerUID, string(victim.GetUID())))

		By("leaving the name to Orkestra")
		w.box(ctx, fmt.Sprintf(class, ""))
		w.settled(ctx, "b-c")
		var all schedulingv1.PriorityClassList
		Eventually(func(g Gomega) {
			g.Expect(kube.List(ctx, &all)).To(Succeed())
			var names []string
			for i := range all.Items {
				if all.Items[i].Labels[v1alpha1.LabelBox] == w.id {
					names = append(names, all.Items[i].Name)
				}
			}
			g.Expect(names).To(ConsistOf(MatchRegexp("^"+w.namespace+"-b-c-[0-9a-f]{16}$"), MatchRegexp("^"+w.namespace+"-b-c-[0-9a-f]{16}$")))
		}).WithContext(ctx).Should(Succeed())
	})

	It("lets a box with an account make what grants rights as far as the account may, and never marks", func(ctx context.Context) {
		w := newWorld(ctx)
		a := w.account(ctx, children(rbacv1.GroupName, "roles"), children("", "configmaps"))
		const role = `onReconcile: {resources: [{manifest: {apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: web}, rules: [{apiGroups: [""], resources: [%s], verbs: [get]}]}}]}`
		w.running(ctx, w.box(ctx, a.ref()+fmt.Sprintf(role, "configmaps")))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		By("giving more than the account has")
		w.box(ctx, a.ref()+fmt.Sprintf(role, "secrets"))
		boxShows(ctx, w.id, v1alpha1.ConditionPermissionsGranted, metav1.ConditionFalse, v1alpha1.ReasonForbidden, "may not get secrets")
		By("writing marks")
		w.box(ctx, a.ref()+`onReconcile: {namespaces: [{annotations: {orkestra.orkspace.io/allow-from: "*"}}]}`)
		boxShows(ctx, w.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "a box never says whom a namespace lets in")
		w.box(ctx, a.ref()+`onReconcile: {deployments: [{image: x, podLabels: {orkestra.orkspace.io/owner-uid: x}}]}`)
		boxShows(ctx, w.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "this is a mark of Orkestra, which no box writes")
		By("writing marks by a template")
		w.running(ctx, w.box(ctx, a.ref()+`onReconcile: {resources: [{manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: web, annotations: '{{ dict (printf "orkestra.orkspace.io/%s" .spec.mode) "x" }}'}}}]}`))
		w.website(ctx, "web", `{mode: declaration}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonInvalidChild, "this is a mark of Orkestra, which no box writes")
	})

	It("reaches a host that is open to one account from its boxes alone", func(ctx context.Context) {
		first, second := newWorld(ctx), newWorld(ctx)
		a, b := first.account(ctx, children("", "configmaps")), second.account(ctx, children("", "configmaps"))
		manager.stop()
		manager = startManager(cluster.Config(), func(s *settings) {
			s.orkestra.ExternalAllow = nil
			s.orkestra.EgressRules = external.EgressRules{Allow: external.EgressLists{Accounts: map[string][]string{a.namespace + "/" + a.name: {"127.0.0.1"}}}}
		})
		DeferCleanup(func() {
			manager.stop()
			manager = startManager(cluster.Config())
		})
		service := newService()
		box := `external: [{name: quota, url: "` + service.url + `/v1", cacheFor: 1h}]` + "\n" + `onReconcile: {configmaps: [{data: {a: "{{ .external.quota.limit }}"}}]}`
		first.running(ctx, first.box(ctx, a.ref()+box))
		first.website(ctx, "web", `{}`)
		first.settled(ctx, "web")
		second.running(ctx, second.box(ctx, b.ref()+box))
		second.website(ctx, "web", `{}`)
		second.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonExternalFailed,
			`host "127.0.0.1" has an address that is not public (loopback); the operator of this cluster may allow it (--external-allow, or --egress-rules for this box or its account)`)
	})
})
