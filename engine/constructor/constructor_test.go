package constructor

import (
	"context"
	"errors"
	"net/http"
	goruntime "runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/orkspace/orkestra/engine/hook"
	"github.com/orkspace/orkestra/engine/pipeline/hooks"
)

var (
	websites   = schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Website"}
	configMaps = corev1.SchemeGroupVersion.WithKind("ConfigMap")
)

// object gives one with a label "of", and what else a test says of it.
func object(gvk schema.GroupVersionKind, namespace, name, of string, change ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(gvk)
	obj.SetNamespace(namespace)
	obj.SetName(name)
	obj.SetLabels(map[string]string{"of": of})
	for _, f := range change {
		f(obj)
	}
	return obj
}

// world has the resources of a box and ConfigMaps.
type world struct {
	resources, maps []*unstructured.Unstructured
	acquired        []schema.GroupVersionKind
	unserved        error
	forbidden       string // a namespace
}

func (w *world) Get(key types.NamespacedName) (*unstructured.Unstructured, bool) {
	for _, obj := range w.resources {
		if client.ObjectKeyFromObject(obj) == key {
			return obj, true
		}
	}
	return nil, false
}

func (w *world) Keys() (keys []types.NamespacedName) {
	for _, obj := range w.resources {
		keys = append(keys, client.ObjectKeyFromObject(obj))
	}
	return keys
}

func (w *world) MayRead(_ context.Context, _ schema.GroupVersionKind, namespace, _ string) error {
	if w.forbidden != "" && (namespace == w.forbidden || namespace == "") {
		return errors.New("the account may not read it")
	}
	return nil
}

// objects are the ConfigMaps of a world.
type objects struct{ *world }

func (o objects) Acquire(_ context.Context, _ string, gvks ...schema.GroupVersionKind) error {
	o.acquired = append(o.acquired, gvks...)
	return o.unserved
}

func (o objects) Release(string, ...schema.GroupVersionKind) { o.acquired = nil }

func (o objects) Get(_ schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	for _, obj := range o.maps {
		if obj.GetNamespace() == namespace && obj.GetName() == name {
			return obj
		}
	}
	return nil
}

func (o objects) Select(_ schema.GroupVersionKind, namespace string, selector labels.Selector) (out []*unstructured.Unstructured) {
	for _, obj := range o.maps {
		if (namespace == "" || namespace == obj.GetNamespace()) && selector.Matches(labels.Set(obj.GetLabels())) {
			out = append(out, obj)
		}
	}
	return out
}

// code gives the code of a box whose constructor is given.
func (w *world) code(t *testing.T, maker hook.Constructor) *Code {
	t.Helper()
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(websites, meta.RESTScopeNamespace)
	mapper.Add(configMaps, meta.RESTScopeNamespace)
	scheme := runtime.NewScheme()
	g := NewWithT(t)
	g.Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	c, err := New(Config{
		Box: "website", Code: &hooks.Constructor{Name: "a.New", New: maker, Kinds: []schema.GroupVersionKind{configMaps}}, Kind: websites, Namespaced: true,
		Resources: w, Objects: objects{w}, Rights: w, REST: &rest.Config{Host: "http://localhost:1"}, HTTP: http.DefaultClient, Mapper: mapper, Scheme: scheme,
		Log: logr.Discard(), Timeout: time.Minute, Panicked: func(any, []byte) {},
	})
	g.Expect(err).NotTo(HaveOccurred())
	return c
}

func TestAConstructorThatGivesNothing(t *testing.T) {
	for want, maker := range map[string]hook.Constructor{
		`constructor a\.New: no key`:                                 func(hook.Environment) (reconcile.Reconciler, error) { return nil, errors.New("no key") },
		`constructor a\.New: panic: constructor_test\.go:\d+: a bug`: func(hook.Environment) (reconcile.Reconciler, error) { panic("a bug") },
		`constructor a\.New: it gives no reconciler, and no error`:   func(hook.Environment) (reconcile.Reconciler, error) { return nil, nil },
		`constructor a\.New: panic: constructor_test\.go:\d+: runtime\.Goexit was called, as t\.FailNow does; return an error instead$`: func(hook.Environment) (reconcile.Reconciler, error) {
			goruntime.Goexit()
			return nil, nil //nolint:nilnil // it is not reached
		},
		`constructor a\.New: panic: runtime error: invalid memory address`: nil,
	} {
		t.Run(want, func(t *testing.T) {
			NewWithT(t).Expect((&world{}).code(t, maker).make()).To(MatchError(MatchRegexp("^" + want)))
		})
	}
	c := (&world{}).code(t, func(hook.Environment) (reconcile.Reconciler, error) { return (*Code)(nil), nil })
	NewWithT(t).Expect(c.make()).To(MatchError(errNoReconciler), "a pointer to nothing is nothing")
}

// The environment has all that a constructor may want, and none of it is nil.
func TestTheEnvironment(t *testing.T) {
	g := NewWithT(t)
	var env hook.Environment
	made := reconcile.Func(func(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{RequeueAfter: time.Duration(len(r.Name))}, nil
	})
	c := (&world{}).code(t, func(e hook.Environment) (reconcile.Reconciler, error) { env = e; return made, nil })
	g.Expect(c.make()).To(Succeed())
	g.Expect(env.Client).NotTo(BeNil())
	g.Expect(env.Indexer).NotTo(BeNil())
	g.Expect(env.Scheme.Recognizes(configMaps)).To(BeTrue())
	env.Recorder.Eventf(&corev1.ConfigMap{}, nil, corev1.EventTypeNormal, "A", "B", "nobody hears it")
	result, err := c.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "abc"}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.RequeueAfter).To(BeEquivalentTo(3))
}

func TestReads(t *testing.T) {
	w := &world{
		resources: []*unstructured.Unstructured{object(websites, "a", "one", "x"), object(websites, "b", "two", "y")},
		maps: []*unstructured.Unstructured{
			object(configMaps, "a", "one", "x", func(o *unstructured.Unstructured) { o.Object["data"] = map[string]any{"image": "v1"} }),
			object(configMaps, "a", "two", "y", func(o *unstructured.Unstructured) { o.Object["data"] = map[string]any{"image": "v2"} }),
			object(configMaps, "b", "two", "y"),
		},
	}
	c := w.code(t, nil).client
	ctx, g := t.Context(), NewWithT(t)

	var typed corev1.ConfigMap
	g.Expect(c.Get(ctx, types.NamespacedName{Namespace: "a", Name: "one"}, &typed)).To(Succeed())
	g.Expect(typed.Data).To(Equal(map[string]string{"image": "v1"}))
	typed.Data["image"] = "changed"
	g.Expect(w.maps[0].Object["data"]).To(Equal(map[string]any{"image": "v1"}), "the cache stays as it is")
	site := object(websites, "", "", "")
	g.Expect(c.Get(ctx, types.NamespacedName{Namespace: "b", Name: "two"}, site)).To(Succeed())
	g.Expect(site.GetLabels()).To(HaveKeyWithValue("of", "y"))
	site.SetName("changed")
	g.Expect(w.resources[1].GetName()).To(Equal("two"))
	head := &metav1.PartialObjectMetadata{}
	head.SetGroupVersionKind(configMaps)
	g.Expect(c.Get(ctx, types.NamespacedName{Namespace: "a", Name: "two"}, head)).To(Succeed())
	g.Expect(head.Labels).To(HaveKeyWithValue("of", "y"))
	err := c.Get(ctx, types.NamespacedName{Namespace: "a", Name: "three"}, &typed)
	g.Expect(apierrors.IsNotFound(err)).To(BeTrue())
	g.Expect(err).To(MatchError(`configmaps "three" not found`))
	g.Expect(c.Get(ctx, types.NamespacedName{Namespace: "a", Name: "three"}, &corev1.Secret{})).To(MatchError("v1 Secret is not among spec.reconciler.constructor.resources: list it there"))

	for want, options := range map[int][]client.ListOption{
		3: nil,
		2: {client.InNamespace("a")},
		1: {client.InNamespace("a"), client.MatchingLabels{"of": "y"}},
		0: {client.MatchingFields{"metadata.name": "one", "metadata.namespace": "b"}},
	} {
		var list corev1.ConfigMapList
		g.Expect(c.List(ctx, &list, options...)).To(Succeed())
		g.Expect(list.Items).To(HaveLen(want))
	}
	all := &unstructured.UnstructuredList{}
	all.SetGroupVersionKind(websites.GroupVersion().WithKind("WebsiteList"))
	g.Expect(c.List(ctx, all, client.MatchingLabels{"of": "x"}, client.Limit(5))).To(Succeed())
	g.Expect(all.Items).To(HaveLen(1))
	g.Expect(c.List(ctx, all, client.Limit(1))).To(Succeed())
	g.Expect(all.Items).To(HaveLen(1))
	g.Expect(c.List(ctx, all, client.Continue("x"))).To(MatchError(ContainSubstring("know no continue token")))
	g.Expect(c.List(ctx, &corev1.SecretList{})).To(MatchError(ContainSubstring("v1 Secret is not among")))

	w.forbidden = "b"
	g.Expect(c.Get(ctx, types.NamespacedName{Namespace: "a", Name: "one"}, &typed)).To(Succeed())
	g.Expect(c.Get(ctx, types.NamespacedName{Namespace: "b", Name: "two"}, &typed)).To(MatchError("the account may not read it"))
	g.Expect(c.List(ctx, all)).To(MatchError("the account may not read it"))
	w.forbidden, w.unserved = "", errors.New("not installed")
	g.Expect(c.Get(ctx, types.NamespacedName{Namespace: "a", Name: "one"}, &typed)).To(MatchError("not installed"), "what is not known is not absent")
}

// What the code changes of what it has read, or is asked about by its indexes, is a copy: others read the same caches.
func TestWhatTheCodeChangesIsItsOwn(t *testing.T) {
	data := func(o *unstructured.Unstructured) { o.Object["data"] = map[string]any{"image": "v1"} }
	w := &world{resources: []*unstructured.Unstructured{object(websites, "a", "one", "x", data)}, maps: []*unstructured.Unstructured{object(configMaps, "a", "one", "x", data)}}
	was := []map[string]any{w.resources[0].DeepCopy().Object, w.maps[0].DeepCopy().Object}
	c := w.code(t, nil)
	ctx, g := t.Context(), NewWithT(t)
	scribble := func(obj *unstructured.Unstructured) {
		obj.SetName("changed")
		obj.Object["data"].(map[string]any)["image"] = "changed"
	}
	for _, gvk := range []schema.GroupVersionKind{websites, configMaps} {
		one, all := object(gvk, "", "", ""), &unstructured.UnstructuredList{}
		g.Expect(c.client.Get(ctx, types.NamespacedName{Namespace: "a", Name: "one"}, one)).To(Succeed())
		scribble(one)
		all.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		g.Expect(c.client.List(ctx, all)).To(Succeed())
		scribble(&all.Items[0])
		g.Expect(c.indexes.IndexField(ctx, object(gvk, "", "", ""), "data", func(obj client.Object) []string {
			scribble(obj.(*unstructured.Unstructured))
			return []string{"all"}
		})).To(Succeed())
		g.Expect(c.client.List(ctx, all, client.MatchingFields{"data": "all"})).To(Succeed())
		g.Expect(all.Items).To(HaveLen(1))
		g.Expect(all.Items[0].Object["data"]).To(Equal(map[string]any{"image": "v1"}))
	}
	g.Expect([]map[string]any{w.resources[0].Object, w.maps[0].Object}).To(Equal(was))
}

func TestIndexes(t *testing.T) {
	w := &world{maps: []*unstructured.Unstructured{
		object(configMaps, "a", "one", "x", func(o *unstructured.Unstructured) { o.Object["data"] = map[string]any{"image": "v1"} }), object(configMaps, "a", "two", "y"),
	}}
	c := w.code(t, nil)
	ctx, g := t.Context(), NewWithT(t)
	var list corev1.ConfigMapList
	g.Expect(c.client.List(ctx, &list, client.MatchingFields{"image": "v1"})).To(MatchError(ContainSubstring(`there is no index of the field "image"`)))
	g.Expect(c.indexes.IndexField(ctx, &corev1.ConfigMap{}, "image", func(obj client.Object) []string { return []string{obj.(*corev1.ConfigMap).Data["image"]} })).To(Succeed())
	g.Expect(c.client.List(ctx, &list, client.MatchingFields{"image": "v1"})).To(Succeed())
	g.Expect(list.Items).To(HaveLen(1))
}

func TestOwners(t *testing.T) {
	c := (&world{}).code(t, nil)
	of := func(apiVersion, kind string, controls bool) *unstructured.Unstructured {
		return object(configMaps, "a", "one", "", func(o *unstructured.Unstructured) {
			o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: "shop", Controller: &controls}})
		})
	}
	g := NewWithT(t)
	key, ok := c.OwnerOf(of("demo.example.com/v1", "Website", true))
	g.Expect(ok).To(BeTrue())
	g.Expect(key).To(Equal(types.NamespacedName{Namespace: "a", Name: "shop"}))
	_, ok = c.OwnerOf(of("demo.example.com/v2", "Website", true))
	g.Expect(ok).To(BeTrue(), "the version says nothing")
	for _, other := range []*unstructured.Unstructured{nil, of("demo.example.com/v1", "Website", false), of("demo.example.com/v1", "Shop", true), of("example.com/v1", "Website", true), object(configMaps, "a", "one", "")} {
		_, ok = c.OwnerOf(other)
		g.Expect(ok).To(BeFalse())
	}
	c.config.Namespaced = false
	key, _ = c.OwnerOf(of("demo.example.com/v1", "Website", true))
	g.Expect(key).To(Equal(types.NamespacedName{Name: "shop"}))
}

// A constructor that fails is called again after pauses that grow, and one that does not return is named.
func TestConstructorsAreCalledUntilTheyGiveAReconciler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		var said []string
		var called []time.Duration
		begin := time.Now()
		how := Making{
			Clock: clock.RealClock{}, Limit: time.Minute, Most: func() time.Duration { return 3 * time.Second },
			Failed: func(err error) { said = append(said, err.Error()) },
		}
		c := (&world{}).code(t, func(hook.Environment) (reconcile.Reconciler, error) {
			called = append(called, time.Since(begin))
			switch {
			case len(called) < 5:
				return nil, errors.New("no key")
			case len(called) == 5:
				time.Sleep(2 * time.Minute)
			}
			return reconcile.Func(nil), nil
		})
		g.Expect(c.Construct(t.Context(), how)).To(BeTrue())
		g.Expect(called).To(Equal([]time.Duration{0, time.Second, 3 * time.Second, 6 * time.Second, 9 * time.Second}))
		g.Expect(said).To(HaveLen(5))
		g.Expect(said[4]).To(HavePrefix("constructor a.New has not returned within 1m0s"))

		ctx, cancel := context.WithCancel(t.Context())
		how.Failed = func(error) { cancel() }
		none := (&world{}).code(t, func(hook.Environment) (reconcile.Reconciler, error) { return nil, errors.New("no key") })
		g.Expect(none.Construct(ctx, how)).To(BeFalse(), "the box ends")
	})
}
