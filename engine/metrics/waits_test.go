package metrics

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestTheWaitsOfTenNamespacesAreNamed(t *testing.T) {
	g := NewWithT(t)
	registry := prometheus.NewPedanticRegistry()
	r, err := New(registry)
	g.Expect(err).NotTo(HaveOccurred())
	var want strings.Builder
	want.WriteString("# HELP orkestra_queue_namespace_wait_seconds How long the resource has waited that has waited longest, for the ten namespaces that wait longest; without a namespace: of all others. Boxes without queue.fairness: Namespace have none\n# TYPE orkestra_queue_namespace_wait_seconds gauge\n")
	var all []Wait
	for n := range 1000 {
		all = append(all, Wait{Namespace: fmt.Sprintf("n%d", n), Longest: time.Duration(2000-n) * time.Second})
		switch {
		case n < 10:
			fmt.Fprintf(&want, "orkestra_queue_namespace_wait_seconds{box=\"many\",namespace=\"n%d\"} %d\n", n, 2000-n)
		case n == 10:
			fmt.Fprintf(&want, "orkestra_queue_namespace_wait_seconds{box=\"many\",namespace=\"\"} %d\n", 2000-n)
		}
	}
	r.MeasureWaits("many", func() ([]Wait, bool) { return all, true })
	r.MeasureWaits("without", func() ([]Wait, bool) { return all, false })
	r.MeasureWaits("idle", func() ([]Wait, bool) { return nil, true })
	g.Expect(testutil.GatherAndCompare(registry, strings.NewReader(want.String()), "orkestra_queue_namespace_wait_seconds")).To(Succeed())
}
