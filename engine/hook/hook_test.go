package hook

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// cache is what hooks read.
type cache struct{ objects []*unstructured.Unstructured }

func (c cache) Get(_ context.Context, gvk schema.GroupVersionKind, key client.ObjectKey) (*unstructured.Unstructured, error) {
	for _, obj := range c.objects {
		if obj.GroupVersionKind() == gvk && client.ObjectKeyFromObject(obj) == key {
			return obj, nil
		}
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: gvk.Kind}, key.Name)
}

func (c cache) List(_ context.Context, gvk schema.GroupVersionKind, _ *client.ListOptions) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, obj := range c.objects {
		if obj.GroupVersionKind() == gvk {
			out = append(out, obj)
		}
	}
	return out, nil
}

func (cache) Secret(context.Context, string, string) (string, error) { return "hunter22", nil }
func (cache) Client() client.Client                                  { return nil }

func registry(t *testing.T) *Registry {
	t.Helper()
	r, err := NewRegistry()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return r
}

// call runs a function once as OnReconcile of a resource that is a ConfigMap.
func call(t *testing.T, f func(*Call[*corev1.ConfigMap]) error) (*Outcome, error) {
	t.Helper()
	r, out := registry(t), &Outcome{}
	hooks := Hooks[*corev1.ConfigMap]{OnReconcile: func(_ context.Context, c *Call[*corev1.ConfigMap]) error { return f(c) }}
	NewWithT(t).Expect(AddHooks(r, "x.Y", func() Hooks[*corev1.ConfigMap] { return hooks })).To(Succeed())
	secret := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"a": base64.StdEncoding.EncodeToString([]byte("of a child"))}}}
	read := cache{objects: []*unstructured.Unstructured{named("one"), named("two")}}
	resource := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "r"}, "data": map[string]any{"k": "v"}}
	err := r.Hooks("x.Y").Call(t.Context(), Reconcile, resource, Cycle{
		Now: time.Unix(0, 0), Log: logr.Discard(), Args: NewArgs(map[string]any{"size": int64(3)}), Children: NewChildren(map[string]*unstructured.Unstructured{"secret": secret}, nil),
	}, read, out)
	return out, err
}

func named(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": "ns"}, "data": map[string]any{"of": name}}}
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// TestWhatIsDeclared is the object without status, without what the API server sets, and without what a typed object says of fields that nobody
// has set.
func TestWhatIsDeclared(t *testing.T) {
	g := NewWithT(t)
	out, err := call(t, func(c *Call[*corev1.ConfigMap]) error {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "u", ResourceVersion: "7"}, Status: appsv1.DeploymentStatus{Replicas: 3}}
		d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "a", Image: c.Resource.Data["k"]}}
		return errors.Join(c.Apply(d, WithID("web"), Adopt(), Orphan()), c.Apply(configMap("a")), c.Apply(named("a"), Once(), Replace()))
	})
	g.Expect(err).NotTo(HaveOccurred())
	web := out.Children[0]
	g.Expect(web.Object.Object).To(And(HaveKeyWithValue("apiVersion", "apps/v1"), HaveKeyWithValue("kind", "Deployment"), Not(HaveKey("status"))))
	g.Expect(web.Object.Object["metadata"]).To(Equal(map[string]any{"name": "web"}))
	g.Expect(fmt.Sprint(web.Object.Object)).NotTo(ContainSubstring("<nil>"))
	g.Expect(web.Adopt && web.Orphan && !web.Once && !web.Replace).To(BeTrue())
	g.Expect(out.Children[2].Once && out.Children[2].Replace).To(BeTrue())
	g.Expect([]string{web.ID, out.Children[1].ID, out.Children[2].ID}).To(Equal([]string{"web", "ConfigMap/a", "ConfigMap/ns/a"}))
}

// TestMistakesCountAlsoWhereTheHookIgnoresThem: a child that is not declared by mistake would be deleted.
func TestMistakesCountAlsoWhereTheHookIgnoresThem(t *testing.T) {
	long := strings.Repeat("x", 300)
	for want, f := range map[string]func(*Call[*corev1.ConfigMap]){
		"wanted an object, got nil": func(c *Call[*corev1.ConfigMap]) { _ = c.Apply(nil) },
		"declared without a name":   func(c *Call[*corev1.ConfigMap]) { _ = c.Apply(configMap("")) },
		`child "a" is declared twice`: func(c *Call[*corev1.ConfigMap]) {
			_, _ = c.Apply(configMap("a"), WithID("a")), c.Apply(configMap("b"), WithID("a"))
		},
		"an id has at most 253 characters": func(c *Call[*corev1.ConfigMap]) { _ = c.Apply(configMap("a"), WithID(long)) },
		"at most 1000 children": func(c *Call[*corev1.ConfigMap]) {
			for i := range 1001 {
				_ = c.Apply(configMap(fmt.Sprint(i)))
			}
		},
		"at most 262144 bytes of the status":   func(c *Call[*corev1.ConfigMap]) { _ = c.SetStatus("big", strings.Repeat("x", 256<<10)) },
		"a status field needs a path":          func(c *Call[*corev1.ConfigMap]) { _ = c.SetStatus("", 1) },
		"encoding the value":                   func(c *Call[*corev1.ConfigMap]) { _ = c.SetStatus("f", func() {}) },
		`condition "Ready" is set by Orkestra`: func(c *Call[*corev1.ConfigMap]) { _ = c.SetCondition(metav1.Condition{Type: "Ready", Status: "True"}) },
		"a type and a status":                  func(c *Call[*corev1.ConfigMap]) { _ = c.SetCondition(metav1.Condition{Type: "Mine"}) },
		`"two words" is not one word`:          func(c *Call[*corev1.ConfigMap]) { c.Wait("two words", "") },
		"at most 32 in one call": func(c *Call[*corev1.ConfigMap]) {
			for range 33 {
				c.Event("Said", "")
			}
		},
	} {
		t.Run(want, func(t *testing.T) {
			_, err := call(t, func(c *Call[*corev1.ConfigMap]) error { f(c); return nil })
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(want)))
		})
	}
}

func TestWhatIsSaidIsInTheOutcome(t *testing.T) {
	g := NewWithT(t)
	out, err := call(t, func(c *Call[*corev1.ConfigMap]) error {
		var args struct{ Size int }
		g.Expect(c.Args.Decode(&args)).To(Succeed())
		g.Expect(c.Args.Get("size")).To(Equal(int64(3)))
		g.Expect(c.Args.Decode(&struct{ Other int }{})).To(MatchError(ContainSubstring("size")), "a name that the struct does not have")
		c.Wait("", "for it")
		c.RequeueAfter(time.Hour)
		c.RequeueAfter(time.Minute)
		c.RequeueAfter(0)
		c.RequeueAfter(-time.Second)
		c.Warn("Slow", "it is slow")
		return errors.Join(c.SetStatus("a.b", struct{ N int }{args.Size}), c.SetCondition(metav1.Condition{Type: "Mine", Status: "True"}))
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out.Status).To(Equal([]StatusField{{Path: "a.b", Value: map[string]any{"N": int64(3)}}}))
	g.Expect(out.Waits).To(Equal([]Wait{{Message: "for it"}}))
	g.Expect(out.Events).To(Equal([]Event{{Reason: "Slow", Message: "it is slow", Warning: true}}))
	g.Expect(out.RequeueAfter).To(Equal(time.Minute))
	g.Expect(out.Conditions).To(HaveLen(1))
}

// TestRequeueAfterHasAShortestTime: a hook that asks for a millisecond would have its whole cycle run without end.
func TestRequeueAfterHasAShortestTime(t *testing.T) {
	out, err := call(t, func(c *Call[*corev1.ConfigMap]) error {
		c.RequeueAfter(time.Minute)
		c.RequeueAfter(time.Millisecond)
		return nil
	})
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out.RequeueAfter).To(Equal(MinRequeue))
}

// TestReading gives copies, typed or not, and finds kinds by their types.
func TestReading(t *testing.T) {
	g := NewWithT(t)
	_, err := call(t, func(c *Call[*corev1.ConfigMap]) error {
		one, all, u := &corev1.ConfigMap{}, &corev1.ConfigMapList{}, &unstructured.UnstructuredList{}
		g.Expect(c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "one"}, one)).To(Succeed())
		g.Expect(one.Data).To(Equal(map[string]string{"of": "one"}))
		g.Expect(apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "none"}, one))).To(BeTrue())
		g.Expect(c.List(t.Context(), all)).To(Succeed())
		g.Expect(all.Items).To(HaveLen(2))
		u.SetAPIVersion("v1")
		u.SetKind("ConfigMapList")
		g.Expect(c.List(t.Context(), u)).To(Succeed())
		g.Expect(u.Items).To(HaveLen(2))
		u.Items[0].SetName("changed")
		g.Expect(c.List(t.Context(), all)).To(Succeed())
		g.Expect(all.Items[0].Name).To(Equal("one"), "the cache is not shared")
		return c.List(t.Context(), all, client.MatchingFields{"a": "b"})
	})
	g.Expect(err).To(MatchError(ContainSubstring("not by fields")))
}

// TestWhatAHookChangesIsItsOwn: what it has read, what it has declared, and the resource that it is given.
func TestWhatAHookChangesIsItsOwn(t *testing.T) {
	g, r, out := NewWithT(t), registry(t), &Outcome{}
	scribble := func(obj *unstructured.Unstructured) {
		obj.SetName("changed")
		obj.Object["data"].(map[string]any)["of"] = "changed"
	}
	type kind = *unstructured.Unstructured
	hooks := Hooks[kind]{OnReconcile: func(ctx context.Context, c *Call[kind]) error {
		one, all, child := named(""), &unstructured.UnstructuredList{}, &unstructured.Unstructured{}
		g.Expect(c.Get(ctx, client.ObjectKey{Namespace: "ns", Name: "one"}, one)).To(Succeed())
		g.Expect(c.Apply(one)).To(Succeed())
		scribble(one)
		all.SetAPIVersion("v1")
		all.SetKind("ConfigMapList")
		g.Expect(c.List(ctx, all)).To(Succeed())
		scribble(&all.Items[1])
		found, err := c.Children.Get("child", child)
		g.Expect(found, err).To(BeTrue())
		scribble(child)
		scribble(c.Resource)
		return nil
	}}
	g.Expect(AddHooks(r, "x.Any", func() Hooks[kind] { return hooks })).To(Succeed())
	read, child, resource := cache{objects: []*unstructured.Unstructured{named("one"), named("two")}}, named("child"), named("r")
	g.Expect(r.Hooks("x.Any").Call(t.Context(), Reconcile, resource.Object, Cycle{
		Log: logr.Discard(), Children: NewChildren(map[string]*unstructured.Unstructured{"child": child}, nil),
	}, read, out)).To(Succeed())
	for i, name := range []string{"one", "two", "child", "r"} {
		g.Expect(append(read.objects, child, resource)[i]).To(Equal(named(name)))
	}
	g.Expect(out.Children).To(HaveLen(1))
	g.Expect(out.Children[0].Object.Object["data"]).To(Equal(map[string]any{"of": "one"}))
	g.Expect(out.Children[0].Object.GetName()).To(Equal("one"))
}

// TestSecretsAreRemembered, so that they are not shown: those that are read by name, and those of children.
func TestSecretsAreRemembered(t *testing.T) {
	g := NewWithT(t)
	out, err := call(t, func(c *Call[*corev1.ConfigMap]) error {
		if _, err := c.Secret(t.Context(), "a", "b"); err != nil {
			return err
		}
		found, err := c.Children.Get("secret", &corev1.Secret{})
		g.Expect(found && c.Children.Has("secret") && !c.Children.Has("other")).To(BeTrue())
		return err
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out.Secrets).To(Equal([]string{"hunter22", "of a child"}))
}

// TestAResourceThatDoesNotFitItsType is an error that names the field.
func TestAResourceThatDoesNotFitItsType(t *testing.T) {
	g := NewWithT(t)
	r := registry(t)
	g.Expect(AddHooks(r, "x.Y", func() Hooks[*corev1.ConfigMap] {
		return Hooks[*corev1.ConfigMap]{OnDelete: func(context.Context, *Call[*corev1.ConfigMap]) error { return nil }}
	})).To(Succeed())
	f := r.Hooks("x.Y")
	for want, resource := range map[string]map[string]any{
		`unknown field "extra"`: {"extra": "a"},
		"immutable":             {"immutable": "yes"},
	} {
		g.Expect(f.Call(t.Context(), Delete, resource, Cycle{}, cache{}, &Outcome{})).To(MatchError(And(
			ContainSubstring("the resource does not fit *v1.ConfigMap"), ContainSubstring(want))))
	}
	g.Expect(AddHooks(r, "x.Pod", func() Hooks[*corev1.Pod] {
		return Hooks[*corev1.Pod]{OnDelete: func(context.Context, *Call[*corev1.Pod]) error { return nil }}
	})).To(Succeed())
	status := map[string]any{"status": map[string]any{"more": "a"}}
	g.Expect(r.Hooks("x.Pod").Call(t.Context(), Delete, status, Cycle{}, cache{}, &Outcome{})).To(Succeed(), "a status may hold more")
	g.Expect(f.Kind()).To(Equal(corev1.SchemeGroupVersion.WithKind("ConfigMap")))
	g.Expect(f.Has(Delete) && !f.Has(Create)).To(BeTrue())
}

// TestTypesAreThoseOfTheScheme: the type of a resource and that of its list, of one version.
func TestTypesAreThoseOfTheScheme(t *testing.T) {
	g := NewWithT(t)
	type unknown struct{ corev1.ConfigMap }
	type list struct{ corev1.ConfigMapList }
	r, nothing := registry(t), func(*runtime.Scheme) error { return nil }
	g.Expect(r.AddTypes(nothing, &corev1.ConfigMap{}, &corev1.ConfigMapList{})).To(Succeed())
	g.Expect(r.AddTypes(func(*runtime.Scheme) error { return errors.New("no") }, &corev1.ConfigMap{}, &corev1.ConfigMapList{})).To(MatchError("adding types to the scheme: no"))
	g.Expect(r.AddTypes(nothing, &unknown{}, &corev1.ConfigMapList{})).To(MatchError(ContainSubstring("*hook.unknown: the function that was given with it does not add it")))
	g.Expect(r.AddTypes(nothing, &corev1.ConfigMap{}, &list{})).To(MatchError(ContainSubstring("*hook.list: the function that was given with it does not add it")))
	g.Expect(r.AddTypes(nothing, &corev1.ConfigMap{}, &appsv1.DeploymentList{})).To(MatchError("*v1.ConfigMap is of v1, and its list *v1.DeploymentList of apps/v1"))
	add := func(s *runtime.Scheme) error {
		s.AddKnownTypes(schema.GroupVersion{Group: "demo.example.com", Version: "v1"}, &unknown{}, &list{})
		return nil
	}
	g.Expect(r.AddTypes(add, &unknown{}, &list{})).To(Succeed())
}

func TestRegistering(t *testing.T) {
	g := NewWithT(t)
	r := registry(t)
	some := func() Hooks[*corev1.ConfigMap] {
		return Hooks[*corev1.ConfigMap]{OnCreate: func(context.Context, *Call[*corev1.ConfigMap]) error { return nil }}
	}
	g.Expect(AddHooks(r, "b.F", some)).To(Succeed())
	g.Expect(AddHooks(r, "a.F", some)).To(Succeed())
	g.Expect(AddHooks(r, "a.F", some)).To(MatchError(`hooks "a.F" are registered twice`))
	g.Expect(AddHooks(r, "c.F", func() Hooks[*corev1.ConfigMap] { return Hooks[*corev1.ConfigMap]{} })).To(MatchError(ContainSubstring("none of OnCreate")))
	g.Expect(AddHooks(r, "d.F", func() Hooks[client.Object] { return Hooks[client.Object]{} })).To(MatchError(ContainSubstring("is no pointer")))
	g.Expect(r.HookNames()).To(Equal([]string{"a.F", "b.F"}))
	var none *Registry
	g.Expect(none.HookNames()).To(BeEmpty())
	g.Expect(none.Hooks("a.F")).To(BeNil())
	g.Expect(none.Constructor("a.F")).To(BeNil())
}

type reconciler struct{ client client.Client }

func (reconciler) Reconcile(context.Context, reconcile.Request) (reconcile.Result, error) {
	return reconcile.Result{}, nil
}

// TestConstructorsTakeWhatAnEnvironmentHas, in whatever order.
func TestConstructorsTakeWhatAnEnvironmentHas(t *testing.T) {
	g := NewWithT(t)
	r := registry(t)
	g.Expect(AddConstructor(r, "a.New", func(c client.Client, _ logr.Logger) *reconciler { return &reconciler{c} })).To(Succeed())
	g.Expect(AddConstructor(r, "a.Err", func(Environment) (reconcile.Reconciler, error) { return nil, errors.New("no") })).To(Succeed())
	g.Expect(AddConstructor(r, "a.Odd", func(string) *reconciler { return nil })).To(MatchError(ContainSubstring("found func(string)")))
	g.Expect(AddConstructor(r, "a.None", func() error { return nil })).To(MatchError(ContainSubstring("wanted a function")))
	g.Expect(AddConstructor(r, "a.Nil", nil)).To(MatchError(ContainSubstring("found nil")))
	g.Expect(AddConstructor(r, "a.New", func() *reconciler { return nil })).To(MatchError(ContainSubstring("twice")))
	made, err := r.Constructor("a.New")(Environment{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(made).To(BeAssignableToTypeOf(&reconciler{}))
	_, err = r.Constructor("a.Err")(Environment{})
	g.Expect(err).To(MatchError("no"))
	g.Expect(r.ConstructorNames()).To(Equal([]string{"a.Err", "a.New"}))
}
