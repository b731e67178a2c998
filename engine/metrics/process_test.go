package metrics

import (
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestRegisterProcess(t *testing.T) {
	g := NewWithT(t)
	registry, elected := prometheus.NewPedanticRegistry(), make(chan struct{})
	g.Expect(RegisterProcess(registry, Build{Version: "v1", Commit: "abc"}, elected)).To(Succeed())
	leads := func(n string) {
		t.Helper()
		g.Expect(testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP orkestra_leader 1 where the process leads, and so writes; 0 where it stands by
# TYPE orkestra_leader gauge
orkestra_leader `+n+`
`), "orkestra_leader")).To(Succeed())
	}
	leads("0")
	close(elected)
	leads("1")
	g.Expect(testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP orkestra_build_info 1, with what the binary was built from as labels
# TYPE orkestra_build_info gauge
orkestra_build_info{commit="abc",go_version="`+runtime.Version()+`",version="v1"} 1
`), "orkestra_build_info")).To(Succeed())
	problems, err := testutil.GatherAndLint(registry)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(problems).To(BeEmpty())
}

func TestRegisterProcessTwice(t *testing.T) {
	g := NewWithT(t)
	registry := prometheus.NewPedanticRegistry()
	other := prometheus.NewGauge(prometheus.GaugeOpts{Name: "orkestra_leader", Help: "1 where the process leads, and so writes; 0 where it stands by"})
	g.Expect(registry.Register(other)).To(Succeed())
	g.Expect(RegisterProcess(registry, Build{}, nil)).To(MatchError(ContainSubstring("registering metrics of the process")))
	registry.Unregister(other)
	g.Expect(RegisterProcess(registry, Build{}, nil)).To(Succeed(), "the first try left nothing behind")
}
