package e2e_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/rollback"
)

var _ = Describe("The page on the key of snapshots", func() {
	It("works as it is written: backup, restore, and another namespace", func(ctx context.Context) {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations", "snapshots.md"))
		Expect(err).NotTo(HaveOccurred())
		blocks := map[string][]string{} // by the heading that they stand under
		for _, section := range strings.Split(string(text), "\n## ")[1:] {
			heading, _, _ := strings.Cut(section, "\n")
			for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(section, -1) {
				blocks[heading] = append(blocks[heading], block[1])
			}
		}
		w := newWorld(ctx)
		platform := "platform-" + w.id
		Expect(kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: platform}})).To(Succeed())
		folder := GinkgoT().TempDir()
		follow := func(heading string, n int) {
			GinkgoHelper()
			Expect(len(blocks[heading])).To(BeNumerically(">", n), heading)
			// The manager is a part of this process, and no Deployment.
			Expect(cluster.Script(ctx, folder, strings.ReplaceAll(blocks[heading][n], "platform", platform), "scale", "rollout")).To(Succeed())
		}
		w.running(ctx, w.box(ctx, "rollback: {trigger: {consecutiveFailures: 1}}\n"+steps))
		w.labeled(ctx, "web", goodSteps, "one")
		w.settled(ctx, "web")
		Eventually(func(g Gomega) { g.Expect(w.snapshots(ctx, g)).To(HaveLen(1)) }).WithContext(ctx).Should(Succeed())

		By("losing the key and the snapshots, and restoring them")
		follow("Backup", 0)
		manager.stop()
		kept := w.snapshots(ctx, Default)[0]
		Expect(kube.Delete(ctx, &kept)).To(Succeed())
		w.labeled(ctx, "web", badSteps, "two") // before the next process can take one anew
		follow("Restore", 0)
		manager = startManager(cluster.Config())
		w.rolledBack(ctx, "web", "the children are those of generation 1")

		By("losing the key alone, and rotating it in this way")
		follow("Rotation", 0)
		manager.stop()
		w.labeled(ctx, "web", goodSteps, "three")
		manager = startManager(cluster.Config())
		w.settled(ctx, "web")
		Eventually(func(g Gomega) {
			g.Expect(w.snapshots(ctx, g)).To(And(HaveLen(1), Not(ContainElement(HaveField("Name", kept.Name)))))
		}).WithContext(ctx).Should(Succeed())
		kept = w.snapshots(ctx, Default)[0]

		By("starting in another namespace without them")
		inPlatform := func(s *settings) { s.orkestra.Namespace = platform }
		DeferCleanup(func() {
			manager.stop()
			manager = startManager(cluster.Config())
		})
		manager.stop()
		w.labeled(ctx, "web", badSteps, "four")
		manager = startManager(cluster.Config(), inPlatform)
		w.shows(ctx, "web", v1alpha1.ConditionRolledBack, metav1.ConditionFalse, v1alpha1.ReasonSnapshotRefused,
			`ControllerRevision "`+kept.Name+`" can't be trusted: it is in namespace "`+ownNamespace+`", and this manager keeps them in "`+platform+`": copy it there with the key, or mend the spec`)

		By("taking them along")
		manager.stop()
		Expect(kube.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: platform, Name: rollback.KeySecret}})).To(Succeed())
		follow("Another namespace", 0)
		follow("Another namespace", 1)
		Expect(w.snapshots(ctx, Default)).To(BeEmpty())
		manager = startManager(cluster.Config(), inPlatform)
		w.rolledBack(ctx, "web", "the children are those of generation 3")
		w.firstHolds(ctx, "web", "good", "three")
	})
})
