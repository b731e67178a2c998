package bench_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/orkspace/orkestra/controllers"
	"github.com/orkspace/orkestra/engine/health"
)

const restartBox = `apiVersion: orkestra.orkspace.io/v1alpha1
kind: OperatorBox
metadata: {name: restart%[1]d}
spec:
  crd: {name: restart%[1]ds.noise.example.com}
  onReconcile: {configmaps: [{name: "{{ .metadata.name }}", data: {a: b}}]}
---
`

// measureRestart restarts the manager beside boxes whose resources are settled.
func measureRestart(b *testing.B, t *sheet) {
	b.Helper()
	var registry *prometheus.Registry // of the manager that runs
	w := newWorld(b, func(_ *rest.Config, o *controllers.Options) {
		registry = prometheus.NewRegistry()
		o.Registry = registry
	})
	var kinds []string
	var boxes strings.Builder
	for n := range t.restartBoxes {
		kinds = append(kinds, fmt.Sprintf("Restart%d", n))
		fmt.Fprintf(&boxes, restartBox, n)
	}
	w.applyKinds(b, kinds...)
	_, err := w.cluster.KubectlApply(b.Context(), boxes.String())
	must(b, err)
	for _, kind := range kinds {
		_, err := w.made(b, kind, "before", t.restartEach)
		must(b, err)
	}
	time.Sleep(2 * health.SlowInterval) // counters are written
	for turn := range t.turns {
		w.stopManager()
		w.tally.since()
		w.startManager(b)
		time.Sleep(health.SlowInterval + health.SlowInterval/2) // whatever is written late is written by then
		counts, _ := w.tally.since()
		writes, reviews := split(counts)
		t.Add("restarted.writes", ours, float64(writes))
		t.Add("restarted.reviews", ours, float64(reviews))
		if turn == 0 {
			t.Note("Requests of a restart with %d boxes: %s.", t.restartBoxes, listed(counts, 1))
		}
		w.stopManager()
		began := time.Now()
		w.startManager(b)
		_, err := w.made(b, kinds[0], fmt.Sprint("after", turn), 1)
		must(b, err)
		t.Add("restarted.time", ours, time.Since(began).Seconds())
		must(b, w.looked(b, registry, t.restartBoxes*t.restartEach))
		t.Add("restarted.synced", ours, time.Since(began).Seconds())
		time.Sleep(2 * health.SlowInterval) // so that the next turn begins as this one did
	}
}

// looked waits until a manager has reconciled as many times as there are resources, each of which it looks at once. Metrics cost what they are of,
// so they are not asked for all the time.
func (w *world) looked(b *testing.B, registry prometheus.Gatherer, resources int) error {
	b.Helper()
	return wait.PollUntilContextTimeout(b.Context(), 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		families, err := registry.Gather()
		if err != nil {
			return false, err
		}
		done := 0.0
		for _, family := range families {
			if family.GetName() != "orkestra_reconcile_total" {
				continue
			}
			for _, m := range family.GetMetric() {
				done += m.GetCounter().GetValue()
			}
		}
		return int(done) >= resources, nil
	})
}

// split counts writes and access reviews.
func split(counts map[string]int) (writes, reviews int) {
	for what, n := range counts {
		switch {
		case strings.Contains(what, "reviews"):
			reviews += n
		case !strings.HasPrefix(what, "GET"):
			writes += n
		}
	}
	return writes, reviews
}
