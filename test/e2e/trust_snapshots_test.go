package e2e_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/rollback"
)

var _ = Describe("Snapshots in the namespace of the manager", func() {
	var w *world
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		w.running(ctx, w.box(ctx, "rollback: {trigger: {consecutiveFailures: 1}}\n"+steps))
		w.labeled(ctx, "web", goodSteps, "one")
		w.settled(ctx, "web")
		Eventually(func(g Gomega) { g.Expect(w.snapshots(ctx, g)).To(HaveLen(1)) }).WithContext(ctx).Should(Succeed())
	})

	It("are not shown to who may read the namespace of the resource", func(ctx context.Context) {
		var beside appsv1.ControllerRevisionList
		Expect(kube.List(ctx, &beside, client.InNamespace(w.namespace))).To(Succeed())
		Expect(beside.Items).To(BeEmpty())
		Expect(w.snapshots(ctx, Default)[0].OwnerReferences).To(BeEmpty())
	})

	It("count for nothing when the key is lost, which the resource says, and are taken anew", func(ctx context.Context) {
		kept := w.snapshots(ctx, Default)[0]
		manager.stop()
		key := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ownNamespace, Name: rollback.KeySecret}}
		Expect(kube.Delete(ctx, key)).To(Succeed())
		w.labeled(ctx, "web", badSteps, "two") // before the next process can take one anew
		manager = startManager(cluster.Config())
		w.shows(ctx, "web", v1alpha1.ConditionRolledBack, metav1.ConditionFalse, v1alpha1.ReasonSnapshotRefused,
			`ControllerRevision "`+kept.Name+`" can't be trusted: its signature is not that of the key in Secret `+ownNamespace+"/"+rollback.KeySecret)
		Expect(kube.Get(ctx, client.ObjectKeyFromObject(key), key)).To(Succeed(), "another one was made")

		w.labeled(ctx, "web", goodSteps, "three")
		w.settled(ctx, "web")
		Eventually(func(g Gomega) {
			g.Expect(w.snapshots(ctx, g)).To(And(HaveLen(1), Not(ContainElement(HaveField("Name", kept.Name)))))
		}).WithContext(ctx).Should(Succeed())
		w.labeled(ctx, "web", badSteps, "four")
		w.rolledBack(ctx, "web", "the children are those of generation 3")
	})

	It("count again when they and the key are restored from a backup", func(ctx context.Context) {
		kept := w.snapshots(ctx, Default)[0]
		key := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ownNamespace, Name: rollback.KeySecret}}
		Expect(kube.Get(ctx, client.ObjectKeyFromObject(key), key)).To(Succeed())
		manager.stop()
		for _, obj := range []client.Object{key, &kept} {
			Expect(kube.Delete(ctx, obj)).To(Succeed())
			obj.SetUID("")
			obj.SetResourceVersion("")
			Expect(kube.Create(ctx, obj)).To(Succeed())
		}
		w.labeled(ctx, "web", badSteps, "two") // before the next process can take one anew
		manager = startManager(cluster.Config())
		w.rolledBack(ctx, "web", "the children are those of generation 1")
		w.firstHolds(ctx, "web", "good", "one")
	})

	It("are not kept while the Secret holds no key, which the resource says", func(ctx context.Context) {
		manager.stop()
		key := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ownNamespace, Name: rollback.KeySecret}}
		Expect(kube.Delete(ctx, key)).To(Succeed())
		Expect(kube.Create(ctx, key.DeepCopy())).To(Succeed())
		manager = startManager(cluster.Config())
		w.labeled(ctx, "web", `{image: "second", port: 80}`, "one")
		w.shows(ctx, "web", v1alpha1.ConditionRolledBack, metav1.ConditionFalse, v1alpha1.ReasonSnapshotFailed,
			"Secret "+ownNamespace+"/"+rollback.KeySecret+": data.key has 0 bytes, and a key has at least 32: restore the Secret, or delete it")
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonReconcileSucceeded, "")
		Expect(kube.Delete(ctx, key)).To(Succeed())
		w.shows(ctx, "web", v1alpha1.ConditionRolledBack, metav1.ConditionFalse, v1alpha1.ReasonSettled, "")
	})

	It("go with the resource, also where nobody saw it go, and with the box", func(ctx context.Context) {
		Expect(kube.Delete(ctx, w.ref("web"))).To(Succeed())
		Eventually(func(g Gomega) { g.Expect(w.snapshots(ctx, g)).To(BeEmpty()) }).WithContext(ctx).Should(Succeed())

		w.labeled(ctx, "unseen", goodSteps, "one")
		w.settled(ctx, "unseen")
		Eventually(func(g Gomega) { g.Expect(w.snapshots(ctx, g)).To(HaveLen(1)) }).WithContext(ctx).Should(Succeed())
		manager.stop()
		w.merge(ctx, w.ref("unseen"), `{"metadata":{"finalizers":null}}`)
		Expect(kube.Delete(ctx, w.ref("unseen"))).To(Succeed())
		w.gone(ctx, w.ref("unseen"), "unseen")
		manager = startManager(cluster.Config())
		Eventually(func(g Gomega) { g.Expect(w.snapshots(ctx, g)).To(BeEmpty()) }).WithContext(ctx).Should(Succeed())

		w.labeled(ctx, "stays", goodSteps, "one")
		w.settled(ctx, "stays")
		Eventually(func(g Gomega) { g.Expect(w.snapshots(ctx, g)).To(HaveLen(1)) }).WithContext(ctx).Should(Succeed())
		deleteBox(ctx, w.id)
		boxGone(ctx, w.id)
		Eventually(func(g Gomega) { g.Expect(w.snapshots(ctx, g)).To(BeEmpty()) }).WithContext(ctx).Should(Succeed())
	})

	It("of a version without a key are signed once, whenever the process that does it ends", func(ctx context.Context) {
		manager.stop()
		former := w.unsign(ctx, w.snapshots(ctx, Default)[0])
		w.labeled(ctx, "web", badSteps, "two") // nothing succeeds, so that none can be taken anew
		manager = startManager(cluster.Config())
		w.rolledBack(ctx, "web", "the children are those of generation 1")
		w.firstHolds(ctx, "web", "good", "one")
		Eventually(func(g Gomega) {
			var beside appsv1.ControllerRevisionList
			g.Expect(kube.List(ctx, &beside, client.InNamespace(w.namespace))).To(Succeed())
			g.Expect(beside.Items).To(BeEmpty())
			g.Expect(w.snapshots(ctx, g)).To(ConsistOf(HaveField("Name", HavePrefix(former.Name))))
		}).WithContext(ctx).Should(Succeed())
		w.unlisted(ctx, "web")

		By("ending between the copy and the deletion of the original")
		manager.stop()
		Expect(kube.Create(ctx, former.DeepCopy(), client.FieldOwner(v1alpha1.FieldManager))).To(Succeed())
		w.lists(ctx, "web", hashOf(former))
		manager = startManager(cluster.Config())
		w.gone(ctx, &appsv1.ControllerRevision{}, former.Name)
		Expect(w.snapshots(ctx, Default)).To(HaveLen(1))
		w.unlisted(ctx, "web")

		By("ending before the list is taken off")
		manager.stop()
		w.lists(ctx, "web", hashOf(former))
		manager = startManager(cluster.Config())
		w.unlisted(ctx, "web")
		w.rolledBack(ctx, "web", "the children are those of generation 1")
	})
})

// lists writes the list of snapshots among the marks of a resource, as versions without a key did.
func (w *world) lists(ctx context.Context, name, hashes string) {
	GinkgoHelper()
	stored, marked := w.get(ctx, Default, name), w.ref(name)
	annotations := map[string]string{}
	for k, v := range stored.GetAnnotations() {
		if strings.HasPrefix(k, v1alpha1.GroupName+"/") {
			annotations[k] = v
		}
	}
	annotations[v1alpha1.AnnotationSnapshots] = hashes
	marked.SetAnnotations(annotations)
	marked.SetLabels(map[string]string{v1alpha1.LabelManaged: v1alpha1.True})
	marked.SetFinalizers(stored.GetFinalizers())
	Expect(kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(marked), client.FieldOwner(v1alpha1.FieldManagerMarks), client.ForceOwnership)).To(Succeed())
}

// unlisted waits until the resource has no list of snapshots any more.
func (w *world) unlisted(ctx context.Context, name string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(w.get(ctx, g, name).GetAnnotations()).NotTo(HaveKey(v1alpha1.AnnotationSnapshots))
	}).WithContext(ctx).Should(Succeed())
}

// unsign makes a snapshot one of a version that had no key: beside the resource, owned by it, and listed on it.
func (w *world) unsign(ctx context.Context, kept appsv1.ControllerRevision) *appsv1.ControllerRevision {
	GinkgoHelper()
	web := w.get(ctx, Default, "web")
	former := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Labels: kept.Labels,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: web.GetAPIVersion(), Kind: web.GetKind(), Name: "web", UID: web.GetUID(), Controller: new(true)}},
		},
		Revision: kept.Revision,
	}
	former.Data.Raw = bytes.Clone(kept.Data.Raw)
	hash := hashOf(former)
	former.Name = "web-" + hash[:10]
	Expect(strings.HasPrefix(kept.Name, former.Name)).To(BeTrue())
	Expect(kube.Create(ctx, former.DeepCopy(), client.FieldOwner(v1alpha1.FieldManager))).To(Succeed())
	Expect(kube.Delete(ctx, &kept)).To(Succeed())
	w.lists(ctx, "web", hash)
	return former
}

// hashOf is the hash of all that a snapshot holds.
func hashOf(snapshot *appsv1.ControllerRevision) string {
	GinkgoHelper()
	var data map[string]any
	Expect(json.Unmarshal(snapshot.Data.Raw, &data)).To(Succeed())
	content, err := json.Marshal([]any{snapshot.Labels[v1alpha1.LabelOwnerUID], snapshot.Revision, data})
	Expect(err).NotTo(HaveOccurred())
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
