package watch_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/discovery"
	"github.com/orkspace/orkestra/engine/watch"
)

// world is what a test has for itself.
type world struct {
	Gomega
	t         *testing.T
	client    discovery.Client
	config    watch.Config
	failures  atomic.Int32 // requests that failed, or were answered 404
	namespace string
	owner     string
	heir      string
	box       string
	kind      schema.GroupVersionKind // not installed yet
	resource  schema.GroupVersionResource
}

// newWorld makes a namespace, and names a kind.
func newWorld(t *testing.T, name string) *world {
	t.Helper()
	name = fmt.Sprintf("%s%d", name, worlds.Add(1))
	w := &world{Gomega: NewWithT(t), t: t, namespace: "watch-" + name, owner: name + "-owner", heir: name + "-heir", box: name + "-box"}
	w.SetDefaultEventuallyTimeout(patience)
	w.SetDefaultEventuallyPollingInterval(5 * time.Millisecond)
	version := schema.GroupVersion{Group: name + ".watch.example.com", Version: "v1"}
	w.kind, w.resource = version.WithKind("Cup"), version.WithResource("cups")
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(configMapKind, meta.RESTScopeNamespace)
	mapper.Add(w.kind, meta.RESTScopeNamespace)
	config := cluster.Config()
	config.Wrap(w.count)
	var err error
	w.client, err = discovery.NewClient(config)
	w.Expect(err).NotTo(HaveOccurred())
	w.config = watch.Config{Client: w.client, Metadata: w.client.Metadata, Mapper: mapper, Log: logr.Discard()}
	namespace := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": w.namespace},
	}}
	_, err = w.client.Resource(namespaces).Create(t.Context(), namespace, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		_ = w.client.Resource(namespaces).Delete(context.Background(), w.namespace, metav1.DeleteOptions{}) // the cluster ends anyway
	})
	return w
}

func (w *world) count(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err != nil || response.StatusCode == http.StatusNotFound {
			w.failures.Add(1)
		}
		return response, err
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(request *http.Request) (*http.Response, error) {
	return f(request)
}

// children gives Children that run until the test ends, and the number of times that an owner was told of.
func (w *world) children() (children *watch.Children, told func(owner string) int) {
	w.t.Helper()
	var mu sync.Mutex
	calls := map[string]int{}
	children = watch.NewChildren(w.config, func(owner types.UID, _ string, _ schema.GroupVersionKind) {
		mu.Lock()
		defer mu.Unlock()
		calls[string(owner)]++
	})
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { _ = children.Run(ctx) }) // it has no errors but being called twice
	w.t.Cleanup(func() {
		cancel()
		group.Wait()
	})
	return children, func(owner string) int {
		mu.Lock()
		defer mu.Unlock()
		return calls[owner]
	}
}

func (w *world) object(gvk schema.GroupVersionKind, name, owner, value string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"value": value}}}
	obj.SetGroupVersionKind(gvk)
	obj.SetNamespace(w.namespace)
	obj.SetName(name)
	if owner != "" {
		obj.SetLabels(map[string]string{v1alpha1.LabelOwnerUID: owner, v1alpha1.LabelBox: w.box})
	}
	return obj
}

// apply applies as the engine does, and gives the API server's answer.
func (w *world) apply(resource schema.GroupVersionResource, obj *unstructured.Unstructured) *unstructured.Unstructured {
	w.t.Helper()
	options := metav1.ApplyOptions{FieldManager: v1alpha1.FieldManager, Force: true}
	answer, err := w.client.Resource(resource).Namespace(w.namespace).Apply(w.t.Context(), obj.GetName(), obj, options)
	w.Expect(err).NotTo(HaveOccurred())
	return answer
}

func (w *world) remove(resource schema.GroupVersionResource, name string) {
	w.t.Helper()
	w.Expect(w.client.Resource(resource).Namespace(w.namespace).Delete(w.t.Context(), name, metav1.DeleteOptions{})).To(Succeed())
}

// define installs the world's kind and does not wait for it.
func (w *world) define() {
	w.t.Helper()
	open := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": w.resource.GroupResource().String()},
		"spec": map[string]any{
			"group": w.kind.Group, "scope": "Namespaced",
			"names":    map[string]any{"kind": w.kind.Kind, "plural": w.resource.Resource, "singular": "cup", "listKind": "CupList"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": open}}},
		},
	}}
	_, err := w.client.Resource(definitions).Create(w.t.Context(), crd, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
}

// undefine removes the world's kind, and waits until it is gone.
func (w *world) undefine() {
	w.t.Helper()
	name := w.resource.GroupResource().String()
	w.Expect(w.client.Resource(definitions).Delete(w.t.Context(), name, metav1.DeleteOptions{})).To(Succeed())
	w.Eventually(func() error {
		_, err := w.client.Resource(definitions).Get(w.t.Context(), name, metav1.GetOptions{})
		return err
	}).Should(HaveOccurred())
}

func (w *world) acquire(children *watch.Children, gvk schema.GroupVersionKind) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	w.Expect(children.Acquire(ctx, w.box, gvk)).To(Succeed())
}
