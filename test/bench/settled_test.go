package bench_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// measureSettled looks at the heap that settled resources take, beside their JSON.
func measureSettled(b *testing.B, t *sheet) {
	b.Helper()
	w := newWorld(b)
	w.applyKinds(b, "Applied")
	_, err := w.cluster.KubectlApply(b.Context(), fmt.Sprintf(sideBox, usualResync, "b"))
	must(b, err)
	_, err = w.made(b, "Applied", "warm", 1)
	must(b, err)
	for turn := range t.turns {
		heap, goroutines := w.held(b, t.idle)
		_, err = w.made(b, "Applied", fmt.Sprint("settled", turn), t.settled)
		must(b, err)
		with, goroutinesWith := w.held(b, t.idle)
		bytes := w.bytesOf(b, noiseKind("AppliedList")) + w.bytesOf(b, configMaps.GroupVersion().WithKind("ConfigMapList"))
		t.Add("settled.heap", ours, (with-heap)*float64(turn+1)/float64(bytes)) // the resources of earlier turns are still there
		t.Note("%d settled resources: %.4g KiB of heap each, JSON %.4g KiB each with their children; goroutines more than before: %d.",
			t.settled, (with-heap)/1024/float64(t.settled), float64(bytes)/1024/float64((turn+1)*t.settled+1), goroutinesWith-goroutines)
	}
}

// bytesOf is the size of the JSON of all objects of a kind that Orkestra has to do with, without their managed fields, a page at a time.
func (p *plane) bytesOf(b *testing.B, kind schema.GroupVersionKind) int {
	b.Helper()
	sum := 0
	for token, first := "", true; first || token != ""; first = false {
		page := &unstructured.UnstructuredList{}
		page.SetGroupVersionKind(kind)
		must(b, p.kube.List(b.Context(), page, client.InNamespace("default"), client.Limit(500), client.Continue(token)))
		token = page.GetContinue()
		for i := range page.Items {
			obj := &page.Items[i]
			if obj.GetName() == "kube-root-ca.crt" {
				continue
			}
			obj.SetManagedFields(nil)
			text, err := json.Marshal(obj)
			must(b, err)
			sum += len(text)
		}
	}
	return sum
}
