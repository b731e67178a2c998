package e2e_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/controllers/drain"
)

var _ = Describe("The page on troubleshooting", func() {
	It("says how to see that no manager runs", func(ctx context.Context) {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", "how-to", "troubleshoot.md"))
		Expect(err).NotTo(HaveOccurred())
		found := regexp.MustCompile("(?s)## Is a manager at work\\?\n.*?```sh\nkubectl ([^\n]*)\n```").FindStringSubmatch(string(text))
		Expect(found).NotTo(BeEmpty(), "one command")
		command := strings.Fields(strings.Replace(found[1], "orkestra-system", ownNamespace, 1))
		shown := func(g Gomega) []string {
			out, err := cluster.Kubectl(ctx, command...)
			g.Expect(err).NotTo(HaveOccurred())
			GinkgoWriter.Println(out)
			lines := strings.Split(strings.TrimSpace(out), "\n")
			g.Expect(lines).To(HaveLen(2))
			g.Expect(strings.Fields(lines[0])).To(Equal([]string{"HOLDER", "RENEWED"}))
			return strings.Fields(lines[1])
		}
		DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(kube.Delete(ctx, lease()))).To(Succeed()) })
		replaceManager(func(s *settings) {
			s.manager.LeaderElection, s.manager.LeaderElectionID, s.manager.LeaderElectionNamespace = true, drain.LeaseName, ownNamespace
			s.manager.LeaderElectionReleaseOnCancel = true
			s.manager.LeaseDuration, s.manager.RenewDeadline, s.manager.RetryPeriod = new(3*time.Second), new(2*time.Second), new(200*time.Millisecond)
		})
		var first string
		Eventually(func(g Gomega) {
			columns := shown(g)
			g.Expect(columns).To(HaveLen(2), "somebody holds it")
			first = columns[1]
		}).WithContext(ctx).Should(Succeed())
		Eventually(func(g Gomega) { g.Expect(shown(g)[1]).NotTo(Equal(first), "it is renewed") }).WithContext(ctx).Should(Succeed())

		By("stopping the manager")
		manager.stop()
		DeferCleanup(func() { manager = startManager(cluster.Config()) })
		columns := shown(Default)
		Expect(columns).To(HaveLen(1), "nobody holds it")
		_, err = time.Parse(time.RFC3339Nano, columns[0])
		Expect(err).NotTo(HaveOccurred(), "that is when it was last held")
	})
})
