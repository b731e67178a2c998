package e2e_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/rollback"
)

var _ = Describe("A snapshot that somebody forged", func() {
	var w *world
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		w.running(ctx, w.box(ctx, "rollback: {trigger: {consecutiveFailures: 1}}\n"+steps))
		w.labeled(ctx, "web", goodSteps, "one")
		w.settled(ctx, "web")
	})

	It("is named, nothing is gone back to, and it goes when the next generation succeeds", func(ctx context.Context) {
		forged := w.forge(ctx, w.snapshots(ctx, Default)[0], `"image":"good"`, `"image":"evil"`)
		w.labeled(ctx, "web", badSteps, "two")
		w.shows(ctx, "web", v1alpha1.ConditionRolledBack, metav1.ConditionFalse, v1alpha1.ReasonSnapshotRefused,
			`ControllerRevision "`+forged.Name+`" can't be trusted: its signature is not that of the key in Secret `+ownNamespace+"/"+rollback.KeySecret)
		w.firstHolds(ctx, "web", "bad", "two")
		w.warned(ctx, "web", v1alpha1.ReasonSnapshotRefused, forged.Name)

		for _, image := range []string{"second", "third", "fourth"} {
			w.labeled(ctx, "web", `{image: "`+image+`", port: 80}`, "two")
			w.firstHolds(ctx, "web", image, "two")
			w.settled(ctx, "web")
		}
		Eventually(func(g Gomega) {
			g.Expect(w.snapshots(ctx, g)).To(And(HaveLen(2), Not(ContainElement(HaveField("Name", forged.Name)))))
		}).WithContext(ctx).Should(Succeed())
		w.labeled(ctx, "web", badSteps, "three")
		w.rolledBack(ctx, "web", "the children are those of generation 5")
		w.firstHolds(ctx, "web", "fourth", "two")
	})

	It("is not believed of another resource", func(ctx context.Context) {
		w.labeled(ctx, "other", `{image: "others", port: 80}`, "one")
		w.settled(ctx, "other")
		Eventually(func(g Gomega) { g.Expect(w.snapshots(ctx, g)).To(HaveLen(2)) }).WithContext(ctx).Should(Succeed())
		var replayed appsv1.ControllerRevision
		for _, s := range w.snapshots(ctx, Default) {
			if bytes.Contains(s.Data.Raw, []byte(`"others"`)) {
				replayed = s
			}
		}
		labels := maps.Clone(replayed.Labels)
		labels[v1alpha1.LabelOwnerUID] = string(w.get(ctx, Default, "web").GetUID())
		replayed.ObjectMeta = metav1.ObjectMeta{Namespace: ownNamespace, Name: "web-replayed", Labels: labels, Annotations: replayed.Annotations}
		replayed.Revision = 99
		Expect(kube.Create(ctx, &replayed, client.FieldOwner(v1alpha1.FieldManager))).To(Succeed())
		w.labeled(ctx, "web", badSteps, "two")
		w.shows(ctx, "web", v1alpha1.ConditionRolledBack, metav1.ConditionFalse, v1alpha1.ReasonSnapshotRefused,
			`ControllerRevision "web-replayed" can't be trusted: it is the snapshot of another resource`)
		w.firstHolds(ctx, "web", "bad", "two")
	})
})

// forge makes another snapshot of the same resource, newer and with other content, as somebody can who may write ControllerRevisions:
// its name has the hash of what it holds.
func (w *world) forge(ctx context.Context, kept appsv1.ControllerRevision, from, to string) *appsv1.ControllerRevision {
	GinkgoHelper()
	forged := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Namespace: kept.Namespace, Labels: kept.Labels, Annotations: kept.Annotations}, Revision: kept.Revision + 1,
	}
	forged.Data.Raw = bytes.ReplaceAll(kept.Data.Raw, []byte(from), []byte(to))
	Expect(forged.Data.Raw).NotTo(Equal(kept.Data.Raw))
	var data map[string]any
	Expect(json.Unmarshal(forged.Data.Raw, &data)).To(Succeed())
	content, err := json.Marshal([]any{kept.Labels[v1alpha1.LabelOwnerUID], forged.Revision, data})
	Expect(err).NotTo(HaveOccurred())
	sum := sha256.Sum256(content)
	forged.Name = kept.Name[:strings.LastIndex(kept.Name, "-")+1] + hex.EncodeToString(sum[:])[:32]
	Expect(kube.Create(ctx, forged, client.FieldOwner(v1alpha1.FieldManager))).To(Succeed())
	return forged
}
