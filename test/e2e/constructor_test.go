package e2e_test

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
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
			out, _ := orkestra(ctx, "status", "website/shop", "-n", w.namespace)
			g.Expect(out).To(HavePrefix("Whether Website " + w.namespace + "/shop is ready is not known: Unseen: its reconciler writes no condition Ready. The box runs, and its health does not name it"))
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
			case "exits":
				goruntime.Goexit() // as t.FailNow does
				return reconcile.Result{}, nil
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
		for _, name := range []string{"good", "panics", "exits", "fails", "ends"} {
			w.website(ctx, name, `{image: v1}`)
		}
		Eventually(func(g Gomega) {
			health := getHealth(ctx, g, w.id).Status
			g.Expect(health.Resources.Ready).To(BeEquivalentTo(1))
			said := map[string]string{}
			for _, f := range health.Failing {
				said[f.Name] = f.Step + ": " + f.Message
			}
			g.Expect(said).To(And(HaveLen(4),
				HaveKeyWithValue("panics", MatchRegexp(`^constructor: panic: constructor_test\.go:\d+: a bug$`)),
				HaveKeyWithValue("exits", MatchRegexp(`^constructor: panic: constructor_test\.go:\d+: runtime\.Goexit was called`)),
				HaveKeyWithValue("fails", "constructor: no such table"), HaveKeyWithValue("ends", "constructor: terminal error: never")))
		}).WithContext(ctx).Should(Succeed())
		w.told(ctx, "fails", v1alpha1.ReasonReconcileError, "constructor: no such table")
		w.told(ctx, "exits", v1alpha1.ReasonReconcileError, "runtime.Goexit was called")
		r.does(nil)
		Eventually(func(g Gomega) {
			g.Expect(getHealth(ctx, g, w.id).Status.Resources.Ready).To(BeEquivalentTo(4))
		}).WithContext(ctx).Should(Succeed(), "the next try succeeds; what no try mends waits for a change")
		w.website(ctx, "ends", `{image: v2}`)
		Eventually(func(g Gomega) {
			g.Expect(getHealth(ctx, g, w.id).Status.Resources.Ready).To(BeEquivalentTo(5))
		}).WithContext(ctx).Should(Succeed())
	})

	It("show on the box and its health that the constructor fails, and go on when it does not", func(ctx context.Context) {
		w := newWorld(ctx)
		for reason, mistake := range map[string]func(hook.Environment, reconcile.Reconciler) (reconcile.Reconciler, error){
			"example.com/op.New: no key": func(hook.Environment, reconcile.Reconciler) (reconcile.Reconciler, error) {
				return nil, errors.New("no key")
			},
			"it gives no reconciler": func(hook.Environment, reconcile.Reconciler) (reconcile.Reconciler, error) { return (*legacy)(nil), nil },
			": a bug":                func(hook.Environment, reconcile.Reconciler) (reconcile.Reconciler, error) { panic("a bug") },
		} {
			r := &legacy{make: mistake}
			r.with(w)
			w.box(ctx, constructed(`, resync: 1s`))
			Eventually(func(g Gomega) {
				ready := boxCondition(getBox(ctx, g, w.id), v1alpha1.ConditionReady)
				g.Expect(ready).To(HaveField("Reason", v1alpha1.ReasonConstructorFailed))
				g.Expect(ready.Message).To(ContainSubstring(reason))
				health := meta.FindStatusCondition(getHealth(ctx, g, w.id).Status.Conditions, v1alpha1.ConditionReady)
				g.Expect(health).NotTo(BeNil())
				g.Expect(health.Reason).To(Equal(v1alpha1.ReasonConstructorFailed))
				g.Expect(health.Message).To(ContainSubstring(reason))
			}).WithContext(ctx).Should(Succeed())
			r.mu.Lock()
			r.make = nil
			r.mu.Unlock()
			w.running(ctx, w.id)
		}
		Eventually(func(g Gomega) {
			var list eventsv1.EventList
			g.Expect(kube.List(ctx, &list, client.InNamespace("default"))).To(Succeed())
			told := map[string]int{}
			for _, e := range list.Items {
				if e.Regarding.Name == w.id && e.Regarding.Kind == "OperatorBox" {
					told[e.Type+" "+e.Reason]++
				}
			}
			g.Expect(told).To(HaveKey("Warning ConstructorFailed"))
			g.Expect(told).NotTo(Or(HaveKey("Normal ConstructorFailed"), HaveKey("Normal Starting")))
		}).WithContext(ctx).Should(Succeed())
		w.website(ctx, "shop", `{image: v1}`)
		w.made(ctx, "shop-legacy")
	})

	It("that do not come back make their box stuck, and the deadline of a reconcile is its own", func(ctx context.Context) {
		w := newWorld(ctx)
		r, back := &legacy{}, make(chan struct{})
		r.does(func(ctx context.Context, site *Website) (reconcile.Result, error) {
			switch site.Spec.Image {
			case "hangs":
				<-back // it ignores its context
			case "slow":
				<-ctx.Done()
				return reconcile.Result{}, ctx.Err()
			}
			return reconcile.Result{}, nil
		})
		r.with(w, func(s *settings) { s.orkestra.ReconcileTimeout = time.Second })
		let := sync.OnceFunc(func() { close(back) })
		DeferCleanup(let)
		w.running(ctx, w.box(ctx, constructed(`, workers: 1`)))
		w.website(ctx, "late", `{image: slow}`)
		healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.Failing).To(ContainElement(HaveField("Message", ContainSubstring("the reconcile took longer than 1s and was ended"))))
		})
		w.website(ctx, "shop", `{image: hangs}`)
		Eventually(func(g Gomega) {
			ready := boxCondition(getBox(ctx, g, w.id), v1alpha1.ConditionReady)
			g.Expect(ready).To(HaveField("Reason", v1alpha1.ReasonStuck))
			g.Expect(ready.Message).To(ContainSubstring("shop"))
		}).WithContext(ctx).Should(Succeed())
		let()
		w.running(ctx, w.id)
	})

	It("ask again when the reconciler says so, and not while the resource is paused or the box is suspended", func(ctx context.Context) {
		w := newWorld(ctx)
		r := &legacy{}
		r.does(func(context.Context, *Website) (reconcile.Result, error) {
			return reconcile.Result{RequeueAfter: 50 * time.Millisecond}, nil
		})
		r.with(w)
		w.running(ctx, w.box(ctx, constructed(`, resync: 1h`)))
		w.website(ctx, "shop", `{image: v1}`)
		w.made(ctx, "shop-legacy")
		w.website(ctx, "other", `{image: v1}`)
		// times counts how often the reconciler was asked about the one, until it was asked about the other several times.
		times := func(of, until string) (n int) {
			seen := 0
			Eventually(func() int {
				for _, name := range r.asked() {
					switch name {
					case of:
						n++
					case until:
						seen++
					}
				}
				return seen
			}).WithContext(ctx).Should(BeNumerically(">", 5))
			return n
		}
		Eventually(times).WithArguments("shop", "other").WithContext(ctx).Should(BeNumerically(">", 1), "nothing has changed")
		w.annotate(ctx, "shop", v1alpha1.AnnotationPaused, "true")
		Eventually(times).WithArguments("shop", "other").WithContext(ctx).Should(BeZero(), "it is paused")
		Expect(times("shop", "other")).To(BeZero())
		w.annotate(ctx, "shop", v1alpha1.AnnotationPaused, "false")
		Eventually(times).WithArguments("shop", "other").WithContext(ctx).Should(BeNumerically(">", 1))

		w.box(ctx, constructed(`, resync: 1h, suspend: true`))
		Eventually(func(g Gomega) {
			g.Expect(boxCondition(getBox(ctx, g, w.id), v1alpha1.ConditionReady)).To(HaveField("Reason", v1alpha1.ReasonSuspended))
		}).WithContext(ctx).Should(Succeed())
		Eventually(r.asked).WithContext(ctx).Should(BeEmpty())
		w.website(ctx, "shop", `{image: v2}`)
		Expect(kube.Delete(ctx, w.website(ctx, "other", `{image: v2}`))).To(Succeed())
		w.vanished(ctx, "other")
		Expect(r.asked()).NotTo(ContainElement("shop"), "deletions are served alone")
		Expect(kube.Delete(ctx, w.website(ctx, "shop", `{image: v2}`))).To(Succeed())
		w.vanished(ctx, "shop")
	})

	It("wait for the dependencies of the box, and are made anew by an edit of what they are made of alone", func(ctx context.Context) {
		w := newWorld(ctx)
		r := &legacy{}
		r.with(w)
		w.running(ctx, w.box(ctx, constructed(`, dependsOn: [{name: `+w.id+`-first}]`)))
		w.website(ctx, "shop", `{image: v1}`)
		healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.Dependencies).To(ContainElement(HaveField("Met", false)))
			g.Expect(s.Resources.Total).To(BeEquivalentTo(1))
		})
		Expect(r.asked()).To(BeEmpty())
		w.boxNamed(ctx, w.id+"-first", `{crd: {apiVersion: v1, kind: ConfigMap}, selector: {matchLabels: {of: `+w.id+`}}, onReconcile: {secrets: [{name: "{{ .metadata.name }}", data: {a: b}}]}}`)
		w.made(ctx, "shop-legacy")

		made := func() int {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.made
		}
		before := made()
		w.running(ctx, w.box(ctx, constructed(`, workers: 7`)))
		healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) { g.Expect(s.Workers).To(BeEquivalentTo(7)) })
		Expect(made()).To(Equal(before))
		w.running(ctx, w.box(ctx, strings.Replace(constructed(""), "function: New", "function: New, args: {a: 1}", 1)))
		Eventually(made).WithContext(ctx).Should(Equal(before + 1))
	})

	It("take over resources that templates were reconciled for, and leave the children to the reconciler", func(ctx context.Context) {
		w := newWorld(ctx)
		r := &legacy{}
		r.with(w)
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{name: "{{ .metadata.name }}-legacy", data: {image: "{{ .spec.image }}", by: templates}}]}}`))
		shop := w.website(ctx, "shop", `{image: v1}`)
		w.made(ctx, "shop-legacy")
		w.running(ctx, w.box(ctx, constructed("")))
		Eventually(func(g Gomega) {
			obj := w.get(ctx, g, "shop")
			g.Expect(obj.GetFinalizers()).To(Equal([]string{legacyFinalizer}))
			g.Expect(obj.GetAnnotations()).NotTo(HaveKey(v1alpha1.AnnotationManagedBy))
			cm := &corev1.ConfigMap{}
			g.Expect(kube.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: "shop-legacy"}, cm)).To(Succeed())
			g.Expect(cm.Data).To(Equal(map[string]string{"image": "v1"}), "it is the reconciler's")
		}).WithContext(ctx).Should(Succeed())
		Expect(kube.Delete(ctx, shop)).To(Succeed())
		w.vanished(ctx, "shop")
	})

	It("read what they list and nothing else, whole, as objects of any Go type", func(ctx context.Context) {
		w := newWorld(ctx)
		r := &legacy{build: func(ctx context.Context, c client.Client, site *Website, cm *corev1.ConfigMap) error {
			var sites WebsiteList
			maps, heads, of := &unstructured.UnstructuredList{}, &metav1.PartialObjectMetadataList{}, client.InNamespace(site.Namespace)
			maps.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
			heads.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
			err := errors.Join(c.List(ctx, &sites, of), c.List(ctx, maps, of, client.MatchingFields{"metadata.name": "given"}), c.List(ctx, heads, of, client.MatchingLabels{"of": "world"}))
			cm.Data["read"] = fmt.Sprintf("%d %d %d %s", len(sites.Items), len(maps.Items), len(heads.Items), heads.Items[0].Annotations[corev1.LastAppliedConfigAnnotation])
			if site.Spec.Image == "secret" {
				err = errors.Join(err, c.Get(ctx, types.NamespacedName{Namespace: site.Namespace, Name: "any"}, &corev1.Secret{}))
			}
			return err
		}}
		r.with(w)
		Expect(kube.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "given", Namespace: w.namespace, Labels: map[string]string{"of": "world"},
			Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: "{}"}}})).To(Succeed())
		w.running(ctx, w.box(ctx, constructed("")))
		w.website(ctx, "shop", `{image: v1}`)
		w.annotate(ctx, "shop", corev1.LastAppliedConfigAnnotation, "{}")
		Eventually(func(g Gomega) {
			cm := &corev1.ConfigMap{}
			g.Expect(kube.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: "shop-legacy"}, cm)).To(Succeed())
			g.Expect(cm.Data).To(HaveKeyWithValue("read", "1 1 1 {}"))
			g.Expect(w.get(ctx, g, "shop").GetAnnotations()).To(HaveKey(corev1.LastAppliedConfigAnnotation), "who writes an object back takes nothing of it away")
		}).WithContext(ctx).Should(Succeed())
		w.website(ctx, "shop", `{image: secret}`)
		healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.Failing).To(ContainElement(HaveField("Message", ContainSubstring("v1 Secret is not among spec.reconciler.constructor.resources: list it there"))))
		})
		out, _ := orkestra(ctx, "tree", "website/shop", "-n", w.namespace)
		Expect(out).To(ContainSubstring("shop-legacy"), "the tree shows what the reconciler controls")
	})

	It("act as the account of their box, and wait for its rights", func(ctx context.Context) {
		w := newWorld(ctx)
		r := &legacy{}
		r.with(w)
		account := w.account(ctx)
		box := w.box(ctx, strings.Replace(constructed(""), "{", "{"+strings.TrimSpace(account.ref())+", ", 1))
		Eventually(func(g Gomega) {
			g.Expect(boxCondition(getBox(ctx, g, box), v1alpha1.ConditionReady)).To(HaveField("Reason", v1alpha1.ReasonForbidden))
		}).WithContext(ctx).Should(Succeed())
		account.bound(ctx, getBox(ctx, Default, box).Status.RequiredRules...)
		w.running(ctx, box)
		w.website(ctx, "shop", `{image: v1}`)
		w.made(ctx, "shop-legacy")
		account.remove(ctx)
		w.website(ctx, "shop", `{image: v2}`)
		healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(fmt.Sprint(s.Conditions)).To(ContainSubstring(account.name))
		})
		w.running(ctx, w.box(ctx, constructed("")))
	})

	It("that the manager does not have are named, and nothing that was made goes", func(ctx context.Context) {
		w := newWorld(ctx)
		r := &legacy{}
		r.with(w)
		w.running(ctx, w.box(ctx, constructed("")))
		shop := w.website(ctx, "shop", `{image: v1}`)
		w.made(ctx, "shop-legacy")
		replaceManager() // the usual one has no functions
		Eventually(func(g Gomega) {
			box := getBox(ctx, g, w.id)
			g.Expect(boxCondition(box, v1alpha1.ConditionCompiled)).To(HaveField("Reason", v1alpha1.ReasonUnknownFunction))
			g.Expect(boxCondition(box, v1alpha1.ConditionCompiled).Message).To(ContainSubstring("example.com/op.New"))
		}).WithContext(ctx).Should(Succeed())
		Expect(kube.Delete(ctx, shop)).To(Succeed())
		w.made(ctx, "shop-legacy")
		r.with(w)
		w.vanished(ctx, "shop")
	})
})
