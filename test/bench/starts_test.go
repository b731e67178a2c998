package bench_test

import (
	"fmt"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

const startedBox = `apiVersion: orkestra.orkspace.io/v1alpha1
kind: OperatorBox
metadata: {name: started%[1]d}
spec:
  crd: {name: started%[1]ds.noise.example.com}
  onReconcile: {configmaps: [{data: {a: b}}]}
`

// measureStarts starts and stops boxes, some at the same time, and looks at what is left of them.
func measureStarts(b *testing.B, t *sheet) {
	b.Helper()
	w := newWorld(b)
	var kinds []string
	for n := range connections {
		kinds = append(kinds, fmt.Sprintf("Started%d", n))
	}
	w.applyKinds(b, kinds...)
	rounds := func(all int) {
		var working sync.WaitGroup
		failed := make(chan error, connections)
		for n := range connections {
			working.Go(func() {
				for range (all + connections - 1) / connections {
					if err := w.startAndStop(b, n); err != nil {
						failed <- err
						return
					}
				}
			})
		}
		working.Wait()
		close(failed)
		must(b, <-failed)
	}
	rounds(connections) // what is made once is there
	watches, err := w.watches()
	must(b, err)
	for range t.turns {
		heap, goroutines := w.held(b, t.idle)
		before := watches.read(b)
		rounds(t.starts)
		heapAfter, goroutinesAfter := w.held(b, t.idle)
		t.Add("starts.goroutines", ours, float64(goroutinesAfter-goroutines))
		t.Add("starts.watches", ours, watches.read(b)-before)
		t.Add("starts.heap", ours, (heapAfter-heap)/1024/float64(t.starts))
	}
}

// startAndStop makes a box, waits until it is Ready, and deletes it.
func (w *world) startAndStop(b *testing.B, n int) error {
	b.Helper()
	name := fmt.Sprintf("started%d", n)
	if _, err := w.cluster.KubectlApply(b.Context(), fmt.Sprintf(startedBox, n)); err != nil {
		return err
	}
	follower, err := w.follow(b.Context(), boxKind, named(name), client.InNamespace(""))
	if err != nil {
		return err
	}
	defer func() { follower.stop() }()
	if err := boxesReady(follower, name); err != nil {
		return err
	}
	box := &v1alpha1.OperatorBox{}
	box.Name = name
	if err := w.kube.Delete(b.Context(), box); err != nil {
		return err
	}
	return follower.until(name+" gone", func(event watch.Event, _ *unstructured.Unstructured) bool { return event.Type == watch.Deleted })
}
