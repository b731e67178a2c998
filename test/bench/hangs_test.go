package bench_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/orkspace/orkestra/controllers"
	"github.com/orkspace/orkestra/engine/hook"
)

// stuck is how many resources each of the boxes has whose code or whose host does not answer.
const stuck = 100

// suspended, begun and unwell are conditions of the health of a box.
const suspended, begun, unwell = "Started=False", "Started=True", "Healthy=False"

// hangingBoxes are three: a hook that sleeps for ten seconds, one that panics, and a host that takes requests and never answers. All are looked
// at again every five seconds.
const hangingBoxes = `apiVersion: orkestra.orkspace.io/v1alpha1
kind: OperatorBox
metadata: {name: sleeping}
spec:
  suspend: true
  crd: {name: sleepings.noise.example.com}
  resync: 5s
  reconciler: {hooks: {location: example.com/bench, function: Sleep}}
---
apiVersion: orkestra.orkspace.io/v1alpha1
kind: OperatorBox
metadata: {name: panicking}
spec:
  suspend: true
  crd: {name: panickings.noise.example.com}
  resync: 5s
  reconciler: {hooks: {location: example.com/bench, function: Panic}}
---
apiVersion: orkestra.orkspace.io/v1alpha1
kind: OperatorBox
metadata: {name: hanging}
spec:
  suspend: true
  crd: {name: hangings.noise.example.com}
  resync: 5s
  external: [{name: never, url: %q}]
  onReconcile: {configmaps: [{data: {a: "{{ .external.never.status }}"}}]}
`

// troubles registers the hooks of these boxes.
func troubles(b *testing.B) *hook.Registry {
	b.Helper()
	registry, err := hook.NewRegistry()
	must(b, err)
	add := func(name string, reconcile func(ctx context.Context) error) {
		must(b, hook.AddHooks(registry, "example.com/bench."+name, func() hook.Hooks[*unstructured.Unstructured] {
			return hook.Hooks[*unstructured.Unstructured]{OnReconcile: func(ctx context.Context, _ *hook.Call[*unstructured.Unstructured]) error { return reconcile(ctx) }}
		}))
	}
	add("Sleep", func(ctx context.Context) error {
		select {
		case <-time.After(10 * time.Second):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	add("Panic", func(context.Context) error { panic("a benchmark wants this") })
	return registry
}

// measureHangs looks at a healthy box beside boxes whose code or host holds up their workers, in turns with and without them.
func measureHangs(b *testing.B, t *sheet) {
	b.Helper()
	gone := make(chan struct{})
	host := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-gone:
		case <-r.Context().Done():
		}
	}))
	b.Cleanup(func() {
		close(gone)
		host.Close()
	})
	w := newWorld(b, func(_ *rest.Config, o *controllers.Options) {
		o.Code, o.ExternalAllow = troubles(b), []string{"127.0.0.1"}
	})
	kinds := []string{"Sleeping", "Panicking", "Hanging"}
	w.applyKinds(b, kinds...)
	_, err := w.cluster.KubectlApply(b.Context(), fmt.Sprintf(hangingBoxes, host.URL))
	must(b, err)
	must(b, w.kube.Create(b.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "noise"}}))
	for _, kind := range kinds {
		must(b, each(namesOf(kind, "stuck", stuck), func(name string) error {
			obj := noiseOf(kind, name)
			obj.SetNamespace("noise")
			return w.kube.Create(b.Context(), obj)
		}))
	}
	w.creations(b, "warm")
	for turn := range t.turns {
		quiet := w.creations(b, fmt.Sprintf("quiet-%d", turn))
		w.hold(b, false, kinds, begun)
		beside := w.creations(b, fmt.Sprintf("beside-%d", turn))
		w.hold(b, true, kinds, suspended)
		t.Add("hangs.p50", ours, beside.quantile(0.5)/quiet.quantile(0.5))
		t.Add("hangs.p99", ours, beside.quantile(0.99)/quiet.quantile(0.99))
		t.Note("Boxes that hang, turn %d: p50 and p99 alone %.3g and %.3g ms; beside them %.3g and %.3g ms.", turn+1,
			quiet.quantile(0.5), quiet.quantile(0.99), beside.quantile(0.5), beside.quantile(0.99))
	}
}

// hold suspends boxes, or resumes them, and waits until they have ended, or show a condition.
func (w *world) hold(b *testing.B, yes bool, kinds []string, condition string) {
	b.Helper()
	for _, kind := range kinds {
		name := strings.ToLower(kind)
		_, err := w.cluster.Kubectl(b.Context(), "patch", "operatorbox/"+name, "--type=merge", "-p", fmt.Sprintf(`{"spec":{"suspend":%t}}`, yes))
		must(b, err)
		_, err = w.cluster.Kubectl(b.Context(), "wait", "--for=condition="+condition, "crdhealth/"+name, "--timeout=90s")
		must(b, err)
	}
}
