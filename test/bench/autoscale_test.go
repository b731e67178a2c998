package bench_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/orkspace/orkestra/controllers"
	"github.com/orkspace/orkestra/engine/hook"
)

const (
	// backlog is how many resources wait when the box begins, and nap how long the hook of each takes.
	backlog, nap = 5000, 20 * time.Millisecond
	// few and many are the workers by the spec, and under autoscale.
	few, many = 2, 6
	// look and cool are interval and cooldown.
	look, cool = time.Second, 5 * time.Second
)

const scaledBox = `apiVersion: orkestra.orkspace.io/v1alpha1
kind: OperatorBox
metadata: {name: napping}
spec:
  crd: {name: nappings.noise.example.com}
  workers: %d
  resync: 1h
  autoscale:
    interval: %s
    cooldown: %s
    conditions: {when: [{field: status.queueDepth, greaterThan: 100}, {field: status.workersBusyPercent, greaterThan: 80}]}
    do: {workers: %d}
  reconciler: {hooks: {location: example.com/bench, function: Nap}}
`

// napping registers a hook that takes its time, and does nothing.
func napping(b *testing.B) *hook.Registry {
	b.Helper()
	registry, err := hook.NewRegistry()
	must(b, err)
	must(b, hook.AddHooks(registry, "example.com/bench.Nap", func() hook.Hooks[*unstructured.Unstructured] {
		return hook.Hooks[*unstructured.Unstructured]{Pure: true, OnReconcile: func(ctx context.Context, _ *hook.Call[*unstructured.Unstructured]) error {
			select {
			case <-time.After(nap):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}
	}))
	return registry
}

// gaugeOf reads a series of the box.
func gaugeOf(b *testing.B, registry prometheus.Gatherer, name string) float64 {
	b.Helper()
	families, err := registry.Gather()
	must(b, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if f.GetName() == name && l.GetName() == "box" && l.GetValue() == "napping" {
					return m.GetGauge().GetValue()
				}
			}
		}
	}
	return -1
}

// BenchmarkAutoscale has many resources wait for a hook, and looks at how long they take once there are more workers, and when these go.
func BenchmarkAutoscale(b *testing.B) {
	registry := prometheus.NewRegistry()
	w := newWorld(b, func(config *rest.Config, o *controllers.Options) {
		asInstalled(b, config)
		o.Code, o.Registry = napping(b), registry
	})
	w.applyKinds(b, "Napping")
	names := make(chan string, backlog)
	for n := range backlog {
		names <- fmt.Sprintf("napping-%d", n)
	}
	close(names)
	var creating sync.WaitGroup
	for range connections {
		creating.Go(func() {
			for name := range names {
				obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"host": name}}}
				obj.SetGroupVersionKind(schema.GroupVersionKind{Group: "noise.example.com", Version: "v1", Kind: "Napping"})
				obj.SetNamespace("default")
				obj.SetName(name)
				if err := w.kube.Create(b.Context(), obj); err != nil {
					b.Error(err)
				}
			}
		})
	}
	creating.Wait()

	// A watch would take processor time from those who work: the series of the manager, in this process, say how it stands.
	awaits := func(name string, limit time.Duration, holds func(value float64) bool) time.Time {
		b.Helper()
		for late := time.Now().Add(limit); time.Now().Before(late); time.Sleep(20 * time.Millisecond) {
			if holds(gaugeOf(b, registry, name)) {
				return time.Now()
			}
		}
		b.Fatalf("%s is %v after %s", name, gaugeOf(b, registry, name), limit)
		return time.Time{}
	}
	_, err := w.cluster.KubectlApply(b.Context(), fmt.Sprintf(scaledBox, few, look, cool, many))
	must(b, err)
	began := awaits("orkestra_workers_busy", time.Minute, func(v float64) bool { return v > 0 })
	scaled := awaits("orkestra_workers_wanted", time.Minute, func(v float64) bool { return v == many })
	left := gaugeOf(b, registry, "orkestra_queue_depth")
	drained := awaits("orkestra_queue_depth", 5*time.Minute, func(v float64) bool { return v == 0 })
	back := awaits("orkestra_workers_wanted", time.Minute, func(v float64) bool { return v == few })

	var f figures
	f.add("from the first reconcile to more workers", scaled.Sub(began).Seconds(), 2*look.Seconds(), "s")
	ideal := left * nap.Seconds() / many
	f.note(fmt.Sprintf("resources that waited then, for a hook of %s", nap), left, "")
	f.note(fmt.Sprintf("drained by %d workers", many), drained.Sub(scaled).Seconds(), "s")
	f.add("of the time that the hooks alone would take", drained.Sub(scaled).Seconds()/ideal, 1.3, "×")
	f.add("from drained to the workers of the spec", back.Sub(drained).Seconds(), (cool + 2*look).Seconds(), "s")
	f.print(b)
}
