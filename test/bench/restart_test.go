package bench_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/engine/health"
)

// restarted is how many boxes a manager runs that is restarted, each with as many resources.
const restarted = 9

const restartBox = `apiVersion: orkestra.orkspace.io/v1alpha1
kind: OperatorBox
metadata: {name: restart%[1]d}
spec:
  crd: {name: restart%[1]ds.noise.example.com}
  onReconcile: {configmaps: [{name: "{{ .metadata.name }}", data: {a: b}}]}
---
`

// BenchmarkRestart restarts the manager beside boxes whose resources are settled.
func BenchmarkRestart(b *testing.B) {
	w := newWorld(b)
	var kinds []string
	var boxes strings.Builder
	for n := range restarted {
		kinds = append(kinds, fmt.Sprintf("Restart%d", n))
		fmt.Fprintf(&boxes, restartBox, n)
	}
	w.applyKinds(b, kinds...)
	_, err := w.cluster.KubectlApply(b.Context(), boxes.String())
	must(b, err)
	create := func(kind, name string) {
		obj := &unstructured.Unstructured{Object: map[string]any{}}
		obj.SetAPIVersion("noise.example.com/v1")
		obj.SetKind(kind)
		obj.SetNamespace("default")
		obj.SetName(name)
		must(b, w.kube.Create(b.Context(), obj))
		w.eventually(b, func() error {
			if err := w.kube.Get(b.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
				return err
			}
			if !isReady(obj) {
				return fmt.Errorf("%s %q is not ready", kind, name)
			}
			return nil
		})
	}
	for _, kind := range kinds {
		for n := range restarted {
			create(kind, fmt.Sprintf("%s-%d", strings.ToLower(kind), n))
		}
	}
	time.Sleep(2 * health.SlowInterval) // counters are written
	w.stopManager()
	w.tally.since()
	w.startManager(b)
	time.Sleep(health.SlowInterval + health.SlowInterval/2) // whatever is written late is written by then
	counts, _ := w.tally.since()
	writes, reviews := 0, 0
	for what, n := range counts {
		switch {
		case strings.Contains(what, "reviews"):
			reviews += n
		case !strings.HasPrefix(what, "GET"):
			writes += n
		}
	}
	var f figures
	f.add(fmt.Sprintf("writes after a restart with %d boxes, nothing changed", restarted), float64(writes), 0, "")
	f.note("access reviews, one for each distinct right", float64(reviews), "")
	for _, what := range sortedKeys(counts) {
		f.note("– "+what, float64(counts[what]), "")
	}
	w.stopManager()
	began := time.Now()
	w.startManager(b)
	create(kinds[0], "after")
	f.add("restart → a new resource is Ready", time.Since(began).Seconds(), 0.7, "s")
	f.print(b)
}

func sortedKeys(m map[string]int) []string { return slices.Sorted(maps.Keys(m)) }
