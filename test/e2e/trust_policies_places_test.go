package e2e_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/drain"
)

var _ = Describe("Whom a namespace lets in", func() {
	It("says who may update it, and never a box", func(ctx context.Context) {
		w := newWorld(ctx)
		namespace := func() *corev1.Namespace {
			return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
		}
		sent := func(u *user) error { return u.mark(ctx, namespace(), "annotations", v1alpha1.AnnotationAllowFrom, "*") }
		message := "orkestra.orkspace.io/allow-from is set by those who may update Namespace " + w.namespace

		By("somebody who may patch it, and write its status")
		patcher := &user{name: w.id + "-patcher", client: as(w.id + "-patcher")}
		patcher.may(ctx, rule("", "get create patch", "namespaces"), rule("", "update patch", "namespaces/status", "namespaces/finalize"))
		Expect(sent(patcher)).To(refusedBy("grants", message))
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"`+v1alpha1.AnnotationAllowFrom+`":"*"}}}`))
		Expect(patcher.client.Status().Patch(ctx, namespace(), patch)).To(refusedBy("grants", message))
		live := namespace()
		Expect(kube.Get(ctx, client.ObjectKeyFromObject(live), live)).To(Succeed())
		live.Annotations = map[string]string{v1alpha1.AnnotationAllowFrom: "*"}
		Expect(patcher.client.SubResource("finalize").Update(ctx, live)).To(refusedBy("grants", message))
		open := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.id + "-open", Annotations: map[string]string{v1alpha1.AnnotationAllowFrom: "*"}}}
		Expect(patcher.client.Create(ctx, open)).To(refusedBy("grants", "those who may update Namespace "+open.Name))
		Expect(patcher.mark(ctx, namespace(), "annotations", "e2e.test/other", "x")).To(Succeed())

		By("somebody who may update this one")
		owner := &user{name: w.id + "-owner", client: as(w.id + "-owner")}
		owner.mayIn(ctx, w.namespace, rule("", "patch update", "namespaces"))
		Expect(sent(owner)).To(Succeed())
		Expect(patcher.mark(ctx, namespace(), "annotations", v1alpha1.AnnotationAllowFrom, "")).To(refusedBy("grants", message), "nor is it taken away")

		By("a box, whose account may")
		account := "system:serviceaccount:" + w.namespace + ":mine"
		boxed := &user{name: account, client: as(account, forBox("mine"))}
		boxed.mayIn(ctx, w.namespace, rule("", "patch update", "namespaces"))
		Expect(boxed.mark(ctx, namespace(), "annotations", v1alpha1.AnnotationAllowFrom, "everybody")).To(refusedBy("grants", "a box never sets"))
		By("the manager, as which a box without an account acts")
		me := &user{name: managerAccount, client: as(managerAccount)}
		me.may(ctx, rule("", "patch", "namespaces"))
		Expect(me.mark(ctx, namespace(), "annotations", v1alpha1.AnnotationAllowFrom, "everybody")).To(refusedBy("grants", message))
	})
})

var _ = Describe("The Lease of the leader", func() {
	It("is written by the manager alone, but for who asks for a drain", func(ctx context.Context) {
		w := newWorldWithoutCRD(ctx)
		operator := &user{name: w.id + "-operator", client: as(w.id + "-operator")}
		operator.mayIn(ctx, ownNamespace, rule("coordination.k8s.io", "get create update patch delete", "leases"))
		lease := func(name string, holder *string) *coordinationv1.Lease {
			return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: ownNamespace, Name: name}, Spec: coordinationv1.LeaseSpec{HolderIdentity: holder}}
		}
		const message = "who leads is written by the manager alone"
		Expect(operator.client.Create(ctx, lease(drain.LeaseName, new("evil")), client.DryRunAll)).To(refusedBy("leases", message))
		Expect(operator.client.Create(ctx, lease(drain.LeaseName, nil), client.DryRunAll)).To(Succeed(), "orkestra drain makes it where there is none")
		Expect(operator.client.Create(ctx, lease(w.id, new("any")))).To(Succeed(), "another Lease")
		Expect(operator.client.Delete(ctx, lease(w.id, nil))).To(Succeed())

		held := lease(drain.LeaseName, new("leader"))
		Expect(kube.Create(ctx, held)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(kube.Delete(ctx, held)).To(Succeed()) })
		Expect(operator.merge(ctx, held.DeepCopy(), `{"spec":{"holderIdentity":"evil"}}`)).To(refusedBy("leases", message))
		Expect(operator.merge(ctx, held.DeepCopy(), `{"spec":{"renewTime":null,"leaseDurationSeconds":1}}`)).To(refusedBy("leases", message))
		Expect(operator.client.Delete(ctx, held.DeepCopy())).To(refusedBy("leases", message))
		Expect(operator.mark(ctx, held.DeepCopy(), "annotations", v1alpha1.AnnotationDrain, "true")).To(Succeed())
		Expect(operator.mark(ctx, held.DeepCopy(), "annotations", v1alpha1.AnnotationDrain, "")).To(Succeed())
		for _, of := range []string{v1alpha1.AnnotationWebAddress, v1alpha1.AnnotationWebCertificate} {
			Expect(operator.mark(ctx, held.DeepCopy(), "annotations", of, "evil")).To(Or(refusedBy("leases", message), refusedBy("marks", of)), "each of the two refuses it")
		}

		By("the manager")
		me := &user{name: managerAccount, client: as(managerAccount)}
		me.mayIn(ctx, ownNamespace, rule("coordination.k8s.io", "get create update patch", "leases"))
		Expect(me.merge(ctx, held.DeepCopy(), `{"spec":{"holderIdentity":"another"}}`)).To(Succeed())
		Expect(me.mark(ctx, held.DeepCopy(), "annotations", v1alpha1.AnnotationWebAddress, "192.0.2.1:9443")).To(Succeed(), "where it serves the page")
	})
})

var _ = Describe("Revisions and snapshots", func() {
	DescribeTable("are written by the manager alone", func(ctx context.Context, label string) {
		w := newWorld(ctx)
		tenant := w.tenant(ctx)
		const message = "revisions of boxes and snapshots of resources are written by the manager alone"
		revision := func(name, label string) *appsv1.ControllerRevision {
			r := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}, Revision: 1, Data: runtime.RawExtension{Raw: []byte(`{"a":"b"}`)}}
			if label != "" {
				r.Labels = map[string]string{label: "true"}
			}
			return r
		}
		Expect(tenant.client.Create(ctx, revision("forged", label))).To(Or(refusedBy("revisions", message), refusedBy("marks", label)))
		Expect(kube.Create(ctx, revision("real", label))).To(Succeed())
		Expect(tenant.merge(ctx, revision("real", ""), `{"revision":7}`)).To(refusedBy("revisions", message))
		Expect(tenant.client.Delete(ctx, revision("real", ""))).To(refusedBy("revisions", message))
		Expect(tenant.client.DeleteAllOf(ctx, &appsv1.ControllerRevision{}, client.InNamespace(w.namespace))).To(refusedBy("revisions", message))
		Expect(tenant.client.Create(ctx, revision("theirs", ""))).To(Succeed(), "those of workloads are no matter of ours")
		Expect(tenant.client.Delete(ctx, revision("theirs", ""))).To(Succeed())

		By("a box by its account, and the manager")
		account := "system:serviceaccount:" + w.namespace + ":mine"
		boxed := &user{name: account, client: as(account, forBox("mine"))}
		boxed.mayIn(ctx, w.namespace, rule("apps", "create patch delete", "controllerrevisions"))
		Expect(boxed.client.Create(ctx, revision("forged", label))).To(refusedBy("revisions", message))
		me := &user{name: managerAccount, client: as(managerAccount)}
		me.mayIn(ctx, w.namespace, rule("apps", "create patch delete", "controllerrevisions"))
		Expect(me.client.Create(ctx, revision("made", label))).To(Succeed())
		Expect(me.merge(ctx, revision("made", ""), `{"revision":7}`)).To(Succeed())
		Expect(me.client.Delete(ctx, revision("made", ""))).To(Succeed())

		By("the garbage collector, and who deletes a namespace")
		Expect(as(collector).Delete(ctx, revision("real", ""), client.DryRunAll)).To(Succeed())
		Expect(as("system:serviceaccount:kube-system:namespace-controller").Delete(ctx, revision("real", ""), client.DryRunAll)).To(Succeed())
	},
		Entry("of a box", v1alpha1.LabelRevisionOf),
		Entry("of a resource", v1alpha1.LabelSnapshot),
	)
})
