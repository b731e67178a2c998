package e2e_test

import (
	"context"
	"os"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
)

var _ = Describe("A manager that is asked to end", func() {
	DescribeTable("ends at once, and logs no error", func(ctx context.Context, asked os.Signal) {
		w := newWorld(ctx)
		replaceManager()
		manager.stop()
		j := &journal{}
		leader := w.startReplica(j, "leader", built.path())
		leader.leads(ctx)
		w.running(ctx, w.box(ctx, oneMap(1, "first")))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		leader.Signal(asked)
		Eventually(leader, patience).Should(gexec.Exit(0))
		logged := string(leader.Err.Contents())
		for line := range strings.SplitSeq(logged, "\n") {
			Expect(line).NotTo(ContainSubstring("\tERROR\t"))
			Expect(line).NotTo(MatchRegexp(`^[EF]\d{4} `), "klog's")
		}
	},
		Entry("by Ctrl-C", os.Interrupt),
		Entry("by the kubelet", syscall.SIGTERM),
	)
})
