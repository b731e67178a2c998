package metrics

import (
	"runtime"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestRegisterProcess(t *testing.T) {
	g := NewWithT(t)
	registry, elected := prometheus.NewPedanticRegistry(), make(chan struct{})
	renewed := time.UnixMilli(1_700_000_000_250)
	lead := Lead{Elected: elected, Renewed: func() time.Time { return renewed }}
	g.Expect(RegisterProcess(registry, Build{Version: "v1", Commit: "abc"}, lead)).To(Succeed())
	leads := func(n, heartbeat string) {
		t.Helper()
		g.Expect(testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP orkestra_leader 1 where the process leads, and so writes; 0 where it stands by
# TYPE orkestra_leader gauge
orkestra_leader `+n+`
`+heartbeat), "orkestra_leader", "orkestra_leader_heartbeat_timestamp_seconds")).To(Succeed())
	}
	leads("0", "")
	close(elected)
	const help = "# HELP orkestra_leader_heartbeat_timestamp_seconds When the process that leads last renewed its lease; not there where it stands by\n" +
		"# TYPE orkestra_leader_heartbeat_timestamp_seconds gauge\norkestra_leader_heartbeat_timestamp_seconds "
	leads("1", help+"1.70000000025e+09\n")
	renewed = renewed.Add(2 * time.Second)
	leads("1", help+"1.70000000225e+09\n")
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
	g.Expect(RegisterProcess(registry, Build{}, Lead{})).To(MatchError(ContainSubstring("registering metrics of the process")))
	registry.Unregister(other)
	g.Expect(RegisterProcess(registry, Build{}, Lead{})).To(Succeed(), "the first try left nothing behind")
}
