package watch

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/packed"
	"github.com/orkspace/orkestra/test/fixtures"
)

var (
	cups      = schema.GroupVersionResource{Group: "test.example.com", Version: "v1", Resource: "cups"}
	cupKind   = cups.GroupVersion().WithKind("Cup")
	bowls     = schema.GroupVersionResource{Group: "test.example.com", Version: "v1", Resource: "bowls"}
	bowlKind  = bowls.GroupVersion().WithKind("Bowl")
	otherKind = cups.GroupVersion().WithKind("Missing")
)

// child makes a Cup; the owner is "uid" or "uid@box".
func child(namespace, name, version, owner string) *unstructured.Unstructured {
	obj := object(cupKind, namespace, name, version)
	uid, box, _ := strings.Cut(owner, "@")
	labels := map[string]string{}
	if uid != "" {
		labels[v1alpha1.LabelOwnerUID] = uid
	}
	if box != "" {
		labels[v1alpha1.LabelBox] = box
	}
	obj.SetLabels(labels)
	return obj
}

func object(gvk schema.GroupVersionKind, namespace, name, version string) *unstructured.Unstructured {
	obj := fixtures.Object(gvk, namespace, name)
	obj.SetResourceVersion(version)
	return obj
}

func newClient(objects ...runtime.Object) *dynamicfake.FakeDynamicClient {
	kinds := map[schema.GroupVersionResource]string{cups: "CupList", bowls: "BowlList"}
	return dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objects...)
}

// requests counts the requests of a verb that a client was sent.
func requests(client *dynamicfake.FakeDynamicClient, verb string) int {
	n := 0
	for _, action := range client.Actions() {
		if action.GetVerb() == verb {
			n++
		}
	}
	return n
}

// answer makes requests of a verb fail as long as f gives an error.
func answer(client *dynamicfake.FakeDynamicClient, verb string, f func() error) {
	client.PrependReactor(verb, "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		err := f()
		return err != nil, nil, err
	})
}

func mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(cupKind, meta.RESTScopeNamespace)
	m.Add(bowlKind, meta.RESTScopeNamespace)
	return m
}

// notifications are the calls of a notify function, as "owner@box".
type notifications struct {
	mu    sync.Mutex
	calls []string
}

func (n *notifications) add(owner types.UID, box string, _ schema.GroupVersionKind) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls = append(n.calls, string(owner)+"@"+box)
}

// take gives the calls since the last take, when all is quiet.
func (n *notifications) take() []string {
	synctest.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	calls := n.calls
	n.calls = nil
	slices.Sort(calls)
	return calls
}

// running gives Children that run until stop is called; stop waits. A goroutine that is left fails the test.
func running(t *testing.T, client *dynamicfake.FakeDynamicClient) (children *Children, notified *notifications, stop func()) {
	t.Helper()
	g := NewWithT(t)
	notified = &notifications{}
	children = NewChildren(Config{Client: client, Mapper: mapper(), Log: logr.Discard()}, notified.add)
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { g.Expect(children.Run(ctx)).To(Succeed()) })
	return children, notified, func() {
		cancel()
		group.Wait()
	}
}

// keyOf gives the key under which a store holds an object.
func keyOf(obj *unstructured.Unstructured) string { return cache.MetaObjectToName(obj).String() }

func unpacked(all []*packed.Object) (objects []*unstructured.Unstructured) {
	for _, obj := range all {
		objects = append(objects, obj.Unpack())
	}
	return objects
}

func names(objects []*unstructured.Unstructured) []string {
	out := []string{}
	for _, obj := range objects {
		out = append(out, keyOf(obj)+"#"+obj.GetResourceVersion())
	}
	return out
}

func create(t *testing.T, client *dynamicfake.FakeDynamicClient, obj *unstructured.Unstructured) {
	t.Helper()
	synctest.Wait() // the fake tells nothing of what comes between a list and its watch
	_, err := client.Resource(cups).Namespace(obj.GetNamespace()).Create(t.Context(), obj, metav1.CreateOptions{})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
}

func update(t *testing.T, client *dynamicfake.FakeDynamicClient, obj *unstructured.Unstructured) {
	t.Helper()
	synctest.Wait() // the fake tells nothing of what comes between a list and its watch
	_, err := client.Resource(cups).Namespace(obj.GetNamespace()).Update(t.Context(), obj, metav1.UpdateOptions{})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
}

func remove(t *testing.T, client *dynamicfake.FakeDynamicClient, obj *unstructured.Unstructured) {
	t.Helper()
	synctest.Wait() // the fake tells nothing of what comes between a list and its watch
	err := client.Resource(cups).Namespace(obj.GetNamespace()).Delete(t.Context(), obj.GetName(), metav1.DeleteOptions{})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
}

// always gives the same requests, wherever a kind is served.
func always(r requester) func() requester { return func() requester { return r } }

// failing are requests that fail as the functions say.
type failing struct {
	requester

	list  func(ctx context.Context) error
	watch func() error
}

func (f failing) List(ctx context.Context, _ metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	return &unstructured.UnstructuredList{}, f.list(ctx)
}

func (f failing) Watch(context.Context, metav1.ListOptions) (apiwatch.Interface, error) {
	return nil, f.watch()
}
