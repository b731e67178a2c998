package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	goruntime "runtime"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/hook"
)

// Website is the Go type of the kind of a world, as an author of hooks has it.
type Website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              WebsiteSpec    `json:"spec,omitempty"`
	Status            map[string]any `json:"status,omitempty"`
}

// WebsiteSpec is its spec, as far as the hooks of these specs go.
type WebsiteSpec struct {
	Image    string            `json:"image,omitempty"`
	Replicas int               `json:"replicas,omitempty"`
	Settings map[string]string `json:"settings,omitempty"`
}

// DeepCopyObject implements runtime.Object.
func (w *Website) DeepCopyObject() runtime.Object {
	out := *w
	w.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status = runtime.DeepCopyJSON(w.Status)
	return &out
}

// hooks is the code of one spec. Its functions may change while it runs.
type hooks struct {
	mu     sync.Mutex
	calls  []string // phase and image; guarded by mu
	hooks  hook.Hooks[*Website]
	always func(ctx context.Context, c *hook.Call[*Website]) error // OnReconcile; guarded by mu
}

// called gives what was called since it was last asked.
func (h *hooks) called() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.calls
	h.calls = nil
	return out
}

// does changes OnReconcile.
func (h *hooks) does(f func(ctx context.Context, c *hook.Call[*Website]) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.always = f
}

// noting notes the calls of a function.
func (h *hooks) noting(phase string, f func(ctx context.Context, c *hook.Call[*Website]) error) func(context.Context, *hook.Call[*Website]) error {
	return func(ctx context.Context, c *hook.Call[*Website]) error {
		h.mu.Lock()
		h.calls = append(h.calls, phase+" "+c.Resource.Name+" "+c.Resource.Spec.Image)
		if f == nil {
			f := h.always
			h.mu.Unlock()
			return f(ctx, c)
		}
		h.mu.Unlock()
		return f(ctx, c)
	}
}

// registry has the hooks under the names of a package of their own.
func (h *hooks) registry(w *world) *hook.Registry {
	GinkgoHelper()
	r, err := hook.NewRegistry()
	Expect(err).NotTo(HaveOccurred())
	Expect(r.AddToScheme(func(s *runtime.Scheme) error {
		s.AddKnownTypeWithName(schema.GroupVersionKind{Group: w.group, Version: "v1", Kind: "Website"}, &Website{})
		return nil
	})).To(Succeed())
	all := h.hooks
	all.OnReconcile = h.noting("reconcile", nil)
	Expect(hook.AddHooks(r, "example.com/op.Websites", func() hook.Hooks[*Website] { return all })).To(Succeed())
	return r
}

// with replaces the manager by one that has the hooks.
func (h *hooks) with(w *world) {
	GinkgoHelper()
	replaceManager(func(s *settings) { s.orkestra.Code = h.registry(w) })
}

// hooked is the spec of a box with these hooks.
func hooked(rest string) string {
	return `{apiTypes: {location: github.com/orkspace/orkestra/test/e2e_test, object: Website}, reconciler: {hooks: {location: example.com/op, function: Websites, resources: [{kind: ConfigMap}, {kind: Secret}]}}` + rest + `}`
}

func mapOf(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
}

// made waits for a ConfigMap.
func (w *world) made(ctx context.Context, name string) {
	GinkgoHelper()
	Eventually(func() error {
		return kube.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: name}, &corev1.ConfigMap{})
	}).WithContext(ctx).Should(Succeed())
}

// onePerSetting declares a ConfigMap for each setting.
func onePerSetting(_ context.Context, c *hook.Call[*Website]) error {
	for name, text := range c.Resource.Spec.Settings {
		if err := c.Apply(mapOf(c.Resource.Name+"-"+name, map[string]string{"text": text, "image": c.Resource.Spec.Image}), hook.WithID(name)); err != nil {
			return err
		}
	}
	return c.SetStatus("url", fmt.Sprintf("%d settings", len(c.Resource.Spec.Settings)))
}

var _ = Describe("Hooks", func() {
	It("make children of a typed resource, put them back, and prune them", func(ctx context.Context) {
		w := newWorld(ctx)
		h := &hooks{always: onePerSetting, hooks: hook.Hooks[*Website]{Pure: true}}
		h.with(w)
		w.running(ctx, w.box(ctx, hooked(`, status: {fields: [{path: phase, value: "{{ .children.hook.a.data.text }}"}]}`)))
		w.website(ctx, "shop", `{image: v1, settings: {a: one, b: two}}`)
		text := func(name string) func() string {
			return func() string {
				cm := &corev1.ConfigMap{}
				if err := kube.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: name}, cm); err != nil {
					return string(apierrors.ReasonForError(err))
				}
				return cm.Data["text"]
			}
		}
		Eventually(text("shop-a")).WithContext(ctx).Should(Equal("one"))
		Eventually(text("shop-b")).WithContext(ctx).Should(Equal("two"))
		Eventually(func(g Gomega) {
			obj := w.get(ctx, g, "shop")
			g.Expect(condition(obj, "Ready")).To(HaveField("Status", metav1.ConditionTrue))
			g.Expect(obj.Object["status"]).To(And(HaveKeyWithValue("url", "2 settings"), HaveKeyWithValue("phase", "one")))
		}).WithContext(ctx).Should(Succeed())
		out, _ := orkestra(ctx, "tree", "website/shop", "-n", w.namespace)
		Expect(out).To(ContainSubstring("shop-a"), "the tree shows them")

		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "shop-a", Namespace: w.namespace}}
		Expect(kube.Patch(ctx, cm, client.RawPatch(types.MergePatchType, []byte(`{"data":{"text":"other"}}`)))).To(Succeed())
		Eventually(text("shop-a")).WithContext(ctx).Should(Equal("one"))
		w.website(ctx, "shop", `{image: v1, settings: {b: two}}`)
		Eventually(text("shop-a")).WithContext(ctx).Should(Equal(string(metav1.StatusReasonNotFound)))
		Eventually(func(g Gomega) {
			g.Expect(w.get(ctx, g, "shop").Object["status"]).To(HaveKeyWithValue("url", "1 settings"))
		}).WithContext(ctx).Should(Succeed())

		// The box no longer has the hook: what it has made goes.
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{name: own}]}}`))
		Eventually(text("shop-b")).WithContext(ctx).Should(Equal(string(metav1.StatusReasonNotFound)))
	})

	It("fail for one resource alone: by an error, a panic, an exit, and a child of somebody else", func(ctx context.Context) {
		w := newWorld(ctx)
		h := &hooks{}
		h.does(func(_ context.Context, c *hook.Call[*Website]) error {
			switch c.Resource.Name {
			case "panics":
				panic("a bug")
			case "exits":
				goruntime.Goexit() // as t.FailNow does
				return nil
			case "fails":
				return errors.New("no such \x1b[31mtable")
			case "takes":
				return c.Apply(mapOf("of-good", nil))
			default:
				return c.Apply(mapOf("of-"+c.Resource.Name, nil))
			}
		})
		h.with(w)
		w.running(ctx, w.box(ctx, hooked("")))
		w.website(ctx, "good", `{image: v1}`)
		w.made(ctx, "of-good")
		for name, says := range map[string]string{
			"panics": `^hook: panic: hooks_test\.go:\d+: a bug$`, "exits": `^hook: panic: hooks_test\.go:\d+: runtime\.Goexit was called`,
			"fails": `^hook: no such \\x1b\[31mtable$`, "takes": `of-good`,
		} {
			w.website(ctx, name, `{image: v1}`)
			Eventually(func(g Gomega) {
				ready := condition(w.get(ctx, g, name), "Ready")
				g.Expect(ready.Status).To(Equal(metav1.ConditionFalse))
				g.Expect(ready.Message).To(MatchRegexp(says))
			}).WithContext(ctx).Should(Succeed(), name)
		}
		Eventually(func(g Gomega) {
			g.Expect(condition(w.get(ctx, g, "takes"), "Stalled").Reason).To(Equal(v1alpha1.ReasonNotOwned))
			g.Expect(condition(w.get(ctx, g, "good"), "Ready").Status).To(Equal(metav1.ConditionTrue))
		}).WithContext(ctx).Should(Succeed())
	})

	It("that do not come back make their box stuck, and not the others", func(ctx context.Context) {
		w := newWorld(ctx)
		h, back := &hooks{}, make(chan struct{})
		h.does(func(_ context.Context, c *hook.Call[*Website]) error {
			if c.Resource.Spec.Image == "hangs" {
				<-back // it ignores its context
			}
			return nil
		})
		replaceManager(func(s *settings) {
			s.orkestra.Code = h.registry(w)
			s.orkestra.ReconcileTimeout = time.Second
		})
		DeferCleanup(sync.OnceFunc(func() { close(back) }))
		w.running(ctx, w.box(ctx, hooked(", workers: 1")))
		w.website(ctx, "shop", `{image: hangs}`)
		Eventually(func(g Gomega) {
			ready := boxCondition(getBox(ctx, g, w.id), v1alpha1.ConditionReady)
			g.Expect(ready.Reason).To(Equal(v1alpha1.ReasonStuck))
			g.Expect(ready.Message).To(ContainSubstring("shop"))
		}).WithContext(ctx).Should(Succeed())
		w.boxNamed(ctx, w.id+"-other", `{crd: {apiVersion: v1, kind: ConfigMap}, selector: {matchLabels: {of: `+w.id+`}}, onReconcile: {secrets: [{name: "{{ .metadata.name }}", data: {a: b}}]}}`)
		Expect(kube.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "parent", Namespace: w.namespace, Labels: map[string]string{"of": w.id}}})).To(Succeed())
		Eventually(func() error {
			return kube.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: "parent"}, &corev1.Secret{})
		}).WithContext(ctx).Should(Succeed(), "the other box works")
	})

	It("that are not pure are called again without a change, and OnUpdate once for an edit, across a restart", func(ctx context.Context) {
		w := newWorld(ctx)
		h := &hooks{}
		h.does(func(context.Context, *hook.Call[*Website]) error { return nil })
		h.hooks.OnCreate = h.noting("create", func(context.Context, *hook.Call[*Website]) error { return nil })
		h.hooks.OnUpdate = h.noting("update", func(_ context.Context, c *hook.Call[*Website]) error {
			if c.Resource.Spec.Image == "v2" {
				return errors.New("not yet")
			}
			return nil
		})
		h.with(w)
		w.running(ctx, w.box(ctx, hooked(", resync: 2s")))
		w.website(ctx, "shop", `{image: v1}`)
		Eventually(func(g Gomega) {
			g.Expect(w.get(ctx, g, "shop").GetAnnotations()).To(HaveKeyWithValue(v1alpha1.AnnotationHookGeneration, "1"))
		}).WithContext(ctx).Should(Succeed())
		Expect(h.called()).To(ContainElement("create shop v1"))
		Eventually(h.called).WithContext(ctx).Should(ContainElement("reconcile shop v1"), "nothing has changed")

		w.website(ctx, "shop", `{image: v2}`)
		Eventually(h.called).WithContext(ctx).Should(ContainElement("update shop v2"))
		h.with(w) // another process
		Eventually(h.called).WithContext(ctx).Should(ContainElement("update shop v2"), "it has not succeeded")
		w.website(ctx, "shop", `{image: v3}`)
		Eventually(func(g Gomega) {
			g.Expect(w.get(ctx, g, "shop").GetAnnotations()).To(HaveKeyWithValue(v1alpha1.AnnotationHookGeneration, "3"))
		}).WithContext(ctx).Should(Succeed())
		h.called()
		h.with(w)
		Eventually(h.called).WithContext(ctx).Should(ContainElement("reconcile shop v3"))
		Expect(strings.Join(h.called(), "\n")).NotTo(Or(ContainSubstring("update"), ContainSubstring("create")))
	})

	It("that are pure are not called while nothing changes, and send nothing where a cycle runs without need", func(ctx context.Context) {
		w := newWorld(ctx)
		h := &hooks{always: func(ctx context.Context, c *hook.Call[*Website]) error {
			return errors.Join(c.List(ctx, &corev1.ConfigMapList{}, client.InNamespace(w.namespace)), onePerSetting(ctx, c))
		}, hooks: hook.Hooks[*Website]{Pure: true}}
		h.with(w)
		w.running(ctx, w.box(ctx, hooked(", resync: 1s")))
		w.website(ctx, "shop", `{image: v1, settings: {a: one, b: two}}`)
		w.made(ctx, "shop-b")
		w.settled(ctx, "shop")
		manager.resting(ctx, w.id)
		h.called()
		mark, looks := manager.requests.mark(), manager.skipped(Default, w.id)
		Eventually(func(g Gomega) {
			g.Expect(manager.skipped(g, w.id)).To(BeNumerically(">=", looks+3))
		}).WithContext(ctx).Should(Succeed())
		Expect(h.called()).To(BeEmpty())
		Expect(manager.requests.since(mark, "/namespaces/"+w.namespace+"/")).To(BeEmpty())
		nothingSent(ctx, w, "shop")
		Expect(h.called()).NotTo(BeEmpty(), "the cycle that was asked for has called it")
	})

	It("hold a resource until OnDelete has told a server that is away", func(ctx context.Context) {
		w := newWorld(ctx)
		server := httptest.NewServer(http.NotFoundHandler())
		url := server.URL
		server.Close()
		h := &hooks{always: onePerSetting}
		h.hooks.OnDelete = func(ctx context.Context, _ *hook.Call[*Website]) error {
			request, err := http.NewRequestWithContext(ctx, http.MethodDelete, url, http.NoBody)
			if err != nil {
				return err
			}
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				return fmt.Errorf("telling the server: %w", err)
			}
			return answer.Body.Close()
		}
		h.with(w)
		w.running(ctx, w.box(ctx, hooked("")))
		shop := w.website(ctx, "shop", `{image: v1, settings: {a: one}}`)
		w.made(ctx, "shop-a")
		Expect(kube.Delete(ctx, shop)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(condition(w.get(ctx, g, "shop"), "Ready").Message).To(ContainSubstring("telling the server"))
		}).WithContext(ctx).Should(Succeed())
		Expect(kube.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: "shop-a"}, &corev1.ConfigMap{})).To(Succeed(), "children stay until then")
		w.annotate(ctx, "shop", v1alpha1.AnnotationSkipCleanup, "true")
		w.vanished(ctx, "shop")
	})

	It("show nothing of a Secret that they read", func(ctx context.Context) {
		const secret = "hunter22-of-the-hook"
		w := newWorld(ctx)
		h := &hooks{}
		h.does(func(ctx context.Context, c *hook.Call[*Website]) error {
			password, err := c.Secret(ctx, "login", "password")
			if err != nil {
				return err
			}
			c.Event("Connected", "with "+password)
			if err := c.Apply(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "copy"}, StringData: map[string]string{"dsn": "db://" + password}}); err != nil {
				return err
			}
			return errors.New("denied: " + password)
		})
		h.with(w)
		Expect(kube.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "login", Namespace: w.namespace}, StringData: map[string]string{"password": secret}})).To(Succeed())
		w.running(ctx, w.box(ctx, hooked("")))
		w.website(ctx, "shop", `{image: v1}`)
		Eventually(func(g Gomega) {
			obj := w.get(ctx, g, "shop")
			g.Expect(condition(obj, "Ready").Message).To(ContainSubstring("hook: denied: [from a Secret]"))
			g.Expect(fmt.Sprint(obj.Object["status"])).NotTo(ContainSubstring(secret))
		}).WithContext(ctx).Should(Succeed())
		w.told(ctx, "shop", "Connected", "with [from a Secret]")
	})

	It("read a Secret that their account may read, and have the box name the right that is missing", func(ctx context.Context) {
		w := newWorld(ctx)
		h := &hooks{}
		h.does(func(ctx context.Context, c *hook.Call[*Website]) error {
			password, err := c.Secret(ctx, "login", "password")
			if err != nil {
				return err
			}
			return c.Apply(mapOf("shop-size", map[string]string{"size": fmt.Sprint(len(password))}))
		})
		h.with(w)
		Expect(kube.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "login", Namespace: w.namespace}, StringData: map[string]string{"password": "hunter22"}})).To(Succeed())
		rules := append(w.usualRules(), children("", "configmaps"), may("", "configmaps", "list", "watch"))
		account := w.account(ctx, rules...)
		spec := strings.Replace(hooked(""), "{", "{"+strings.TrimSpace(account.ref())+", ", 1)
		box := w.box(ctx, strings.Replace(spec, ", {kind: Secret}", "", 1))
		w.running(ctx, box)
		Expect(fmt.Sprint(getBox(ctx, Default, box).Status.RequiredRules)).NotTo(ContainSubstring("secrets"), "nobody knows whether the function reads some")
		w.website(ctx, "shop", `{image: v1}`)
		boxShows(ctx, box, v1alpha1.ConditionPermissionsGranted, metav1.ConditionFalse, v1alpha1.ReasonForbidden,
			account.name+` may not get secrets "login" in namespace "`+w.namespace+`"; which Secrets its hook reads is in no rule of the box: grant it to the account yourself`)
		Eventually(func(g Gomega) {
			g.Expect(fmt.Sprint(w.get(ctx, g, "shop").Object["status"])).To(ContainSubstring("may not read Secret"))
		}).WithContext(ctx).Should(Succeed())
		login := may("", "secrets", "get")
		login.ResourceNames = []string{"login"}
		account.grant(ctx, append(rules, login)...)
		w.hasData(ctx, "shop-size", map[string]string{"size": "8"})
	})

	It("that the manager does not have are named, and what was made stays", func(ctx context.Context) {
		w := newWorld(ctx)
		h := &hooks{always: onePerSetting}
		h.with(w)
		w.running(ctx, w.box(ctx, hooked("")))
		shop := w.website(ctx, "shop", `{image: v1, settings: {a: one}}`)
		w.made(ctx, "shop-a")
		replaceManager() // the usual one has no functions
		Eventually(func(g Gomega) {
			box := getBox(ctx, g, w.id)
			g.Expect(boxCondition(box, v1alpha1.ConditionCompiled).Reason).To(Equal(v1alpha1.ReasonUnknownFunction))
			g.Expect(boxCondition(box, v1alpha1.ConditionCompiled).Message).To(ContainSubstring("example.com/op.Websites"))
			g.Expect(boxCondition(box, v1alpha1.ConditionReady).Reason).To(Equal(v1alpha1.ReasonUnknownFunction))
		}).WithContext(ctx).Should(Succeed())
		Expect(kube.Delete(ctx, shop)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(condition(w.get(ctx, g, "shop"), "Ready").Message).To(ContainSubstring("may have something to clean up"))
		}).WithContext(ctx).Should(Succeed())
		h.with(w)
		w.vanished(ctx, "shop")
	})
})
