package manager

import (
	"context"
	"crypto/tls"
	"math"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"

	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/controllers/drain"
	"github.com/orkspace/orkestra/engine/hook"
	shared "github.com/orkspace/orkestra/test/fixtures"
)

// Without a flag there is no rate of ours, nor client-go's own, which is 5 requests per second.
func TestNoRateByDefault(t *testing.T) {
	for name, tc := range map[string]struct {
		args  []string
		qps   float32
		burst int
	}{
		"default":          {qps: -1},
		"a rate":           {args: []string{"--kube-api-qps=20"}, qps: 20},
		"a rate and burst": {args: []string{"--kube-api-qps=20", "--kube-api-burst=50"}, qps: 20, burst: 50},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			f, cmd := &flags{}, NewCommand(nil, nil)
			cmd.ResetFlags()
			f.bind(cmd)
			g.Expect(cmd.ParseFlags(append(tc.args, "--kubeconfig="+shared.Kubeconfig(t, "https://127.0.0.1:1"), "--context=test"))).To(Succeed())
			config, err := f.restConfig()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(config.QPS).To(Equal(tc.qps))
			g.Expect(config.Burst).To(Equal(tc.burst))
		})
	}
}

// given are the flags of a command line.
func given(t *testing.T, args ...string) *flags {
	t.Helper()
	f, cmd := &flags{}, &cobra.Command{}
	f.bind(cmd)
	NewWithT(t).Expect(cmd.ParseFlags(args)).To(Succeed())
	return f
}

func TestTheManagerRefusesWhatItDoesNotKnow(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		code int
		want string
	}{
		"a level":       {[]string{"--log-level", "loud"}, exit.Usage, `error: --log-level "loud": wanted debug, info or error`},
		"a format":      {[]string{"--log-format", "xml"}, exit.Usage, `error: --log-format "xml": wanted json or text`},
		"an argument":   {[]string{"now"}, exit.Usage, `wanted no argument, got 1: "now"`},
		"no place":      {[]string{"--max-concurrent-reconciles=0", "--kubeconfig=/nowhere"}, exit.Usage, "--max-concurrent-reconciles 0: wanted 1 or more"},
		"a duration":    {[]string{"--shutdown-timeout", "5"}, exit.Usage, "--shutdown-timeout"},
		"no kubeconfig": {[]string{"--kubeconfig", filepath.Join(t.TempDir(), "none")}, exit.No, "error: finding the API server: "},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			stdout, stderr, code := shared.Run(t, NewCommand(nil, nil), "", append([]string{"manager"}, tc.args...)...)
			g.Expect(code).To(Equal(tc.code), stderr)
			g.Expect(stdout).To(BeEmpty())
			g.Expect(stderr).To(ContainSubstring(tc.want))
		})
	}
}

func TestLogLevels(t *testing.T) {
	for args, enabled := range map[string]bool{"--log-level=debug": true, "--log-level=DEBUG": true, "--log-level=info": false, "--log-level=error": false, "--log-format=TEXT": false} {
		t.Run(args, func(t *testing.T) {
			g := NewWithT(t)
			logger, err := given(t, args).Logger()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(logger.V(1).Enabled()).To(Equal(enabled))
			g.Expect(logger.Enabled()).To(Equal(args != "--log-level=error"))
		})
	}
}

// What the flags say is what the manager is made with.
func TestOptionsOfTheManager(t *testing.T) {
	g := NewWithT(t)
	o := given(t).options(logr.Discard())
	g.Expect(o.LeaderElection).To(BeTrue())
	g.Expect(o.LeaderElectionID).To(Equal(drain.LeaseName))
	g.Expect(o.LeaderElectionNamespace).To(Equal("orkestra-system"))
	g.Expect(o.LeaderElectionReleaseOnCancel).To(BeTrue(), "the next one need not wait")
	g.Expect(*o.LeaseDuration).To(Equal(LeaseDuration))
	g.Expect(*o.RenewDeadline).To(BeNumerically("<", LeaseDuration))
	g.Expect(*o.GracefulShutdownTimeout).To(BeNumerically(">", 30*time.Second), "the workers end first")
	g.Expect(o.Metrics.SecureServing).To(BeTrue())
	g.Expect(o.Metrics.FilterProvider).NotTo(BeNil(), "the API server says who may read metrics")
	g.Expect(o.HealthProbeBindAddress).To(Equal(":8081"))
	g.Expect(o.PprofBindAddress).To(BeEmpty(), "controller-runtime would ask nobody who they are")
	g.Expect(o.Metrics.ExtraHandlers).To(HaveKey("/debug/log-level"))
	var served tls.Config
	for _, change := range o.Metrics.TLSOpts {
		change(&served)
	}
	g.Expect(served.NextProtos).To(Equal([]string{"http/1.1"}))

	o = given(t, "--leader-elect=false", "--metrics-secure=false", "--metrics-bind-address=0", "--namespace=mine", "--shutdown-timeout=1s").options(logr.Discard())
	g.Expect(o.LeaderElection).To(BeFalse())
	g.Expect(o.LeaderElectionNamespace).To(Equal("mine"))
	g.Expect(o.Metrics.FilterProvider).To(BeNil())
	g.Expect(o.Metrics.BindAddress).To(Equal("0"))
	g.Expect(*o.GracefulShutdownTimeout).To(Equal(11 * time.Second))
	g.Expect(o.Metrics.ExtraHandlers).To(BeEmpty(), "nobody is asked who they are")
}

// Events about the lease are sent once there is somebody to send them.
func TestEventsOfTheLease(t *testing.T) {
	g := NewWithT(t)
	lock, err := newLeaderLock(&rest.Config{Host: "https://127.0.0.1:1"}, "mine", nowhere)
	g.Expect(err).NotTo(HaveOccurred())
	lock.RecordEvent("became leader") // nobody is told, and nothing breaks
	recorder := events.NewFakeRecorder(1)
	lock.events = recorder
	lock.RecordEvent("became leader")
	g.Expect(recorder.Events).To(Receive(Equal("Normal LeaderElection " + lock.Identity() + " became leader")))
}

func TestTheMemoryLimitIsTheProcess(t *testing.T) {
	g := NewWithT(t)
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	debug.SetMemoryLimit(math.MaxInt64)
	g.Expect(memoryLimit()).To(BeZero(), "none is set")
	debug.SetMemoryLimit(1 << 40)
	g.Expect(memoryLimit()).To(BeEquivalentTo(1 << 40))
}

// TestListFunctions prints what boxes may name, and runs nothing.
func TestListFunctions(t *testing.T) {
	g := NewWithT(t)
	r, err := hook.NewRegistry()
	g.Expect(err).NotTo(HaveOccurred())
	stdout, _, code := shared.Run(t, NewCommand(r, nil), "", "manager", "--list-functions")
	g.Expect(code).To(BeZero())
	g.Expect(stdout).To(Equal("none: boxes can't name Go functions with this manager\n"))
	g.Expect(hook.AddHooks(r, "example.com/op.Hooks", func() hook.Hooks[*corev1.ConfigMap] {
		return hook.Hooks[*corev1.ConfigMap]{OnReconcile: func(context.Context, *hook.Call[*corev1.ConfigMap]) error { return nil }}
	})).To(Succeed())
	stdout, _, code = shared.Run(t, NewCommand(r, nil), "", "manager", "--list-functions")
	g.Expect(code).To(BeZero())
	g.Expect(stdout).To(Equal("hooks        example.com/op.Hooks\n"))
}
