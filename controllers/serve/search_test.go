package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/discovery"
	"github.com/orkspace/orkestra/engine/look"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/watch"
	"github.com/orkspace/orkestra/engine/web/person"
	"github.com/orkspace/orkestra/engine/web/rows"
)

// reviews answer whether somebody may list in a namespace; "" is all of them.
type reviews struct {
	mu    sync.Mutex
	may   func(namespace string) bool
	err   error
	asked int
}

func (r *reviews) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	review, ok := obj.(*authorizationv1.SubjectAccessReview)
	if !ok {
		return errors.New("wanted a review")
	}
	review.Status.Allowed = r.may(review.Spec.ResourceAttributes.Namespace)
	return r.err
}

var (
	websites  = schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Website"}
	resource  = websites.GroupVersion().WithResource("websites")
	beginning = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
)

// website is one that says something; one that is ready says nothing.
func website(namespace, name, message string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(websites)
	obj.SetNamespace(namespace)
	obj.SetName(name)
	condition := map[string]any{"type": "Ready", "status": "True", "reason": "Settled", "message": "all is so"}
	if message != "" {
		condition = map[string]any{"type": "Ready", "status": "False", "reason": "ReconcileError", "message": message}
	}
	obj.Object["status"] = map[string]any{"conditions": []any{condition}}
	return obj
}

// world is a box with resources, and a person who looks for them.
type world struct {
	*reader

	reviews *reviews
	clock   *clocktesting.FakePassiveClock
	cluster dynamic.NamespaceableResourceInterface
	box     *v1alpha1.OperatorBox
}

func newWorld(t *testing.T, objects ...*unstructured.Unstructured) *world {
	t.Helper()
	g := NewWithT(t)
	cluster := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{resource: "WebsiteList"})
	for _, obj := range objects {
		_, err := cluster.Resource(resource).Namespace(obj.GetNamespace()).Create(t.Context(), obj, metav1.CreateOptions{})
		g.Expect(err).NotTo(HaveOccurred())
	}
	w := &world{
		reviews: &reviews{may: func(string) bool { return true }}, clock: clocktesting.NewFakePassiveClock(beginning), cluster: cluster.Resource(resource),
		box: &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: "web"}},
	}
	w.box.Status.CRD.Name, w.box.Status.CRD.Version, w.box.Status.CRD.Kind = "websites.demo.example.com", "v1", "Website"
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{websites.GroupVersion()})
	mapper.AddSpecific(websites, resource, resource, meta.RESTScopeNamespace)
	caches := look.New(nil)
	source := NewSource(Ports{Caches: caches, Mapper: discovery.NewMapper(mapper, w.clock, nil, func(string) {}), Rights: person.NewRights(w.reviews, w.clock), Clock: w.clock})
	caches.Follow(source.troubles.changed)
	none := func(*unstructured.Unstructured) {}
	events := caches.Events("web", watch.ResourceEvents{Add: func(*unstructured.Unstructured, bool) {}, Update: none, Delete: none, Missed: none, Troubled: func() {}})
	resources := watch.NewResources(watch.Config{Client: cluster}, resource, nil, watch.Selection{}, events)
	resources.Start(t.Context())
	t.Cleanup(resources.Stop)
	g.Expect(resources.WaitForSync(t.Context())).To(Succeed())
	caches.Add("web", &look.Box{Plan: func() *pipeline.Plan { return &pipeline.Plan{} }, Resources: resources})
	w.reader = &reader{source: source, who: person.Person{Name: "ada"}}
	return w
}

// finds gives the names of what somebody finds who looks for a text for the first time.
func (w *world) finds(ctx context.Context, g Gomega, text string) (names, notes []string) {
	found, notes, err := (&reader{source: w.source, who: w.who}).find(ctx, w.box, text)
	g.Expect(err).NotTo(HaveOccurred())
	for _, row := range rows.Merge(found, rows.Search{Limit: 100}).Rows {
		names = append(names, row.Namespace+"/"+row.Name)
	}
	return names, notes
}

func TestASearchFindsNamesAndWhatResourcesSay(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t, website("a", "shop", ""), website("a", "cart", "The SHOP is closed"), website("b", "other", ""))
	names, notes := w.finds(t.Context(), g, "shop")
	g.Expect(names).To(Equal([]string{"a/shop", "a/cart"}))
	g.Expect(notes).To(BeEmpty())
	names, _ = w.finds(t.Context(), g, "all is so")
	g.Expect(names).To(BeEmpty(), "one that is ready says nothing")

	for _, changed := range []*unstructured.Unstructured{website("b", "other", "no shop"), website("a", "cart", "")} {
		changed.SetResourceVersion("2")
		_, err := w.cluster.Namespace(changed.GetNamespace()).Update(t.Context(), changed, metav1.UpdateOptions{})
		g.Expect(err).NotTo(HaveOccurred())
	}
	shops := func(g Gomega) []string {
		names, _ := w.finds(t.Context(), g, "shop")
		return names
	}
	// The fake API server does not tell a watch of what was deleted before it began. These two it tells.
	g.Eventually(shops).Should(Equal([]string{"a/shop", "b/other"}))
	g.Expect(w.cluster.Namespace("a").Delete(t.Context(), "shop", metav1.DeleteOptions{})).To(Succeed())
	g.Eventually(shops).Should(Equal([]string{"b/other"}))
	g.Expect(w.source.troubles.count.Load()).To(BeEquivalentTo(1))

	_, _, err := w.find(t.Context(), &v1alpha1.OperatorBox{}, "shop")
	g.Expect(err).To(HaveOccurred(), "a box without a kind")
	stopped := w.box.DeepCopy()
	stopped.Name = "stopped"
	_, _, err = w.find(t.Context(), stopped, "shop")
	g.Expect(err).To(MatchError(errNotRunning))
}

// TestASearchFindsWhatMayBeListed: everywhere, or in namespaces; those without a match are not asked about, and too many are not.
func TestASearchFindsWhatMayBeListed(t *testing.T) {
	g := NewWithT(t)
	objects := []*unstructured.Unstructured{website("a", "shop", ""), website("b", "shop", ""), website("c", "cart", "secret shop")}
	for n := range maxAsked {
		objects = append(objects, website(fmt.Sprintf("many-%03d", n), "site", ""))
	}
	w := newWorld(t, objects...)
	w.reviews.may = func(namespace string) bool { return namespace == "b" }
	names, _ := w.finds(t.Context(), g, "shop")
	g.Expect(names).To(Equal([]string{"b/shop"}))
	g.Expect(w.reviews.asked).To(Equal(4), "for all, and for a, b and c")
	names, notes := w.finds(t.Context(), g, "s")
	g.Expect(names).To(Equal([]string{"b/shop"}))
	g.Expect(notes).To(ContainElement(HavePrefix("What you may list was asked for in 200 namespaces")))
	w.reviews.err = errors.New("no answer")
	w.clock.SetTime(beginning.Add(time.Hour))
	_, _, err := w.find(t.Context(), w.box, "shop")
	g.Expect(err).To(MatchError(ContainSubstring("no answer")))
}

// TestWhatResourcesSayIsForgotten: some time after the last search, and with the box that was.
func TestWhatResourcesSayIsForgotten(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t, website("a", "cart", "closed"), website("a", "other", "closed, too"))
	troubles := w.source.troubles
	w.finds(t.Context(), g, "closed")
	g.Expect(troubles.count.Load()).To(BeEquivalentTo(2))
	former := troubles.boxes["web"]
	again := *w.source.Caches.Box("web")
	w.source.Caches.Add("web", &again)
	w.finds(t.Context(), g, "closed")
	g.Expect(troubles.boxes["web"]).NotTo(BeIdenticalTo(former))
	g.Expect(troubles.count.Load()).To(BeEquivalentTo(2))
	w.clock.SetTime(beginning.Add(searching + 1))
	troubles.changed("another", client.ObjectKey{})
	g.Expect(troubles.boxes).To(BeEmpty())
	g.Expect(troubles.count.Load()).To(BeZero())
	troubles.count.Store(maxTroubles)
	names, notes := w.finds(t.Context(), g, "cart")
	g.Expect(names).To(Equal([]string{"a/cart"}))
	g.Expect(notes).To(ContainElement(HavePrefix("More than 10000 resources are not ready")))
	g.Expect(troubles.boxes["web"].said).To(BeEmpty())
}
