package bench_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	// looking is the time between two looks at the series: each gathers all of them, which takes processor time, too.
	looking = 200 * time.Millisecond
)

const scaledBox = `apiVersion: orkestra.orkspace.io/v1alpha1
kind: OperatorBox
metadata: {name: %[1]s}
spec:
  crd: {name: %[1]ss.noise.example.com}
  workers: %[2]d
  resync: 1h
  autoscale:
    interval: %[3]s
    cooldown: %[4]s
    conditions: {when: [{field: status.queueDepth, greaterThan: 100}, {field: status.workersBusyPercent, greaterThan: 80}]}
    do: {workers: %[5]d}
  reconciler: {hooks: {location: example.com/bench, function: Nap, args: {text: %[6]s}}}
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
func gaugeOf(b *testing.B, registry prometheus.Gatherer, box, name string) float64 {
	b.Helper()
	families, err := registry.Gather()
	must(b, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if f.GetName() == name && l.GetName() == "box" && l.GetValue() == box {
					return m.GetGauge().GetValue()
				}
			}
		}
	}
	return -1
}

// measureAutoscale has many resources wait for a hook, and looks at how long they take once there are more workers, and when these go.
func measureAutoscale(b *testing.B, t *sheet) {
	b.Helper()
	registry := prometheus.NewRegistry()
	w := newWorld(b, func(_ *rest.Config, o *controllers.Options) {
		o.Code, o.Registry = napping(b), registry
	})
	for turn := range t.turns {
		w.autoscaled(b, t, registry, fmt.Sprint("Napping", turn))
	}
}

// autoscaled has the resources of one kind wait for the box that serves them, and then, as they are settled, for the same box with another
// argument of the hook. New resources are marked and get a status, and an event each: that takes the API server more of two cores than the
// hook takes time, so the second one says what autoscale is worth.
func (w *world) autoscaled(b *testing.B, t *sheet, registry prometheus.Gatherer, kind string) {
	b.Helper()
	w.applyKinds(b, kind)
	must(b, each(namesOf(kind, "waits", backlog), func(name string) error { return w.kube.Create(b.Context(), noiseOf(kind, name)) }))
	s := &scaled{b: b, registry: registry, box: strings.ToLower(kind)}
	for _, of := range []struct{ text, row, state string }{{"first", "autoscale.new", "new"}, {"second", "autoscale.drained", "settled"}} {
		_, err := w.cluster.KubectlApply(b.Context(), fmt.Sprintf(scaledBox, s.box, few, look, cool, many, of.text))
		must(b, err)
		took := s.drains()
		t.Note("Autoscale: %v resources that were %s waited for a hook of %s when there were more workers; %d workers drained them in %.3g s.",
			took.left, of.state, nap, many, took.drained.Seconds())
		t.Add("autoscale.ramp", ours, took.ramp.Seconds())
		t.Add(of.row, ours, took.drained.Seconds()/(took.left*nap.Seconds()/many))
		t.Add("autoscale.back", ours, took.back.Seconds())
	}
}

// scaled is a box under autoscale. A watch would take processor time from those who work: the series of the manager, in this process, say how
// it stands.
type scaled struct {
	b        *testing.B
	registry prometheus.Gatherer
	box      string
}

func (s *scaled) gauge(name string) float64 { return gaugeOf(s.b, s.registry, s.box, name) }

// awaits waits until a series of the box holds what is wanted, and gives the time.
func (s *scaled) awaits(name string, limit time.Duration, holds func(value float64) bool) time.Time {
	s.b.Helper()
	for late := time.Now().Add(limit); time.Now().Before(late); time.Sleep(looking) {
		if holds(s.gauge(name)) {
			return time.Now()
		}
	}
	s.b.Fatalf("%s is %v after %s", name, s.gauge(name), limit)
	return time.Time{}
}

// drain is how a queue was worked off: how long it took until there were more workers, how many resources were left then, how long these took,
// and how long it was until there were as many workers as before.
type drain struct {
	left                float64
	ramp, drained, back time.Duration
}

func (s *scaled) drains() drain {
	s.b.Helper()
	began := s.awaits("orkestra_workers_busy", time.Minute, func(v float64) bool { return v > 0 })
	scaled := s.awaits("orkestra_workers_wanted", time.Minute, func(v float64) bool { return v == many })
	left := s.gauge("orkestra_queue_depth")
	drained := s.awaits("orkestra_queue_depth", 5*time.Minute, func(v float64) bool { return v == 0 })
	back := s.awaits("orkestra_workers_wanted", time.Minute, func(v float64) bool { return v == few })
	return drain{left, scaled.Sub(began), drained.Sub(scaled), back.Sub(drained)}
}
