package watch_test

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/engine/discovery"
	"github.com/orkspace/orkestra/engine/watch"
)

const serveKey = "watch.example.com/serve"

var (
	podTemplates    = schema.GroupVersionResource{Version: "v1", Resource: "podtemplates"}
	podTemplateKind = podTemplates.GroupVersion().WithKind("PodTemplate")
)

func served(annotations map[string]string) bool { return annotations[serveKey] == "yes" }

// traffic counts the requests of a client, and the bytes of their answers.
type traffic struct {
	requests, bytes atomic.Int64
	refused         atomic.Int32 // how many requests to watch on from a version are answered with 410

	mu      sync.Mutex
	watches []*counted
	held    <-chan struct{} // requests wait for it; nil: they do not
}

// hold holds requests back until the channel is closed.
func (c *traffic) hold(until <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = until
}

func (c *traffic) wait() {
	c.mu.Lock()
	held := c.held
	c.mu.Unlock()
	if held != nil {
		<-held
	}
}

func (c *traffic) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(request *http.Request) (*http.Response, error) {
		c.wait()
		query := request.URL.RawQuery
		if strings.Contains(query, "watch=true") && !strings.Contains(query, "sendInitialEvents") && c.refused.Load() > 0 {
			c.refused.Add(-1)
			body := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410,"message":"too old resource version"}`
			return &http.Response{StatusCode: http.StatusGone, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: request}, nil
		}
		c.requests.Add(1)
		response, err := next.RoundTrip(request)
		if err != nil {
			return nil, err
		}
		body := &counted{ReadCloser: response.Body, bytes: &c.bytes}
		response.Body = body
		if strings.Contains(query, "watch=true") {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.watches = append(c.watches, body)
		}
		return response, nil
	})
}

// cut ends all watches that are open, as the API server does: after an error a reflector would list again by itself.
func (c *traffic) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.watches {
		w.ended.Store(true)
		_ = w.Close() // it may have ended
	}
	c.watches = nil
}

type counted struct {
	io.ReadCloser

	bytes *atomic.Int64
	ended atomic.Bool
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.bytes.Add(int64(n))
	if err != nil && c.ended.Load() {
		err = io.EOF
	}
	return n, err
}

// counting is the configuration of a world with its own client, whose traffic is counted.
func (w *world) counting() (watch.Config, *traffic) {
	w.t.Helper()
	c := &traffic{}
	config := cluster.Config()
	config.Wrap(c.wrap)
	client, err := discovery.NewClient(config)
	w.Expect(err).NotTo(HaveOccurred())
	counting := w.config
	counting.Client, counting.Metadata = client, client.Metadata
	return counting, c
}

// podTemplate is as large as a workload that users write, and no controller of Kubernetes writes to it: each request here is for a change that was made here.
func (w *world) podTemplate(name, value string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"template": map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"app": name}},
		"spec": map[string]any{"containers": []any{map[string]any{
			"name": "main", "image": "example.com/app:1", "ports": []any{map[string]any{"containerPort": int64(8080), "protocol": "TCP"}},
			"env":       []any{map[string]any{"name": "VALUE", "value": value}},
			"resources": map[string]any{"requests": map[string]any{"cpu": "10m", "memory": "32Mi"}, "limits": map[string]any{"memory": "64Mi"}},
		}}},
	}}}
	obj.SetGroupVersionKind(podTemplateKind)
	obj.SetNamespace(w.namespace)
	obj.SetName(name)
	return obj
}

func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// Of a thousand PodTemplates that are not selected the metadata is sent, and nothing is kept; when they change, no request is sent.
func TestOfWhatAnnotationsDoNotSelectNothingIsKept(t *testing.T) {
	const others = 1000
	w := newWorld(t, "annotations")
	for i := range others {
		w.apply(podTemplates, w.podTemplate(fmt.Sprintf("other-%04d", i), "1"))
	}
	// cost is what it costs to know those of the namespace.
	cost := func(selection watch.Selection, events watch.ResourceEvents) (*watch.Resources, *traffic, int64) {
		config, sent := w.counting()
		before := heap()
		r := watch.NewResources(config, podTemplates, []string{w.namespace}, selection, events)
		r.Start(t.Context())
		t.Cleanup(r.Stop)
		w.Expect(r.WaitForSync(t.Context())).To(Succeed())
		return r, sent, heap() - before
	}
	whole, sentWhole, kept := cost(watch.Selection{}, watch.ResourceEvents{})
	w.Expect(whole.Len()).To(Equal(others))
	left := make(chan types.UID, 1)
	var told atomic.Int64
	selected, sent, keptOfOthers := cost(watch.Selection{Annotations: served}, watch.ResourceEvents{
		Add:    func(*unstructured.Unstructured, bool) { told.Add(1) },
		Delete: func(obj *unstructured.Unstructured) { left <- obj.GetUID() },
	})
	t.Logf("of each of %d PodTemplates: %d bytes are sent and %d kept of whole objects; %d sent and %d kept of those that annotations do not select",
		others, sentWhole.bytes.Load()/others, kept/others, sent.bytes.Load()/others, keptOfOthers/others)
	w.Expect(selected.Len()).To(BeZero())
	w.Expect(keptOfOthers/others).To(BeNumerically("<", kept/others/4), "bytes that are kept of one")

	requests := sent.requests.Load()
	for i := range others / 10 {
		w.apply(podTemplates, w.podTemplate(fmt.Sprintf("other-%04d", i), "2"))
	}
	one := w.podTemplate("one", "1")
	one.SetAnnotations(map[string]string{serveKey: "yes"})
	uid := w.apply(podTemplates, one).GetUID()
	w.Eventually(func() bool {
		_, found := selected.Get(types.NamespacedName{Namespace: w.namespace, Name: "one"})
		return found
	}).Should(BeTrue())
	w.Expect(sent.requests.Load()-requests).To(BeEquivalentTo(1), "requests when %d others changed and one was selected", others/10)
	got, _ := selected.Get(types.NamespacedName{Namespace: w.namespace, Name: "one"})
	containers, found, err := unstructured.NestedSlice(got.Object, "template", "spec", "containers")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(found).To(BeTrue(), "it is whole")
	w.Expect(containers).To(HaveLen(1))
	w.Expect(told.Load()).To(BeEquivalentTo(1))

	one.SetAnnotations(nil)
	w.apply(podTemplates, one)
	w.Eventually(left).Should(Receive(Equal(uid)))
	w.Expect(selected.Len()).To(BeZero())
	w.Expect(sent.requests.Load()-requests).To(BeEquivalentTo(1), "requests when it left")
}

// What changed while the watch was broken, and could not go on, is found by a list.
func TestWhatLeftWhileTheWatchWasBrokenIsMissed(t *testing.T) {
	w := newWorld(t, "expired")
	config, sent := w.counting()
	missed := make(chan string, 10)
	r := watch.NewResources(config, configMaps, []string{w.namespace}, watch.Selection{Annotations: served}, watch.ResourceEvents{
		Missed: func(obj *unstructured.Unstructured) { missed <- obj.GetName() },
		Delete: func(obj *unstructured.Unstructured) { missed <- "not missed " + obj.GetName() },
	})
	made := func(name, serve, value string) {
		obj := w.object(configMapKind, name, "", value)
		obj.SetAnnotations(map[string]string{serveKey: serve})
		w.apply(configMaps, obj)
	}
	for _, name := range []string{"stays", "changes", "leaves", "goes"} {
		made(name, "yes", "1")
	}
	r.Start(t.Context())
	defer r.Stop()
	w.Expect(r.WaitForSync(t.Context())).To(Succeed())
	w.Expect(r.Len()).To(Equal(4))
	value := func(name string) func() string {
		return func() string {
			got, found := r.Get(types.NamespacedName{Namespace: w.namespace, Name: name})
			if !found {
				return ""
			}
			value, _, _ := unstructured.NestedString(got.Object, "data", "value")
			return value
		}
	}
	made("stays", "yes", "2")
	w.Eventually(value("stays")).Should(Equal("2"), "after a watch that told nothing a reflector would list again by itself")
	gate := make(chan struct{})
	sent.refused.Store(1)
	sent.hold(gate)
	sent.cut()
	made("changes", "yes", "2")
	made("leaves", "no", "1")
	w.remove(configMaps, "goes")
	requests := sent.requests.Load()
	close(gate)
	var first, second string // in any order
	w.Eventually(missed).Should(Receive(&first))
	w.Eventually(missed).Should(Receive(&second))
	w.Expect([]string{first, second}).To(ConsistOf("goes", "leaves"))
	w.Eventually(value("changes")).Should(Equal("2"))
	w.Expect(sent.refused.Load()).To(BeZero(), "it was told that its version is too old")
	w.Expect(r.Len()).To(Equal(2))
	w.Expect(sent.requests.Load()-requests).To(BeNumerically("<=", 3), "requests: to list, and for the one that has changed")
}

// Its own writes are seen by a box that waits for them.
func TestASelectedObjectIsFollowed(t *testing.T) {
	w := newWorld(t, "followed")
	r := watch.NewResources(w.config, configMaps, []string{w.namespace}, watch.Selection{Annotations: served}, watch.ResourceEvents{})
	r.Start(t.Context())
	defer r.Stop()
	w.Expect(r.WaitForSync(t.Context())).To(Succeed())
	key := types.NamespacedName{Namespace: w.namespace, Name: "one"}
	for i := range 100 {
		obj := w.object(configMapKind, "one", "", fmt.Sprint(i))
		obj.SetAnnotations(map[string]string{serveKey: "yes"})
		version := w.apply(configMaps, obj).GetResourceVersion()
		w.Eventually(func() bool { return r.Seen(key, version) }).Should(BeTrue())
		got, found := r.Get(key)
		w.Expect(found).To(BeTrue())
		w.Expect(got.GetResourceVersion()).To(Equal(version))
	}
	w.Expect(w.client.Resource(configMaps).Namespace(w.namespace).Delete(t.Context(), "one", metav1.DeleteOptions{})).To(Succeed())
	w.Eventually(func() bool { _, found := r.Get(key); return found }).Should(BeFalse())
}
