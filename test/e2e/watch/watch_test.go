// Package watch_test holds engine/watch against a real API server: what a fake cannot show, which is the order of versions,
// streamed lists, kinds that come and go, and an API server that is away.
package watch_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/engine/watch"
	"github.com/orkspace/orkestra/test/localcluster"
)

const patience = 60 * time.Second

var (
	cluster *localcluster.Cluster
	worlds  atomic.Int32

	configMaps    = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	configMapKind = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	namespaces    = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	definitions   = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if cluster, err = localcluster.Start(context.Background(), localcluster.Options{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := cluster.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func TestChildrenAreFollowed(t *testing.T) {
	w := newWorld(t, "followed")
	w.apply(configMaps, w.object(configMapKind, "before", w.owner, "1"))
	w.apply(configMaps, w.object(configMapKind, "free", "", "1"))
	children, told := w.children()
	w.acquire(children, configMapKind)
	owned := children.Owned(configMapKind, types.UID(w.owner))
	w.Expect(owned).To(HaveLen(1))
	w.Expect(watch.OursByFields(owned[0])).To(BeTrue())
	w.Expect(owned[0].GetManagedFields()).To(HaveLen(1))
	_, found := children.Get(configMapKind, w.namespace, "free")
	w.Expect(found).To(BeFalse())

	seen := told(w.owner)
	w.apply(configMaps, w.object(configMapKind, "before", w.owner, "2"))
	w.Eventually(func() int { return told(w.owner) }).Should(Equal(seen + 1))
	w.apply(configMaps, w.object(configMapKind, "before", w.heir, "2"))
	w.Eventually(func() int { return told(w.heir) }).Should(Equal(1))
	w.Eventually(func() int { return told(w.owner) }).Should(Equal(seen + 2))
	w.apply(configMaps, w.object(configMapKind, "before", "", "2"))
	w.Eventually(func() int { return told(w.heir) }).Should(Equal(2))
	w.Expect(children.OfBox(configMapKind, w.box)).To(BeZero())
}

func TestWritesAreRead(t *testing.T) {
	w := newWorld(t, "written")
	children, _ := w.children()
	w.acquire(children, configMapKind)
	for i := range 300 {
		name, value := fmt.Sprintf("child-%d", i%10), fmt.Sprint(i)
		answer := w.apply(configMaps, w.object(configMapKind, name, w.owner, value))
		children.Wrote(configMapKind, answer)
		got, found := children.Get(configMapKind, w.namespace, name)
		w.Expect(found).To(BeTrue())
		w.Expect(got.GetResourceVersion()).To(Equal(answer.GetResourceVersion()))
		w.Expect(watch.OursByFields(got)).To(BeTrue())
		w.Expect(children.Owned(configMapKind, types.UID(w.owner))).To(ContainElement(HaveField("Object", got.Object)))
		if i%3 != 0 {
			continue
		}
		w.remove(configMaps, name)
		children.Gone(configMapKind, answer)
		_, found = children.Get(configMapKind, w.namespace, name)
		w.Expect(found).To(BeFalse())
	}
	w.Consistently(func() int { return children.OfBox(configMapKind, w.box) }).Should(Equal(7))
}

func TestAFreshKindIsFollowedAtOnce(t *testing.T) {
	w := newWorld(t, "fresh")
	children, _ := w.children()
	acquired := make(chan time.Duration, 1)
	start := time.Now()
	w.define()
	go func() {
		w.acquire(children, w.kind)
		acquired <- time.Since(start)
	}()
	var took time.Duration
	w.Eventually(acquired).Should(Receive(&took))
	t.Logf("synced %s after the CRD was made", took)
	w.apply(w.resource, w.object(w.kind, "one", w.owner, "1"))
	w.Eventually(func() int { return len(children.Owned(w.kind, types.UID(w.owner))) }).Should(Equal(1))
}

func TestAKindGoesAndComesBack(t *testing.T) {
	w := newWorld(t, "away")
	children, told := w.children()
	w.define()
	w.acquire(children, w.kind)
	w.apply(w.resource, w.object(w.kind, "one", w.owner, "1"))
	w.Eventually(func() int { return told(w.owner) }).Should(Equal(1))
	w.undefine()
	w.Eventually(func() int { return len(children.Owned(w.kind, types.UID(w.owner))) }).Should(BeZero())
	before := w.failures.Load()
	w.Eventually(w.failures.Load).Should(BeNumerically(">=", before+3), "the informer meets the kind's absence")

	start := time.Now()
	w.define()
	w.Eventually(func() error {
		_, err := w.client.Resource(w.resource).List(t.Context(), metav1.ListOptions{})
		return err
	}).Should(Succeed())
	w.apply(w.resource, w.object(w.kind, "two", w.owner, "2"))
	w.Eventually(func() int { return len(children.Owned(w.kind, types.UID(w.owner))) }).Should(Equal(1))
	t.Logf("followed again %s after the CRD was made again", time.Since(start))
}

func TestResourcesAreSeen(t *testing.T) {
	w := newWorld(t, "seen")
	var mu sync.Mutex
	calls := map[string]int{}
	count := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		calls[what]++
	}
	r := watch.NewResources(w.config, configMaps, []string{w.namespace}, watch.Selection{}, watch.ResourceEvents{
		Add:    func(*unstructured.Unstructured, bool) { count("add") },
		Update: func(*unstructured.Unstructured) { count("update") },
		Delete: func(*unstructured.Unstructured) { count("delete") },
	})
	r.Start(t.Context())
	defer r.Stop()
	w.Expect(r.WaitForSync(t.Context())).To(Succeed())
	key := types.NamespacedName{Namespace: w.namespace, Name: "one"}
	for i := range 100 {
		version := w.apply(configMaps, w.object(configMapKind, "one", "", fmt.Sprint(i))).GetResourceVersion()
		w.Eventually(func() bool { return r.Seen(key, version) }).Should(BeTrue())
		got, found := r.Get(key)
		w.Expect(found).To(BeTrue())
		w.Expect(got.GetResourceVersion()).To(Equal(version))
		w.Expect(got.GetManagedFields()).To(BeEmpty())
	}
	w.remove(configMaps, "one")
	w.Eventually(func() bool { _, found := r.Get(key); return found }).Should(BeFalse())
	r.Stop()
	w.Expect(calls).To(HaveKeyWithValue("update", 99))
	w.Expect(calls).To(HaveKeyWithValue("delete", 1))
}

// A thousand objects that are not selected are not sent: they are in no cache, and nothing is told of them.
func TestTheAPIServerSelectsObjectsOfOthers(t *testing.T) {
	const others = 1000
	w := newWorld(t, "others")
	var calls atomic.Int64
	left := make(chan types.UID, 1)
	r := watch.NewResources(w.config, configMaps, []string{w.namespace}, watch.Selection{Labels: labels.SelectorFromSet(labels.Set{w.box + "/serve": "yes"})}, watch.ResourceEvents{
		Add:    func(*unstructured.Unstructured, bool) { calls.Add(1) },
		Update: func(*unstructured.Unstructured) { calls.Add(1) },
		Delete: func(obj *unstructured.Unstructured) { left <- obj.GetUID() },
	})
	for i := range others / 2 {
		w.apply(configMaps, w.object(configMapKind, fmt.Sprintf("before-%d", i), "", "1"))
	}
	r.Start(t.Context())
	defer r.Stop()
	w.Expect(r.WaitForSync(t.Context())).To(Succeed())
	for i := range others / 2 {
		w.apply(configMaps, w.object(configMapKind, fmt.Sprintf("after-%d", i), "", "1"))
	}
	selected := w.object(configMapKind, "selected", "", "1")
	selected.SetLabels(map[string]string{w.box + "/serve": "yes"})
	uid := w.apply(configMaps, selected).GetUID()
	w.Eventually(func() bool { _, found := r.Key(uid); return found }).Should(BeTrue())
	w.Expect(r.Len()).To(Equal(1), "cached objects, of %d", others+1)
	w.Expect(calls.Load()).To(BeEquivalentTo(1), "events, of %d", others+1)

	selected.SetLabels(nil)
	w.apply(configMaps, selected)
	w.Eventually(left).Should(Receive(Equal(uid)), "one that leaves the selection is deleted for its watch")
	w.Expect(r.Len()).To(BeZero())
}

func TestAnAPIServerGoesAndComesBack(t *testing.T) {
	if cluster.Existing() {
		t.Skip("must not stop the API server of an existing cluster")
	}
	w := newWorld(t, "outage")
	children, told := w.children()
	w.acquire(children, configMapKind)
	stopped := watch.NewResources(w.config, configMaps, nil, watch.Selection{}, watch.ResourceEvents{})
	stopped.Start(t.Context())
	w.Expect(stopped.WaitForSync(t.Context())).To(Succeed())
	w.apply(configMaps, w.object(configMapKind, "one", w.owner, "1"))
	w.Eventually(func() int { return told(w.owner) }).Should(Equal(1))

	before := w.failures.Load()
	w.Expect(cluster.StopAPIServer(t.Context())).To(Succeed())
	late := watch.NewResources(w.config, configMaps, nil, watch.Selection{}, watch.ResourceEvents{})
	late.Start(t.Context())
	defer late.Stop()
	w.Eventually(w.failures.Load).Should(BeNumerically(">=", before+24), "pauses grow")
	start := time.Now()
	stopped.Stop()
	t.Logf("stopped within %s while the API server was away", time.Since(start))
	w.Expect(children.Owned(configMapKind, types.UID(w.owner))).To(HaveLen(1))

	w.Expect(cluster.StartAPIServer(t.Context())).To(Succeed())
	start = time.Now()
	w.apply(configMaps, w.object(configMapKind, "two", w.owner, "1"))
	w.Eventually(func() int { return len(children.Owned(configMapKind, types.UID(w.owner))) }).Should(Equal(2))
	t.Logf("followed again %s after the API server was back", time.Since(start))
	w.Eventually(late.HasSynced).Should(BeTrue())
	w.Expect(told(w.owner)).To(BeNumerically(">=", 2))
}

func TestNothingIsLeft(t *testing.T) {
	w := newWorld(t, "left")
	w.apply(configMaps, w.object(configMapKind, "one", w.owner, "1")) // connects
	before := goleak.IgnoreCurrent()
	children := watch.NewChildren(w.config, func(types.UID, string, schema.GroupVersionKind) {})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- children.Run(ctx) }()
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			user := fmt.Sprintf("box-%d", worker%2)
			for range 25 {
				if err := children.Acquire(ctx, user, configMapKind); err == nil { // the other worker may release it meanwhile
					children.Owned(configMapKind, types.UID(w.owner))
				}
				selection := watch.Selection{}
				if worker > 1 {
					selection.Annotations = func(map[string]string) bool { return true }
				}
				r := watch.NewResources(w.config, configMaps, []string{w.namespace, "default"}, selection, watch.ResourceEvents{})
				r.Start(ctx)
				if worker%2 == 0 {
					_ = r.WaitForSync(ctx) // it is stopped at any time
				}
				r.Stop()
				children.Release(user)
			}
		})
	}
	group.Wait()
	w.acquire(children, configMapKind)
	cancel()
	w.Expect(<-done).To(Succeed())
	goleak.VerifyNone(t, before)
}
