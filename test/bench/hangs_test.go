package bench_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/orkspace/orkestra/controllers"
	"github.com/orkspace/orkestra/engine/hook"
)

// stuck is how many resources each of the boxes has whose code or whose host does not answer.
const stuck = 100

// suspended, begun and unwell are conditions of the health of a box.
const suspended, begun, unwell = "Started=False", "Started=True", "Healthy=False"

// hanging are three boxes: a hook that sleeps for ten seconds, one that panics, and a host that takes requests and never answers.
func hanging(host string) []disturber {
	return []disturber{
		{"Sleeping", stuck, `reconciler: {hooks: {location: example.com/bench, function: Sleep}}`},
		{"Panicking", stuck, `reconciler: {hooks: {location: example.com/bench, function: Panic}}`},
		{"Hanging", stuck, fmt.Sprintf(`external: [{name: never, url: %q}]
  onReconcile: {configmaps: [{data: {a: "{{ .external.never.status }}"}}]}`, host)},
	}
}

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
	all := hanging(host.URL)
	w.beside(b, all)
	w.creations(b, "warm")
	for turn := range t.turns {
		quiet := w.creations(b, fmt.Sprintf("quiet-%d", turn))
		w.hold(b, false, all, begun)
		beside := w.creations(b, fmt.Sprintf("beside-%d", turn))
		w.hold(b, true, all, suspended)
		t.Add("hangs.p50", ours, beside.quantile(0.5)/quiet.quantile(0.5))
		t.Add("hangs.p99", ours, beside.quantile(0.99)/quiet.quantile(0.99))
		t.Note("Boxes that hang, turn %d: p50 and p99 alone %.3g and %.3g ms; beside them %.3g and %.3g ms.", turn+1,
			quiet.quantile(0.5), quiet.quantile(0.99), beside.quantile(0.5), beside.quantile(0.99))
	}
}
