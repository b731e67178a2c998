package metrics

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestBoxesWithAutoscaleHaveSeriesOfIt(t *testing.T) {
	g := NewWithT(t)
	registry := prometheus.NewPedanticRegistry()
	r, err := New(registry)
	g.Expect(err).NotTo(HaveOccurred())
	r.MeasureAutoscale("without", func() (bool, string, int, bool) { return false, "", 0, false })
	r.MeasureAutoscale("calm", func() (bool, string, int, bool) { return false, "time.hour", 2, true })
	r.MeasureAutoscale("busy", func() (bool, string, int, bool) { return true, "status.queueDepth, time.hour", 3, true })
	g.Expect(testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP orkestra_autoscale_active 1 while autoscale has replaced limits of a box, 0 while they are those of its spec; boxes without autoscale have none. The reason lists every field that the conditions read, such as status.queueDepth, time.hour, whether or not it decided; the values are in CRDHealth
# TYPE orkestra_autoscale_active gauge
orkestra_autoscale_active{box="busy",reason="status.queueDepth, time.hour"} 1
orkestra_autoscale_active{box="calm",reason="time.hour"} 0
# HELP orkestra_autoscale_changes_total How often autoscale has changed the limits of a box, in both directions
# TYPE orkestra_autoscale_changes_total counter
orkestra_autoscale_changes_total{box="busy"} 3
orkestra_autoscale_changes_total{box="calm"} 2
`), "orkestra_autoscale_active", "orkestra_autoscale_changes_total")).To(Succeed())
}
