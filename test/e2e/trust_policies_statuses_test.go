package e2e_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var _ = Describe("What Orkestra says of boxes and of health", func() {
	var w *world
	var writer *user
	var box *v1alpha1.OperatorBox
	var health *v1alpha1.CRDHealth
	rights := []string{"crdhealths", "crdhealths/status", "operatorboxes", "operatorboxes/status"}
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{data: {a: b}}]}}`))
		inState(ctx, w.id, v1alpha1.HealthHealthy, v1alpha1.ReasonHealthy)
		box, health = &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: w.id}}, &v1alpha1.CRDHealth{ObjectMeta: metav1.ObjectMeta{Name: w.id}}
		writer = &user{name: w.id + "-writer", client: as(w.id + "-writer")}
		writer.may(ctx, rule(v1alpha1.GroupName, "patch get list create update delete deletecollection", rights...))
	})
	// says sends a merge patch of the status.
	says := func(ctx context.Context, u *user, obj client.Object, patch string) error {
		return u.client.Status().Patch(ctx, obj, client.RawPatch("application/merge-patch+json", []byte(patch)))
	}
	const (
		pin    = `{"status":{"serviceAccount":{"name":"a","namespace":"b","uid":"c"}}}`
		praise = `{"status":{"successCount":7}}`
	)

	It("is written by the manager alone", func(ctx context.Context) {
		ofBox, ofHealth := "the status of OperatorBox "+w.id+" is written by the manager alone", "the status of CRDHealth "+w.id+" is written by the manager alone"
		Expect(says(ctx, writer, box.DeepCopy(), pin)).To(refusedBy("statuses", ofBox))
		Expect(says(ctx, writer, health.DeepCopy(), praise)).To(refusedBy("statuses", ofHealth))
		live := getBox(ctx, Default, w.id)
		live.Status.Revision = "forged"
		Expect(writer.client.Status().Update(ctx, live)).To(refusedBy("statuses", ofBox))
		judged := getHealth(ctx, Default, w.id)
		judged.Status.State = v1alpha1.HealthDegraded
		Expect(writer.client.Status().Update(ctx, judged)).To(refusedBy("statuses", ofHealth))

		By("a box by its account, also by the manager's own")
		for _, account := range []string{"system:serviceaccount:" + w.namespace + ":mine", managerAccount} {
			boxed := &user{name: account, client: as(account, forBox(w.id))}
			boxed.may(ctx, rule(v1alpha1.GroupName, "patch get", rights...))
			Expect(says(ctx, boxed, box.DeepCopy(), pin)).To(refusedBy("statuses", ofBox))
			Expect(says(ctx, boxed, health.DeepCopy(), praise)).To(refusedBy("statuses", ofHealth))
		}

		By("the manager, and who may restore what Orkestra has marked")
		me := &user{name: managerAccount, client: as(managerAccount)}
		Expect(me.client.Status().Patch(ctx, box.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(pin)), client.DryRunAll)).To(Succeed())
		Expect(me.client.Status().Patch(ctx, health.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(praise)), client.DryRunAll)).To(Succeed())
		writer.may(ctx, rule(v1alpha1.GroupName, "restore", "operatorboxes/marks"))
		Expect(writer.client.Status().Patch(ctx, health.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(praise)), client.DryRunAll)).To(Succeed())
	})

	It("is a CRDHealth for each box, which nobody else changes or deletes", func(ctx context.Context) {
		message := "CRDHealth " + w.id + " belongs to a box, and is written by the manager alone"
		for _, patch := range []string{
			`{"spec":{"crd":{"name":"others.e2e.test"}}}`, `{"spec":{"operatorBoxRef":null}}`,
			`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"gone","uid":"gone"}]}}`, `{"metadata":{"finalizers":["e2e.test/held"]}}`,
		} {
			Expect(writer.merge(ctx, health.DeepCopy(), patch)).To(refusedBy("statuses", message), patch)
		}
		Expect(writer.client.Delete(ctx, health.DeepCopy())).To(refusedBy("statuses", message))
		Expect(writer.client.DeleteAllOf(ctx, health.DeepCopy(), client.MatchingFields{"metadata.name": w.id})).To(refusedBy("statuses", message))
		Expect(writer.mark(ctx, health.DeepCopy(), "labels", "team", "a")).To(Succeed(), "a label says nothing of health")

		By("the garbage collector, when the box is gone")
		Expect(as(collector).Delete(ctx, health.DeepCopy(), client.DryRunAll)).To(Succeed())
		deleteBox(ctx, w.id)
		boxGone(ctx, w.id)
	})

	It("leaves people a CRDHealth for a CRD that another operator runs, but for its status", func(ctx context.Context) {
		made := &v1alpha1.CRDHealth{ObjectMeta: metav1.ObjectMeta{Name: w.id + "-theirs"}, Spec: v1alpha1.CRDHealthSpec{CRD: v1alpha1.CRDName{Name: w.crdName()}}}
		refused := w.crdName() + ", and " + writer.name + " may not list them in all namespaces: bind a ClusterRole with the verb list, or operate, on that resource"
		Expect(writer.client.Create(ctx, made)).To(refusedBy("health-crd", "the CRDHealth shows resources of "+refused))
		By("a right in one namespace, which is not enough: a CRDHealth shows resources of all of them")
		writer.mayIn(ctx, w.namespace, rule(w.group, "list operate", "websites"))
		Expect(writer.client.Create(ctx, made)).To(refusedBy("health-crd", "the CRDHealth shows resources of "+refused))
		stranger := &user{name: w.id + "-stranger", client: as(w.id + "-stranger")}
		stranger.may(ctx, rule(v1alpha1.GroupName, "patch get list create update delete deletecollection", rights...))

		By("the right to list the resources")
		writer.may(ctx, rule(w.group, "list", "websites"))
		Expect(writer.client.Create(ctx, made)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(kube.Delete(ctx, made))).To(Succeed()) })
		inState(ctx, made.Name, v1alpha1.HealthHealthy, v1alpha1.ReasonHealthy)
		Expect(says(ctx, writer, made.DeepCopy(), praise)).To(refusedBy("statuses", "the status of CRDHealth "+made.Name))
		Expect(writer.merge(ctx, made.DeepCopy(), `{"spec":{"healthyWhen":[{"field":"status.phase","equals":"Up"}]}}`)).To(Succeed())

		By("changing or ending that of somebody else, for which other boxes may wait")
		until := "until now the CRDHealth shows resources of " + w.crdName() + ", and " + stranger.name + " may not list them"
		other := newWorld(ctx)
		stranger.may(ctx, rule(other.group, "operate", "websites"))
		Expect(stranger.merge(ctx, made.DeepCopy(), `{"spec":{"crd":{"name":"`+other.crdName()+`"}}}`)).To(refusedBy("health-crd", until))
		Expect(stranger.merge(ctx, made.DeepCopy(), `{"spec":{"healthyWhen":[{"field":"spec.text","equals":"guess"}]}}`)).To(refusedBy("health-crd", ""))
		Expect(stranger.client.Delete(ctx, made.DeepCopy())).To(refusedBy("health-crd", until))
		Expect(stranger.mark(ctx, made.DeepCopy(), "labels", "team", "a")).To(Succeed())

		By("giving it out as a box's")
		message := "belongs to a box, and is written by the manager alone"
		forged := &v1alpha1.CRDHealth{ObjectMeta: metav1.ObjectMeta{Name: w.id + "-forged"}, Spec: v1alpha1.CRDHealthSpec{
			CRD: made.Spec.CRD, OperatorBoxRef: &v1alpha1.OperatorBoxReference{Name: w.id + "-forged"},
		}}
		Expect(writer.client.Create(ctx, forged)).To(refusedBy("statuses", message))
		Expect(writer.merge(ctx, made.DeepCopy(), `{"spec":{"healthyWhen":null,"operatorBoxRef":{"name":"`+made.Name+`"}}}`)).To(refusedBy("statuses", message))

		By("ending it, also one that a person gave out as a box's before there was a rule")
		Expect(writer.client.Delete(ctx, made)).To(Succeed())
		Expect(kube.Create(ctx, forged)).To(Succeed())
		Expect(writer.client.Delete(ctx, forged)).To(Succeed())
	})
})
