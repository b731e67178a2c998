package manager

import (
	"testing"

	. "github.com/onsi/gomega"

	shared "github.com/orkspace/orkestra/test/fixtures"
)

// Whoever says nothing has no rate of ours, nor client-go's own, which is 5 requests per second.
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
			f, cmd := &flags{}, NewCommand()
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
