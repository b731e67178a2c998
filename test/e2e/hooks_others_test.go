package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/hook"
)

type ofDeployment = *hook.Call[*appsv1.Deployment]

// deploymentHooks is code for Deployments of others. What its functions do may change while it runs.
type deploymentHooks struct {
	mu    sync.Mutex
	calls []string                                              // phase and name; guarded by mu
	does  map[string]func(ofDeployment) error                   // by phase; guarded by mu
	hooks func(*deploymentHooks) hook.Hooks[*appsv1.Deployment] // which phases there are
}

// phase is a function that notes its calls.
func (h *deploymentHooks) phase(name string) func(context.Context, ofDeployment) error {
	return func(_ context.Context, c ofDeployment) error {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.calls = append(h.calls, name+" "+c.Resource.Name)
		if does := h.does[name]; does != nil {
			return does(c)
		}
		return nil
	}
}

func (h *deploymentHooks) on(phase string, does func(ofDeployment) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.does[phase] = does
}

// count says how often something was called.
func (h *deploymentHooks) count(call string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(h.calls), func(c string) bool { return c != call }))
}

// with replaces the manager by one that has the hooks.
func (h *deploymentHooks) with() {
	GinkgoHelper()
	r, err := hook.NewRegistry()
	Expect(err).NotTo(HaveOccurred())
	Expect(r.AddTypes(appsv1.AddToScheme, &appsv1.Deployment{}, &appsv1.DeploymentList{})).To(Succeed())
	Expect(hook.AddHooks(r, "example.com/op.Deployments", func() hook.Hooks[*appsv1.Deployment] { return h.hooks(h) })).To(Succeed())
	replaceManager(func(s *settings) { s.orkestra.Code = r })
}

var _ = Describe("Hooks on objects of others", func() {
	var (
		w     *world
		label string
		h     *deploymentHooks
	)
	BeforeEach(func(ctx context.Context) {
		w = newWorldWithoutCRD(ctx)
		label = w.id + ".e2e.test/hooked"
		h = &deploymentHooks{does: map[string]func(ofDeployment) error{}}
	})
	box := func(ctx context.Context) {
		GinkgoHelper()
		w.boxNamed(ctx, w.id, fmt.Sprintf(`{crd: {apiVersion: apps/v1, kind: Deployment}, selector: {matchLabels: {%q: "yes"}}, resync: 24h,
			apiTypes: {location: k8s.io/api/apps/v1, object: Deployment, objectList: DeploymentList},
			reconciler: {hooks: {location: example.com/op, function: Deployments, resources: [{kind: ConfigMap}]}}}`, label))
		w.running(ctx, w.id)
	}
	deployment := func(ctx context.Context, name string) *appsv1.Deployment {
		GinkgoHelper()
		return w.deployment(ctx, name, map[string]string{label: "yes"})
	}
	relabel := func(ctx context.Context, d *appsv1.Deployment, value string) {
		GinkgoHelper()
		w.merge(ctx, d, fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, label, value))
	}
	find := func(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
		c := &corev1.ConfigMap{}
		return c, kube.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, c)
	}
	gone := func(ctx context.Context, namespace, name string) {
		GinkgoHelper()
		Eventually(func() error { _, err := find(ctx, namespace, name); return err }).WithContext(ctx).Should(Satisfy(apierrors.IsNotFound))
	}
	// noted is for which spec OnUpdate has succeeded.
	noted := func(ctx context.Context) string {
		GinkgoHelper()
		d := &appsv1.Deployment{}
		Expect(kube.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: "web"}, d)).To(Succeed())
		return d.Annotations[v1alpha1.AnnotationHookGeneration]
	}
	// shows waits until a Deployment has what is ours: whether it is held, and which annotations it has.
	shows := func(ctx context.Context, name string, held bool, notes ...string) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			d := &appsv1.Deployment{}
			g.Expect(kube.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: name}, d)).To(Succeed())
			g.Expect(slices.Contains(d.Finalizers, v1alpha1.Finalizer)).To(Equal(held))
			var ours []string
			for key := range d.Annotations {
				if key != "deployment.kubernetes.io/revision" {
					ours = append(ours, key)
				}
			}
			g.Expect(ours).To(ConsistOf(notes))
			if held || len(notes) > 0 {
				g.Expect(d.Labels).To(HaveKeyWithValue(v1alpha1.LabelServedBy, w.id))
			} else {
				g.Expect(d.Labels).NotTo(HaveKey(v1alpha1.LabelServedBy))
			}
		}).WithContext(ctx).Should(Succeed())
	}

	It("are called through the life of an object, and hold it until OnDelete is done, also when it leaves the selection", func(ctx context.Context) {
		h.hooks = func(h *deploymentHooks) hook.Hooks[*appsv1.Deployment] {
			return hook.Hooks[*appsv1.Deployment]{
				Pure: true, OnCreate: h.phase("create"), OnUpdate: h.phase("update"), OnReconcile: h.phase("reconcile"), OnDelete: h.phase("delete"),
			}
		}
		h.on("reconcile", func(c ofDeployment) error {
			return c.Apply(mapOf(c.Resource.Name+"-of", map[string]string{"replicas": fmt.Sprint(*c.Resource.Spec.Replicas)}), hook.WithID("of"))
		})
		h.with()
		box(ctx)
		web := deployment(ctx, "web")
		replicas := func(want string) {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				c, err := find(ctx, w.namespace, "web-of")
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(c.Data).To(HaveKeyWithValue("replicas", want))
			}).WithContext(ctx).Should(Succeed())
		}
		replicas("0")
		shows(ctx, "web", true, v1alpha1.AnnotationActiveSince, v1alpha1.AnnotationHookGeneration)
		Expect(h.count("create web")).To(BeNumerically(">=", 1))

		By("an edit, and another process")
		before := noted(ctx)
		w.merge(ctx, web, `{"spec":{"replicas":1}}`)
		replicas("1")
		Eventually(func() string { return noted(ctx) }).WithContext(ctx).ShouldNot(Or(BeEmpty(), Equal(before)))
		Expect(h.count("update web")).To(BeNumerically(">=", 1))
		created, updated, called := h.count("create web"), h.count("update web"), h.count("reconcile web")
		h.with()
		Eventually(func() int { return h.count("reconcile web") }).WithContext(ctx).Should(BeNumerically(">", called))
		Expect([]int{h.count("create web"), h.count("update web")}).To(Equal([]int{created, updated}))

		By("leaving the selection while OnDelete fails")
		h.on("delete", func(ofDeployment) error { return errors.New("the registry of names is away") })
		relabel(ctx, web, "no")
		Eventually(func() int { return h.count("delete web") }).WithContext(ctx).Should(BeNumerically(">=", 1))
		shows(ctx, "web", true, v1alpha1.AnnotationActiveSince, v1alpha1.AnnotationHookGeneration)
		_, err := find(ctx, w.namespace, "web-of")
		Expect(err).NotTo(HaveOccurred(), "its child stays until OnDelete is done")
		h.on("delete", nil)
		gone(ctx, w.namespace, "web-of")
		shows(ctx, "web", false)

		By("coming back as a new one, and being deleted")
		relabel(ctx, web, "yes")
		replicas("1")
		Expect(h.count("create web")).To(BeNumerically(">", created))
		told := h.count("delete web")
		Expect(kube.Delete(ctx, web)).To(Succeed())
		gone(ctx, w.namespace, "web-of")
		Eventually(func() error {
			return kube.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: "web"}, web)
		}).WithContext(ctx).Should(Satisfy(apierrors.IsNotFound))
		Expect(h.count("delete web")).To(BeNumerically(">", told))
	})

	It("write nothing to an object but where a child needs it, and nothing to its status", func(ctx context.Context) {
		elsewhere := w.id + "-else"
		Expect(kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: elsewhere, Annotations: map[string]string{v1alpha1.AnnotationAllowFrom: w.namespace}}})).To(Succeed())
		DeferCleanup(func(ctx context.Context) {
			Expect(kube.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: elsewhere}})).To(Succeed())
		})
		h.hooks = func(h *deploymentHooks) hook.Hooks[*appsv1.Deployment] {
			return hook.Hooks[*appsv1.Deployment]{Pure: true, OnReconcile: h.phase("reconcile")}
		}
		h.on("reconcile", func(c ofDeployment) error {
			made := mapOf(c.Resource.Name+"-of", nil)
			made.Namespace = c.Resource.Spec.Template.Annotations["namespace"]
			return c.Apply(made)
		})
		h.with()
		box(ctx)
		web := deployment(ctx, "web")
		goesTo := func(namespace string) {
			GinkgoHelper()
			w.merge(ctx, web, fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"namespace":%q}}}}}`, namespace))
		}
		Eventually(func(g Gomega) {
			c, err := find(ctx, w.namespace, "web-of")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(c.OwnerReferences).To(ConsistOf(HaveField("UID", web.UID)), "the garbage collector's")
		}).WithContext(ctx).Should(Succeed())
		shows(ctx, "web", false)

		By("a child in another namespace")
		goesTo(elsewhere)
		Eventually(func() error { _, err := find(ctx, elsewhere, "web-of"); return err }).WithContext(ctx).Should(Succeed())
		shows(ctx, "web", true, v1alpha1.AnnotationNamespaces)
		gone(ctx, w.namespace, "web-of")

		By("and none there any more")
		goesTo("")
		gone(ctx, elsewhere, "web-of")
		shows(ctx, "web", false)

		By("another one, and the object is deleted")
		goesTo(elsewhere)
		Eventually(func() error { _, err := find(ctx, elsewhere, "web-of"); return err }).WithContext(ctx).Should(Succeed())
		Expect(kube.Delete(ctx, web)).To(Succeed())
		gone(ctx, elsewhere, "web-of")

		By("a field of the status")
		h.on("reconcile", func(c ofDeployment) error { return c.SetStatus("replicas", 7) })
		other := deployment(ctx, "other")
		Eventually(func(g Gomega) {
			var list eventsv1.EventList
			g.Expect(kube.List(ctx, &list, client.InNamespace(w.namespace))).To(Succeed())
			g.Expect(list.Items).To(ContainElement(And(HaveField("Regarding.Name", "other"), HaveField("Reason", v1alpha1.ReasonReconcileError),
				HaveField("Note", ContainSubstring("it sets status.replicas, and the status of a Deployment is not the box's")))))
		}).WithContext(ctx).Should(Succeed())
		Expect(kube.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: "other"}, other)).To(Succeed())
		Expect(other.Status.Replicas).To(BeZero())
	})
})
