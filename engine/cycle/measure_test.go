package cycle

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/metrics"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// measured gives the series of a family by the value of one label: what was counted, or how often something was measured.
func measured(t *testing.T, registry prometheus.Gatherer, family, label string) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	out := map[string]float64{}
	for _, f := range families {
		if f.GetName() != family {
			continue
		}
		for _, m := range f.GetMetric() {
			out[labelOf(m, label)] += m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return out
}

func labelOf(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// TestStagesAreMeasured: each that ran, once, and none where nothing had changed.
func TestStagesAreMeasured(t *testing.T) {
	g := NewWithT(t)
	registry := prometheus.NewPedanticRegistry()
	recorder, err := metrics.New(registry)
	g.Expect(err).NotTo(HaveOccurred())
	r, s, _ := living(t, v1alpha1.OperatorBoxSpec{}, nil)
	r.Metrics = recorder
	key := client.ObjectKeyFromObject(s.resource)
	r.Reconcile(patience(t), key)
	once := measured(t, registry, "orkestra_stage_duration_seconds", "stage")
	g.Expect(once).To(And(HaveKeyWithValue("gather", 1.0), HaveKeyWithValue("metadata", 1.0), HaveKeyWithValue("prune", 1.0), HaveKeyWithValue("status", 1.0)))
	r.states.of(key, "u1").own.version = "" // the cache shows what was written
	r.Reconcile(patience(t), key)
	g.Expect(measured(t, registry, "orkestra_reconcile_total", "result")).To(And(HaveKeyWithValue("skipped", 1.0), HaveKeyWithValue("success", 1.0)))
	g.Expect(measured(t, registry, "orkestra_stage_duration_seconds", "stage")).To(Equal(once))
}

// TestWhatACycleCameToIsCounted: patches apart from children, and the budget that it went over.
func TestWhatACycleCameToIsCounted(t *testing.T) {
	g := NewWithT(t)
	registry := prometheus.NewPedanticRegistry()
	recorder, err := metrics.New(registry)
	g.Expect(err).NotTo(HaveOccurred())
	r, resource := serving(t, v1alpha1.OperatorBoxSpec{}, http.NotFound)
	r.Metrics = recorder
	c := of(t, r, resource, &state{})
	c.record.Run = c.record.Plan.NewRun(resource, c.record.Began, pipeline.Ports{})
	c.record.Run.Writes = []stage.Written{{Action: apply.Created}, {Action: apply.Corrected}, {Action: apply.Corrected, Patch: true}, {Action: apply.Changed, Patch: true}}
	c.record.Err = stage.Classify("onReconcile", budget.Over(budget.Memory))
	reporting{c}.measure()
	g.Expect(measured(t, registry, "orkestra_children_total", "action")).To(Equal(map[string]float64{"created": 1, "corrected": 1, "patched": 2}))
	g.Expect(measured(t, registry, "orkestra_budget_exceeded_total", "budget")).To(Equal(map[string]float64{"memory": 1}))
}

// BenchmarkNoOp is a cycle of a resource of which no input has changed, with all that is recorded of it.
func BenchmarkNoOp(b *testing.B) {
	recorder, err := metrics.New(prometheus.NewRegistry())
	if err != nil {
		b.Fatal(err)
	}
	r, s, _ := living(b, v1alpha1.OperatorBoxSpec{}, nil)
	r.Metrics, r.History = recorder, remembering(b)
	key := client.ObjectKeyFromObject(s.resource)
	ctx := patience(b)
	r.Reconcile(ctx, key)
	r.states.of(key, "u1").own.version = "" // the cache shows what was written
	b.ReportAllocs()
	for b.Loop() {
		r.Reconcile(ctx, key)
	}
}
