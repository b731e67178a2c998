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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var _ = Describe("A snapshot that somebody forged", func() {
	var w *world
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		w.running(ctx, w.box(ctx, "rollback: {trigger: {consecutiveFailures: 1}}\n"+steps))
		w.labeled(ctx, "web", goodSteps, "one")
		w.settled(ctx, "web")
	})

	It("is not believed: what Orkestra took is gone back to", func(ctx context.Context) {
		w.forge(ctx, w.snapshots(ctx, Default)[0], `"image":"good"`, `"image":"evil"`)
		w.labeled(ctx, "web", badSteps, "two")
		w.rolledBack(ctx, "web", "the children are those of generation 1")
		w.firstHolds(ctx, "web", "good", "one")
	})

	It("is named where what Orkestra took is gone, and nothing is gone back to", func(ctx context.Context) {
		taken := w.snapshots(ctx, Default)[0]
		forged := w.forge(ctx, taken, `"image":"good"`, `"image":"evil"`)
		Expect(kube.Delete(ctx, &taken)).To(Succeed())
		w.labeled(ctx, "web", badSteps, "two")
		w.shows(ctx, "web", v1alpha1.ConditionRolledBack, metav1.ConditionFalse, v1alpha1.ReasonSnapshotRefused,
			`ControllerRevision "`+forged.Name+`" can't be trusted: its hash is not in the annotation `+v1alpha1.AnnotationSnapshots)
		w.firstHolds(ctx, "web", "bad", "two")
		w.warned(ctx, "web", v1alpha1.ReasonSnapshotRefused, forged.Name)
	})

	It("goes when the next generation succeeds, and the list is as long as there are snapshots", func(ctx context.Context) {
		forged := w.forge(ctx, w.snapshots(ctx, Default)[0], `"image":"good"`, `"image":"evil"`)
		for _, image := range []string{"second", "third", "fourth"} {
			w.labeled(ctx, "web", `{image: "`+image+`", port: 80}`, "two")
			w.firstHolds(ctx, "web", image, "two")
			w.settled(ctx, "web")
		}
		kept := w.snapshots(ctx, Default)
		Expect(kept).To(HaveLen(2))
		Expect(kept).NotTo(ContainElement(HaveField("Name", forged.Name)))
		Expect(strings.Split(w.get(ctx, Default, "web").GetAnnotations()[v1alpha1.AnnotationSnapshots], ",")).To(HaveLen(2))
		w.labeled(ctx, "web", badSteps, "three")
		w.rolledBack(ctx, "web", "the children are those of generation 4")
		w.firstHolds(ctx, "web", "fourth", "two")
	})

	It("is no more believed where a version before the list took the others; these are taken anew", func(ctx context.Context) {
		manager.stop()
		before := w.snapshots(ctx, Default)[0]
		newer := w.forge(ctx, before, `"image":"good"`, `"image":"older"`)
		w.merge(ctx, w.ref("web"), `{"metadata":{"annotations":{"`+v1alpha1.AnnotationSnapshots+`":null}}}`)

		manager = startManager(cluster.Config())
		Eventually(func(g Gomega) {
			g.Expect(w.get(ctx, g, "web").GetAnnotations()).To(HaveKeyWithValue(v1alpha1.AnnotationSnapshots, HavePrefix(strings.TrimPrefix(before.Name, "web-"))))
			g.Expect(w.snapshots(ctx, g)).To(ConsistOf(HaveField("Name", before.Name)), newer.Name+" was not taken from what succeeds")
		}).WithContext(ctx).Should(Succeed())
		w.labeled(ctx, "web", badSteps, "two")
		w.rolledBack(ctx, "web", "the children are those of generation 1")
		w.firstHolds(ctx, "web", "good", "one")
	})
})

// forge makes another snapshot of the same resource, newer and with other content, as somebody can who may write ControllerRevisions:
// its name has the hash of what it holds.
func (w *world) forge(ctx context.Context, kept appsv1.ControllerRevision, from, to string) *appsv1.ControllerRevision {
	GinkgoHelper()
	forged := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Namespace: kept.Namespace, Labels: kept.Labels, OwnerReferences: kept.OwnerReferences}, Revision: kept.Revision + 1,
	}
	forged.Data.Raw = bytes.ReplaceAll(kept.Data.Raw, []byte(from), []byte(to))
	Expect(forged.Data.Raw).NotTo(Equal(kept.Data.Raw))
	var data map[string]any
	Expect(json.Unmarshal(forged.Data.Raw, &data)).To(Succeed())
	content, err := json.Marshal([]any{kept.Labels[v1alpha1.LabelOwnerUID], forged.Revision, data})
	Expect(err).NotTo(HaveOccurred())
	sum := sha256.Sum256(content)
	forged.Name = kept.Name[:strings.LastIndex(kept.Name, "-")+1] + hex.EncodeToString(sum[:])[:10]
	Expect(kube.Create(ctx, forged, client.FieldOwner(v1alpha1.FieldManager))).To(Succeed())
	return forged
}
