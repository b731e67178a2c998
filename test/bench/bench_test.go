// Package bench_test measures Orkestra against a real API server. Nothing here asserts: figures depend on the machine, so
// compare within one run, and look first at requests, which do not. What is measured is in rows; docs/performance.md says how it is run.
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
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
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

// plane is a cluster with the CRDs of Orkestra and of Website.
type plane struct {
	cluster  *localcluster.Cluster
	kube     client.Client
	watching client.WithWatch
	audit    *audit // nil: the API server keeps no log
}

// newPlane starts a cluster with an audit log, which ends with the benchmark.
func newPlane(b *testing.B) *plane {
	b.Helper()
	file := filepath.Join(b.TempDir(), "audit.log")
	p := startPlane(b, localcluster.Options{AuditLog: file})
	p.audit = newAudit(file)
	return p
}

// startPlane starts a cluster, which ends with the benchmark.
func startPlane(b *testing.B, options localcluster.Options) *plane {
	b.Helper()
	log.SetLogger(logr.Discard())
	cluster, err := localcluster.Start(b.Context(), options)
	must(b, err)
	p := &plane{cluster: cluster}
	b.Cleanup(func() { must(b, cluster.Stop()) })
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme} {
		must(b, add(scheme))
	}
	p.watching, err = client.NewWithWatch(cluster.Config(), client.Options{Scheme: scheme})
	must(b, err)
	p.kube = p.watching
	for _, path := range []string{"config/crd/bases", "config/samples/website/crd.yaml"} {
		_, err := cluster.Kubectl(b.Context(), "apply", "--server-side", "-f", filepath.Join("..", "..", path))
		must(b, err)
	}
	eventually(b, func() error {
		_, err := cluster.Kubectl(b.Context(), "wait", "--for=condition=Established", "crd", "--all")
		return err
	})
	return p
}

// world is a cluster with a manager in this process that serves Websites.
type world struct {
	*plane

	changes  []func(*rest.Config, *controllers.Options) // of every manager
	identity *rest.Config                               // of every manager
	user     string                                     // that identity, as the API server calls it
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
	w := &world{plane: newPlane(b), changes: changes, tally: tally{all: map[string]int{}}}
	w.identity, w.user = w.installed(b)
	w.startManager(b)
	b.Cleanup(w.stopManager)
	_, err := w.cluster.KubectlApply(b.Context(), box)
	must(b, err)
	_, err = w.cluster.Kubectl(b.Context(), "wait", "--for=condition=Ready", "operatorbox/website", "--timeout=60s")
	must(b, err)
	return w
}

// startManager starts a manager, which stopManager stops.
func (w *world) startManager(b *testing.B) {
	b.Helper()
	config, options := rest.CopyConfig(w.identity), controllers.Options{Namespace: "default"}
	for _, change := range w.changes {
		change(config, &options)
	}
	config.Wrap(w.tally.wrap)
	config.Wrap(w.countByPlace)
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

// countByPlace counts requests about resources by their namespace. Health is coalesced over all resources, so it is no part of what one costs.
func (w *world) countByPlace(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
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
func eventually(b *testing.B, try func() error) {
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

func (w *plane) ready(ctx context.Context, name string) error {
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
func isReady(obj *unstructured.Unstructured) bool { return isTrue(obj, v1alpha1.ConditionReady) }

// isTrue says whether an object has a condition that is True.
func isTrue(obj *unstructured.Unstructured, condition string) bool {
	conditions, _, err := unstructured.NestedSlice(obj.Object, "status", "conditions")
	if err != nil {
		return false
	}
	return slices.ContainsFunc(conditions, func(c any) bool {
		m, ok := c.(map[string]any)
		return ok && m["type"] == condition && m["status"] == string(metav1.ConditionTrue)
	})
}
