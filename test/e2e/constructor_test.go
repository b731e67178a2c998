package e2e_test

import (
	"context"
	"errors"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/hook"
)

// WebsiteList is the Go type of a list of websites.
type WebsiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Website `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (l *WebsiteList) DeepCopyObject() runtime.Object {
	out := &WebsiteList{TypeMeta: l.TypeMeta, ListMeta: l.ListMeta}
	for i := range l.Items {
		item, _ := l.Items[i].DeepCopyObject().(*Website)
		out.Items = append(out.Items, *item)
	}
	return out
}

const legacyFinalizer = "example.com/legacy"

// legacy is a reconciler as projects of kubebuilder have it: it has a finalizer, one ConfigMap that it controls, and a status.
type legacy struct {
	client.Client

	mu    sync.Mutex
	made  int                                                                                   // how often the constructor was called; guarded by mu
	calls []string                                                                              // the resources that it was asked about; guarded by mu
	after func(ctx context.Context, site *Website) (reconcile.Result, error)                    // at the end of a reconcile; guarded by mu
	make  func(env hook.Environment, r reconcile.Reconciler) (reconcile.Reconciler, error)      // in place of giving r; guarded by mu
	build func(ctx context.Context, c client.Client, site *Website, cm *corev1.ConfigMap) error // fills the child; guarded by mu
}

// does changes what happens at the end of a reconcile.
func (r *legacy) does(after func(ctx context.Context, site *Website) (reconcile.Result, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.after = after
}

// asked gives the resources that the reconciler was asked about since this was called last.
func (r *legacy) asked() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.calls
	r.calls = nil
	return out
}

// Reconcile implements reconcile.Reconciler.
func (r *legacy) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	r.mu.Lock()
	r.calls = append(r.calls, req.Name)
	after, build := r.after, r.build
	r.mu.Unlock()
	site := &Website{}
	if err := r.Get(ctx, req.NamespacedName, site); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if site.DeletionTimestamp != nil {
		controllerutil.RemoveFinalizer(site, legacyFinalizer)
		return reconcile.Result{}, client.IgnoreNotFound(r.Update(ctx, site))
	}
	if controllerutil.AddFinalizer(site, legacyFinalizer) {
		return reconcile.Result{}, r.Update(ctx, site)
	}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: site.Name + "-legacy", Namespace: site.Namespace}}
	if _, err := controllerutil.CreateOrUpdate(ctx, r.Client, cm, func() error {
		cm.Data = map[string]string{"image": site.Spec.Image}
		if build != nil {
			if err := build(ctx, r.Client, site, cm); err != nil {
				return err
			}
		}
		return controllerutil.SetControllerReference(site, cm, r.Scheme())
	}); err != nil {
		return reconcile.Result{}, err
	}
	if site.Status["phase"] != "Serving "+site.Spec.Image {
		site.Status = map[string]any{"phase": "Serving " + site.Spec.Image}
		if err := r.Status().Update(ctx, site); err != nil {
			return reconcile.Result{}, err
		}
	}
	if after != nil {
		return after(ctx, site)
	}
	return reconcile.Result{}, nil
}

// registry has the reconciler under a name of its own.
func (r *legacy) registry(w *world) *hook.Registry {
	GinkgoHelper()
	reg, err := hook.NewRegistry()
	Expect(err).NotTo(HaveOccurred())
	Expect(reg.AddToScheme(func(s *runtime.Scheme) error {
		gv := schema.GroupVersion{Group: w.group, Version: "v1"}
		s.AddKnownTypeWithName(gv.WithKind("Website"), &Website{})
		s.AddKnownTypeWithName(gv.WithKind("WebsiteList"), &WebsiteList{})
		metav1.AddToGroupVersion(s, gv)
		return nil
	})).To(Succeed())
	Expect(hook.AddConstructor(reg, "example.com/op.New", func(env hook.Environment) (reconcile.Reconciler, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.made++
		r.Client = env.Client
		if r.make != nil {
			return r.make(env, r)
		}
		return r, nil
	})).To(Succeed())
	return reg
}

// with replaces the manager by one that has the reconciler.
func (r *legacy) with(w *world, change ...func(s *settings)) {
	GinkgoHelper()
	replaceManager(func(s *settings) {
		s.orkestra.Code = r.registry(w)
		for _, f := range change {
			f(s)
		}
	})
	DeferCleanup(func(ctx context.Context) { // while there is somebody who takes the finalizer off
		r.does(nil)
		Expect(kube.DeleteAllOf(ctx, w.ref(""), client.InNamespace(w.namespace))).To(Succeed())
		Eventually(func(g Gomega) {
			left := &unstructured.UnstructuredList{}
			left.SetGroupVersionKind(w.ref("").GroupVersionKind())
			g.Expect(kube.List(ctx, left, client.InNamespace(w.namespace))).To(Succeed())
			g.Expect(left.Items).To(BeEmpty())
		}).WithContext(ctx).Should(Succeed())
	})
}

// constructed is the spec of a box with this reconciler.
func constructed(rest string) string {
	return `{apiTypes: {location: github.com/orkspace/orkestra/test/e2e_test, object: Website}, reconciler: {default: false, constructor: {location: example.com/op, function: New, resources: [{kind: ConfigMap}]}}` + rest + `}`
}

var _ = Describe("Constructors", func() {
	It("run a reconciler that has its own finalizer, children and status, and write nothing beside it", func(ctx context.Context) {
		w := newWorld(ctx)
		r := &legacy{}
		r.with(w)
		w.running(ctx, w.box(ctx, constructed("")))
		w.website(ctx, "shop", `{image: v1}`)
		image := func() string {
			cm := &corev1.ConfigMap{}
			if err := kube.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: "shop-legacy"}, cm); err != nil {
				return string(apierrors.ReasonForError(err))
			}
			return cm.Data["image"]
		}
		Eventually(image).WithContext(ctx).Should(Equal("v1"))
		Eventually(func(g Gomega) {
			obj := w.get(ctx, g, "shop")
			g.Expect(obj.Object["status"]).To(Equal(map[string]any{"phase": "Serving v1"}), "it is the reconciler's alone")
			g.Expect(obj.GetFinalizers()).To(Equal([]string{legacyFinalizer}))
			g.Expect(obj.GetLabels()).To(BeEmpty())
			g.Expect(obj.GetAnnotations()).To(BeEmpty())
		}).WithContext(ctx).Should(Succeed())

		// What it controls is watched, and so is the resource.
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "shop-legacy", Namespace: w.namespace}}
		Expect(kube.Patch(ctx, cm, client.RawPatch(types.MergePatchType, []byte(`{"data":{"image":"other"}}`)))).To(Succeed())
		Eventually(image).WithContext(ctx).Should(Equal("v1"))
		Expect(kube.Delete(ctx, cm)).To(Succeed())
		Eventually(image).WithContext(ctx).Should(Equal("v1"))
		shop := w.website(ctx, "shop", `{image: v2}`)
		Eventually(image).WithContext(ctx).Should(Equal("v2"))
		Eventually(func(g Gomega) {
			g.Expect(getHealth(ctx, g, w.id).Status.Resources.Ready).To(BeEquivalentTo(1))
		}).WithContext(ctx).Should(Succeed())

		Expect(kube.Delete(ctx, shop)).To(Succeed())
		w.vanished(ctx, "shop")
		Eventually(image).WithContext(ctx).Should(Equal(string(metav1.StatusReasonNotFound)), "the garbage collector follows its owner reference")
	})

	It("fail for one resource alone, and say so on CRDHealth and in events", func(ctx context.Context) {
		w := newWorld(ctx)
		r := &legacy{}
		r.does(func(_ context.Context, site *Website) (reconcile.Result, error) {
			switch site.Name {
			case "panics":
				panic("a bug")
			case "fails":
				return reconcile.Result{}, errors.New("no such table")
			case "ends":
				return reconcile.Result{}, reconcile.TerminalError(errors.New("never"))
			default:
				return reconcile.Result{}, nil
			}
		})
		r.with(w)
		w.running(ctx, w.box(ctx, constructed("")))
		for _, name := range []string{"good", "panics", "fails", "ends"} {
			w.website(ctx, name, `{image: v1}`)
		}
		Eventually(func(g Gomega) {
			health := getHealth(ctx, g, w.id).Status
			g.Expect(health.Resources.Ready).To(BeEquivalentTo(1))
			said := map[string]string{}
			for _, f := range health.Failing {
				said[f.Name] = f.Step + ": " + f.Message
			}
			g.Expect(said).To(Equal(map[string]string{"panics": "reconcile: panic: a bug", "fails": "constructor: no such table", "ends": "constructor: terminal error: never"}))
		}).WithContext(ctx).Should(Succeed())
		w.told(ctx, "fails", v1alpha1.ReasonReconcileError, "constructor: no such table")
		r.does(nil)
		Eventually(func(g Gomega) {
			g.Expect(getHealth(ctx, g, w.id).Status.Resources.Ready).To(BeEquivalentTo(3))
		}).WithContext(ctx).Should(Succeed(), "the next try succeeds; what no try mends waits for a change")
		w.website(ctx, "ends", `{image: v2}`)
		Eventually(func(g Gomega) {
			g.Expect(getHealth(ctx, g, w.id).Status.Resources.Ready).To(BeEquivalentTo(4))
		}).WithContext(ctx).Should(Succeed())
	})
})
