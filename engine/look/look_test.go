package look

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/watch"
	"github.com/orkspace/orkestra/test/fixtures"
)

var (
	shops     = schema.GroupVersionResource{Group: "test.example.com", Version: "v1", Resource: "shops"}
	shopKind  = shops.GroupVersion().WithKind("Shop")
	cups      = schema.GroupVersionResource{Group: "test.example.com", Version: "v1", Resource: "cups"}
	cupKind   = cups.GroupVersion().WithKind("Cup")
	bowls     = schema.GroupVersionResource{Group: "test.example.com", Version: "v1", Resource: "bowls"}
	bowlKind  = bowls.GroupVersion().WithKind("Bowl")
	otherKind = cups.GroupVersion().WithKind("Other")
)

func object(kind schema.GroupVersionKind, namespace, name, owner string) *unstructured.Unstructured {
	obj := fixtures.Object(kind, namespace, name)
	if owner != "" {
		obj.SetLabels(map[string]string{v1alpha1.LabelOwnerUID: owner, v1alpha1.LabelBox: "shop"})
	}
	return obj
}

// world is informers of Shops, which are resources, of Cups, which are their children, and of Bowls, which are read.
type world struct {
	caches   *Caches
	children *watch.Children
	observed *watch.Observed
	boxes    *watch.Resources
}

// watched has all of it run until the test ends.
func watched(t *testing.T, w *world, objects ...runtime.Object) {
	t.Helper()
	g := NewWithT(t)
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []schema.GroupVersionKind{shopKind, cupKind, bowlKind} {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	var client dynamic.Interface = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{shops: "ShopList", cups: "CupList", bowls: "BowlList"}, objects...)
	config := watch.Config{Client: client, Mapper: mapper, Log: logr.Discard()}
	w.children = watch.NewChildren(config, func(types.UID, string, schema.GroupVersionKind) {})
	w.observed = watch.NewObserved(config, func(schema.GroupVersionKind, *unstructured.Unstructured, *unstructured.Unstructured) {})
	w.caches = New(w.children, w.observed)
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { g.Expect(w.children.Run(ctx)).To(Succeed()) })
	group.Go(func() { g.Expect(w.observed.Run(ctx)).To(Succeed()) })
	w.boxes = watch.NewResources(config, shops, nil, watch.Selection{}, watch.ResourceEvents{})
	t.Cleanup(func() {
		w.boxes.Stop()
		cancel()
		group.Wait()
	})
}

// shop is a box that runs.
func (w *world) shop() *Box {
	plan := &pipeline.Plan{}
	plan.CRD.Kind = shopKind
	return &Box{Plan: func() *pipeline.Plan { return plan }, Resources: w.boxes}
}

func TestWhatIsKnownIsWhatABoxWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, w := NewWithT(t), &world{}
		watched(t, w, object(shopKind, "a", "web", ""), object(cupKind, "a", "mine", "uid-of-web"), object(cupKind, "a", "theirs", "uid-of-other"), object(bowlKind, "a", "seen", ""), object(bowlKind, "b", "far", ""))
		get := func(kind schema.GroupVersionKind, name string) (found, known bool) {
			obj, known := w.caches.Object(kind, "a", name)
			return obj != nil, known
		}
		is := func(found, known bool) []bool { return []bool{found, known} }
		unknown, absent, there := []bool{false, false}, []bool{false, true}, []bool{true, true}

		g.Expect(is(get(shopKind, "web"))).To(Equal(unknown), "no box runs")
		w.caches.Add("shop", w.shop())
		g.Expect(is(get(shopKind, "gone"))).To(Equal(unknown), "its informer has not synced")
		w.boxes.Start(t.Context())
		g.Expect(w.boxes.WaitForSync(t.Context())).To(Succeed())
		g.Expect(is(get(shopKind, "web"))).To(Equal(there))
		g.Expect(is(get(shopKind, "gone"))).To(Equal(absent))
		g.Expect(is(get(cupKind, "mine"))).To(Equal(unknown))
		_, known := w.caches.Children(cupKind, "uid-of-web")
		g.Expect(known).To(BeFalse())
		_, known = w.caches.Objects(bowlKind, "", labels.Everything())
		g.Expect(known).To(BeFalse())

		g.Expect(w.children.Acquire(t.Context(), "shop", cupKind)).To(Succeed())
		g.Expect(w.observed.Acquire(t.Context(), "shop", bowlKind)).To(Succeed())
		g.Expect(is(get(cupKind, "mine"))).To(Equal(there))
		g.Expect(is(get(bowlKind, "seen"))).To(Equal(there))
		g.Expect(is(get(bowlKind, "gone"))).To(Equal(absent))
		g.Expect(is(get(otherKind, "gone"))).To(Equal(unknown))
		children, known := w.caches.Children(cupKind, "uid-of-web")
		g.Expect(known).To(BeTrue())
		g.Expect(children).To(HaveExactElements(HaveField("GetName()", "mine")))
		objects, known := w.caches.Objects(bowlKind, "b", labels.Everything())
		g.Expect(known).To(BeTrue())
		g.Expect(objects).To(HaveExactElements(HaveField("GetName()", "far")))
		objects, known = w.caches.Objects(bowlKind, "", labels.SelectorFromSet(labels.Set{"a": "b"}))
		g.Expect(known).To(BeTrue())
		g.Expect(objects).To(BeEmpty())

		w.caches.Drop("shop")
		g.Expect(w.caches.Box("shop")).To(BeNil())
		g.Expect(is(get(shopKind, "gone"))).To(Equal(unknown), "no box runs any more")
		_, known = w.caches.Children(cupKind, "uid-of-web")
		g.Expect(known).To(BeFalse())
	})
}

// TestChangesAreToldBehindTheBox: who is told of a change finds it in the caches, and sees what the box has made of it.
func TestChangesAreToldBehindTheBox(t *testing.T) {
	g := NewWithT(t)
	caches := New(nil)
	var told []string
	note := func(what string) func(*unstructured.Unstructured) {
		return func(*unstructured.Unstructured) { told = append(told, what) }
	}
	events := caches.Events("shop", watch.ResourceEvents{
		Add:    func(obj *unstructured.Unstructured, _ bool) { note("add")(obj) },
		Update: note("update"), Delete: note("delete"), Missed: note("missed"),
	})
	obj := object(shopKind, "a", "web", "")
	events.Update(obj)
	g.Expect(told).To(Equal([]string{"update"}), "nobody listens")
	for _, who := range []string{"first", "second"} {
		told = nil
		caches.Follow(func(box string, resource types.NamespacedName) {
			told = append(told, who+" "+box+" "+resource.String())
		})
		events.Add(obj, true)
		events.Update(obj)
		events.Delete(obj)
		events.Missed(obj)
		caches.Changed("other", types.NamespacedName{Namespace: "b", Name: "of a child"})
		is := who + " shop a/web"
		g.Expect(told).To(Equal([]string{"add", is, "update", is, "delete", is, "missed", is, who + " other b/of a child"}))
	}
}
