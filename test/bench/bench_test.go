// Package bench_test measures Orkestra against a real API server. Nothing here asserts: figures depend on the machine, so
// compare within one run, and look first at requests, which do not.
package bench_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers"
	"github.com/orkspace/orkestra/test/localcluster"
)

const box = `apiVersion: orkestra.orkspace.io/v1alpha1
kind: OperatorBox
metadata: {name: website}
spec:
  crd: {name: websites.demo.example.com}
  onReconcile:
    deployments: [{image: "{{ .spec.image }}", replicas: 0, port: 8080}]
    services: [{port: 80}]
    configmaps: [{data: {host: "{{ .spec.host }}"}}]
`

// world is a cluster with a manager in this process that serves Websites.
type world struct {
	kube     client.Client
	watching client.WithWatch
	cluster  *localcluster.Cluster
	changes  []func(*rest.Config, *controllers.Options) // of every manager
	tally    tally                                      // of the manager's requests
	stop     func()                                     // ends the manager
	requests atomic.Int64
	// corrections are writes to ConfigMaps that exist or are to be made.
	corrections atomic.Int64
	// noise counts the requests about resources in the namespace noise.
	noise atomic.Int64
}

// newWorld starts everything and stops it when the benchmark ends.
func newWorld(b *testing.B, changes ...func(*rest.Config, *controllers.Options)) *world {
	b.Helper()
	log.SetLogger(logr.Discard())
	w := &world{changes: changes, tally: tally{all: map[string]int{}}}
	cluster, err := localcluster.Start(b.Context(), localcluster.Options{})
	must(b, err)
	w.cluster = cluster
	b.Cleanup(func() { must(b, cluster.Stop()) })
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme} {
		must(b, add(scheme))
	}
	w.watching, err = client.NewWithWatch(cluster.Config(), client.Options{Scheme: scheme})
	must(b, err)
	w.kube = w.watching
	for _, path := range []string{"config/crd/bases", "config/samples/website/crd.yaml"} {
		_, err := cluster.Kubectl(b.Context(), "apply", "--server-side", "-f", filepath.Join("..", "..", path))
		must(b, err)
	}
	w.eventually(b, func() error {
		_, err := cluster.Kubectl(b.Context(), "wait", "--for=condition=Established", "crd", "--all")
		return err
	})
	w.startManager(b)
	b.Cleanup(w.stopManager)
	_, err = cluster.KubectlApply(b.Context(), box)
	must(b, err)
	_, err = cluster.Kubectl(b.Context(), "wait", "--for=condition=Ready", "operatorbox/website", "--timeout=60s")
	must(b, err)
	return w
}

// startManager starts a manager, which stopManager stops.
func (w *world) startManager(b *testing.B) {
	b.Helper()
	config, options := w.cluster.Config(), controllers.Options{Namespace: "default"}
	for _, change := range w.changes {
		change(config, &options)
	}
	config.Wrap(w.tally.wrap)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			// Health is coalesced over all resources, so it is no part of what one costs.
			if strings.Contains(r.URL.Path, "/namespaces/default/") {
				w.requests.Add(1)
				if r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/configmaps/") {
					w.corrections.Add(1)
				}
			}
			if strings.Contains(r.URL.Path, "/namespaces/noise/") {
				w.noise.Add(1)
			}
			return next.RoundTrip(r)
		})
	})
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Controller: ctrlconfig.Controller{SkipNameValidation: new(true)},
		Scheme:     w.kube.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		NewClient: controllers.NewClient, NewCache: controllers.NewCache,
	})
	must(b, err)
	must(b, controllers.Setup(mgr, options))
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.Context()))
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	w.stop = func() {
		cancel()
		must(b, <-done)
	}
}

func (w *world) stopManager() { w.stop() }

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// eventually tries until there is no error.
func (w *world) eventually(b *testing.B, try func() error) {
	b.Helper()
	var last error
	err := wait.PollUntilContextTimeout(b.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		last = try()
		return last == nil, nil
	})
	if err != nil {
		b.Fatal(fmt.Errorf("%w: %w", err, last))
	}
}

func website(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "demo.example.com/v1", "kind": "Website",
		"metadata": map[string]any{"name": name, "namespace": "default"},
		"spec":     map[string]any{"image": "nginx:1", "host": name + ".example.com"},
	}}
}

func (w *world) ready(ctx context.Context, name string) error {
	obj := website(name)
	if err := w.kube.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
		return err
	}
	if isReady(obj) {
		return nil
	}
	return fmt.Errorf("website %q is not ready", name)
}

// isReady says whether the status of a resource shows Ready.
func isReady(obj *unstructured.Unstructured) bool {
	conditions, _, err := unstructured.NestedSlice(obj.Object, "status", "conditions")
	if err != nil {
		return false
	}
	return slices.ContainsFunc(conditions, func(c any) bool {
		m, ok := c.(map[string]any)
		return ok && m["type"] == v1alpha1.ConditionReady && m["status"] == string(metav1.ConditionTrue)
	})
}

func BenchmarkWebsite(b *testing.B) {
	w := newWorld(b)
	next := 0
	b.Run("new resource with 3 children to Ready", func(b *testing.B) {
		before := w.requests.Load()
		for b.Loop() {
			next++
			name := fmt.Sprintf("web-%d", next)
			must(b, w.kube.Create(b.Context(), website(name)))
			w.eventually(b, func() error { return w.ready(b.Context(), name) })
		}
		b.ReportMetric(float64(w.requests.Load()-before)/float64(b.N), "requests/op")
	})
	b.Run("drift of a Deployment to its repair", func(b *testing.B) {
		before := w.requests.Load()
		key := types.NamespacedName{Namespace: "default", Name: "web-1"}
		for b.Loop() {
			d := &appsv1.Deployment{}
			patch := client.RawPatch(types.JSONPatchType, []byte(`[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"drift:1"}]`))
			d.Name, d.Namespace = key.Name, key.Namespace
			must(b, w.kube.Patch(b.Context(), d, patch))
			w.eventually(b, func() error {
				if err := w.kube.Get(b.Context(), key, d); err != nil {
					return err
				}
				if image := d.Spec.Template.Spec.Containers[0].Image; image != "nginx:1" {
					return fmt.Errorf("image is %s", image)
				}
				return nil
			})
		}
		b.ReportMetric(float64(w.requests.Load()-before)/float64(b.N), "requests/op")
	})
	b.Run("deleted ConfigMap to its return", func(b *testing.B) {
		key := types.NamespacedName{Namespace: "default", Name: "web-1"}
		for b.Loop() {
			c := &corev1.ConfigMap{}
			must(b, w.kube.Get(b.Context(), key, c))
			uid := c.UID
			must(b, w.kube.Delete(b.Context(), c))
			w.eventually(b, func() error {
				if err := w.kube.Get(b.Context(), key, c); err != nil {
					return err
				}
				if c.UID == uid {
					return fmt.Errorf("still the old one")
				}
				return nil
			})
		}
	})
}

// chainBox makes a chain of ConfigMaps: each waits for the one before it, and holds its UID.
func chainBox(links int) string {
	head, _, _ := strings.Cut(box, "  onReconcile:")
	b := &strings.Builder{}
	b.WriteString(head + "  onReconcile:\n    configmaps:\n")
	for i := range links {
		fmt.Fprintf(b, "    - {id: n%d, name: \"{{ .metadata.name }}-%d\"", i, i)
		if i > 0 {
			fmt.Fprintf(b, ", when: [{field: children.n%d.metadata.uid, operator: exists}], data: {before: \"{{ .children.n%d.metadata.uid }}\"}", i-1, i-1)
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// BenchmarkChain is a chain of eight children, from the creation of their resource to the last of them.
func BenchmarkChain(b *testing.B) {
	const links = 8
	w := newWorld(b)
	_, err := w.cluster.KubectlApply(b.Context(), chainBox(links))
	must(b, err)
	w.eventually(b, func() error {
		_, err := w.cluster.Kubectl(b.Context(), "wait", "--for=jsonpath={.status.observedGeneration}=2", "operatorbox/website", "--timeout=60s")
		return err
	})
	var took times
	next, before := 0, w.requests.Load()
	for b.Loop() {
		next++
		name := fmt.Sprintf("chain-%d", next)
		began := time.Now()
		must(b, w.kube.Create(b.Context(), website(name)))
		last := types.NamespacedName{Namespace: "default", Name: fmt.Sprintf("%s-%d", name, links-1)}
		w.eventually(b, func() error { return w.kube.Get(b.Context(), last, &corev1.ConfigMap{}) })
		took = append(took, time.Since(began))
		w.eventually(b, func() error { return w.ready(b.Context(), name) })
	}
	b.ReportMetric(took.quantile(0.5), "ms/chain")
	b.ReportMetric(float64(w.requests.Load()-before)/float64(b.N), "requests/op")
}
