package e2e_test

import (
	"context"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/hook"
)

// hangs replaces the manager by one with a hook that does not come back for an image "hangs", whatever becomes of its context, until it is
// let. Boxes have a second to stop.
func hangs() (let func(), under *callsUnderWay) {
	GinkgoHelper()
	back := make(chan struct{})
	under = &callsUnderWay{calls: map[string]int{}}
	withHook(func(c *hook.Call[*unstructured.Unstructured]) {
		if image, _, err := unstructured.NestedString(c.Resource.Object, "spec", "image"); err != nil || image == "hangs" {
			defer under.enter(c.Resource.GetNamespace())()
			<-back
		}
	})
	let = sync.OnceFunc(func() { close(back) })
	DeferCleanup(let)
	return let, under
}

// withHook replaces the manager by one with a hook that makes a ConfigMap once f has returned.
func withHook(f func(c *hook.Call[*unstructured.Unstructured])) {
	GinkgoHelper()
	r, err := hook.NewRegistry()
	Expect(err).NotTo(HaveOccurred())
	Expect(hook.AddHooks(r, "example.com/op.Sites", func() hook.Hooks[*unstructured.Unstructured] {
		return hook.Hooks[*unstructured.Unstructured]{OnReconcile: func(_ context.Context, c *hook.Call[*unstructured.Unstructured]) error {
			f(c)
			return c.Apply(mapOf("of-"+c.Resource.GetName(), nil))
		}}
	})).To(Succeed())
	replaceManager(func(s *settings) {
		s.orkestra.Code = r
		s.orkestra.ShutdownTimeout = time.Second
		s.manager.GracefulShutdownTimeout = new(5 * time.Second)
	})
}

// withSites is the spec of a box with that hook.
func withSites(rest string) string {
	return `{reconciler: {hooks: {location: example.com/op, function: Sites, resources: [{kind: ConfigMap}]}}` + rest + `}`
}

// callsUnderWay counts the calls that are under way in each namespace.
type callsUnderWay struct {
	mu    sync.Mutex
	calls map[string]int // guarded by mu
	most  int            // at the same time in one namespace; guarded by mu
}

func (u *callsUnderWay) enter(namespace string) (leave func()) {
	u.add(namespace, 1)
	return func() { u.add(namespace, -1) }
}

func (u *callsUnderWay) add(namespace string, n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.calls[namespace] += n
	u.most = max(u.most, u.calls[namespace])
}

func (u *callsUnderWay) in(namespace string) func() int {
	return func() int {
		u.mu.Lock()
		defer u.mu.Unlock()
		return u.calls[namespace]
	}
}

// mostAtOnce is how many were under way at the same time in one namespace.
func (u *callsUnderWay) mostAtOnce() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.most
}

// anew is the spec of a box that starts anew where it ran that of withSites.
func (w *world) anew(rest string) string {
	return withSites(", namespaces: {include: [" + w.namespace + "]}" + rest)
}

// hasHanging has a box of a world run, with one resource whose hook does not come back and one that is ready.
func (w *world) hasHanging(ctx context.Context, under *callsUnderWay) {
	GinkgoHelper()
	w.running(ctx, w.box(ctx, withSites("")))
	w.website(ctx, "shop", `{image: hangs}`)
	w.website(ctx, "other", `{image: a}`)
	Eventually(under.in(w.namespace)).WithContext(ctx).Should(Equal(1))
	w.isReady(ctx, "other")
}

// commandsSay waits until the commands say of the first reconcile of a resource that it has not ended, for the reason given.
func (w *world) commandsSay(ctx context.Context, name, reason string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		out, code := orkestra(ctx, "status", w.crdName()+"/"+name, "-n", w.namespace) // other worlds have this kind, too
		g.Expect(code).To(Equal(1), out)
		g.Expect(out).To(HavePrefix("Website " + w.namespace + "/" + name + " is not ready: " + reason + ": "))
		g.Expect(out).To(ContainSubstring("a manager has taken it up at "+w.get(ctx, g, name).GetAnnotations()[v1alpha1.AnnotationManagedSince]+", "), out)
		out, code = orkestra(ctx, "tree", w.crdName()+"/"+name, "-n", w.namespace)
		g.Expect(code).To(Equal(1), out)
		g.Expect(out).To(And(ContainSubstring(reason), ContainSubstring("Missing: the reconcile that is to make it has not ended, and there is no ")))
	}).WithContext(ctx).Should(Succeed())
}

func (w *world) isReady(ctx context.Context, name string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(condition(w.get(ctx, g, name), "Ready")).To(HaveField("Status", metav1.ConditionTrue))
	}).WithContext(ctx).Should(Succeed())
}

// isStuck waits until a box says of its spec that it is stuck, and on what.
func (w *world) isStuck(ctx context.Context) {
	GinkgoHelper()
	boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonStuck,
		"waits for reconciles that do not end: "+w.namespace+"/shop; nothing of this box is reconciled until that is over, or the manager is restarted")
	boxShows(ctx, w.id, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonStuck, w.namespace+"/shop")
	inState(ctx, w.id, v1alpha1.HealthPending, v1alpha1.ReasonStuck)
	Expect(manager.gauge(Default, "orkestra_reconciles_overdue", w.id)).To(BeEquivalentTo(1))
}

var _ = Describe("A box whose code does not come back", func() {
	It("says so where it is to start anew, and does it when the hook comes back", func(ctx context.Context) {
		w := newWorld(ctx)
		let, under := hangs()
		w.hasHanging(ctx, under)
		w.box(ctx, w.anew(""))
		w.isStuck(ctx)
		Expect(getBox(ctx, Default, w.id).Status.Revision).NotTo(BeEmpty(), "a new process goes on with it where the spec has mistakes")

		By("editing it again")
		w.box(ctx, w.anew(", workers: 2"))
		w.isStuck(ctx)
		Expect(under.in(w.namespace)()).To(Equal(1))

		let()
		w.running(ctx, w.id)
		w.isReady(ctx, "shop")
		inState(ctx, w.id, v1alpha1.HealthHealthy, v1alpha1.ReasonHealthy)
		w.made(ctx, "of-shop")
		Expect(under.mostAtOnce()).To(Equal(1), "the new box has begun after the hook of the old one")
	})

	It("is told of by the commands, which say of a resource that has no status yet that it was taken up", func(ctx context.Context) {
		w := newWorld(ctx)
		let, under := hangs()
		first := func(spec string) string {
			return strings.Replace(spec, "function: Sites", "function: Sites, runHooksFirst: true", 1)
		}
		const secret = ", onReconcile: {secrets: [{data: {a: b}}]}"
		w.running(ctx, w.box(ctx, first(withSites(secret))))
		w.website(ctx, "shop", `{image: hangs}`)
		Eventually(under.in(w.namespace)).WithContext(ctx).Should(Equal(1))
		w.commandsSay(ctx, "shop", "FirstReconcile")
		healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.Resources).To(Equal(v1alpha1.ResourceCounts{Total: 1, Waiting: 1}), "it is there, though nothing has come of it yet")
		})
		w.box(ctx, first(w.anew(secret)))
		w.isStuck(ctx)
		healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.Overdue).To(Equal([]v1alpha1.ResourceReference{{Namespace: w.namespace, Name: "shop"}}))
		})
		w.commandsSay(ctx, "shop", v1alpha1.ReasonOverdue)
		let()
		w.isReady(ctx, "shop")
		healthShows(ctx, w.id, func(g Gomega, s v1alpha1.CRDHealthStatus) { g.Expect(s.Overdue).To(BeEmpty()) })
	})

	It("says so where it is deleted, also after an edit, and goes when the hook comes back", func(ctx context.Context) {
		w, edited := newWorld(ctx), newWorld(ctx)
		let, under := hangs()
		for _, world := range []*world{w, edited} {
			world.hasHanging(ctx, under)
		}
		edited.box(ctx, edited.anew(""))
		edited.isStuck(ctx)
		for _, world := range []*world{w, edited} {
			Expect(kube.Delete(ctx, getBox(ctx, Default, world.id))).To(Succeed())
		}
		for _, world := range []*world{w, edited} {
			boxShows(ctx, world.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonDeletionBlocked,
				"the box is being deleted and waits for reconciles that do not end: "+world.namespace+"/shop")
			inState(ctx, world.id, v1alpha1.HealthStopped, v1alpha1.ReasonDeletionBlocked)
			Expect(world.get(ctx, Default, "other").GetLabels()).To(HaveKey(v1alpha1.LabelManaged), "nothing is let go before")
		}
		let()
		for _, world := range []*world{w, edited} {
			Eventually(func() bool {
				return apierrors.IsNotFound(kube.Get(ctx, types.NamespacedName{Name: world.id}, &v1alpha1.OperatorBox{}))
			}).WithContext(ctx).Should(BeTrue())
			for _, name := range []string{"shop", "other"} {
				Expect(world.get(ctx, Default, name).GetLabels()).NotTo(HaveKey(v1alpha1.LabelManaged))
			}
		}
	})

	It("holds up no other box, though more of them hang than the controller has workers", func(ctx context.Context) {
		var worlds []*world
		for range 5 {
			worlds = append(worlds, newWorld(ctx))
		}
		free := newWorld(ctx)
		let, under := hangs()
		for _, w := range worlds {
			w.hasHanging(ctx, under)
		}
		for _, w := range worlds {
			w.box(ctx, w.anew(""))
		}
		free.running(ctx, free.box(ctx, withSites("")))
		free.website(ctx, "shop", `{image: a}`)
		free.isReady(ctx, "shop")
		for _, w := range worlds {
			w.isStuck(ctx)
		}
		let()
		for _, w := range worlds {
			w.running(ctx, w.id)
			w.isReady(ctx, "shop")
		}
	})

	It("names a constructor that does not return, and what its reconciler is asked about", func(ctx context.Context) {
		w := newWorld(ctx)
		called, made, answered := make(chan struct{}, 10), make(chan struct{}), make(chan struct{})
		r := &legacy{make: func(_ hook.Environment, r reconcile.Reconciler) (reconcile.Reconciler, error) {
			called <- struct{}{}
			<-made
			return r, nil
		}}
		r.with(w, func(s *settings) { s.orkestra.ShutdownTimeout = time.Second })
		returns, answers := sync.OnceFunc(func() { close(made) }), sync.OnceFunc(func() { close(answered) })
		DeferCleanup(returns)
		DeferCleanup(answers)
		w.box(ctx, constructed(""))
		Eventually(called).WithContext(ctx).Should(Receive())
		anew := func(args string) {
			w.box(ctx, strings.Replace(constructed(""), "function: New", "function: New, args: {a: "+args+"}", 1))
		}
		anew("1")
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonStuck, "waits for constructor example.com/op.New, which does not return; nothing")
		returns()
		w.running(ctx, w.id)

		r.does(func(context.Context, *Website) (reconcile.Result, error) {
			called <- struct{}{}
			<-answered
			return reconcile.Result{}, nil
		})
		Eventually(called).WithContext(ctx).Should(Receive(), "the constructor of the box that started anew")
		w.website(ctx, "shop", `{image: v1}`)
		Eventually(called).WithContext(ctx).Should(Receive())
		anew("2")
		w.isStuck(ctx)
		out, _ := orkestra(ctx, "status", w.crdName()+"/shop", "-n", w.namespace)
		Expect(out).To(HavePrefix("Website " + w.namespace + "/shop is not ready: Overdue: a reconcile of it is past its deadline and does not end"))
		answers()
		w.running(ctx, w.id)
		w.made(ctx, "shop-legacy")
	})

	It("is mended by a restart of the manager, which does not wait for the hook for ever", func(ctx context.Context) {
		w := newWorld(ctx)
		_, under := hangs()
		w.hasHanging(ctx, under)
		w.box(ctx, w.anew(""))
		w.isStuck(ctx)
		manager.cancel()
		manager.cancel = nil
		Eventually(manager.done).WithContext(ctx).Should(Receive(MatchError(ContainSubstring("grace period"))))
		withHook(func(*hook.Call[*unstructured.Unstructured]) {})
		w.running(ctx, w.id)
		w.isReady(ctx, "shop")
	})
})
