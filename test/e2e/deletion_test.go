package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// job is a clean-up Job in flow style. Without pods it goes on until somebody gives it one; see finishes.
func job(name, fields string) string {
	return fmt.Sprintf(`{name: "{{ .metadata.name }}-%s", image: "busybox:1", %s}`, name, fields)
}

const endless = "parallelism: 0"

// failing is a Job that fails within a second or two, without ever having had a pod.
const failing = "parallelism: 0, activeDeadlineSeconds: 1"

// finishes lets an endless Job complete.
func (w *world) finishes(ctx context.Context, name string) {
	GinkgoHelper()
	j := &batchv1.Job{}
	Eventually(func(g Gomega) { w.child(ctx, g, j, name) }).WithContext(ctx).Should(Succeed())
	w.merge(ctx, j, `{"spec":{"parallelism":1}}`)
}

// cleaning waits until a deleted resource waits for a Job.
func (w *world) cleaning(ctx context.Context, name, job string) {
	GinkgoHelper()
	w.shows(ctx, name, v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonDeleting, fmt.Sprintf("waiting for clean-up Job %q to finish", job))
}

var _ = Describe("Deletion of a resource", func() {
	var w *world
	BeforeEach(func(ctx context.Context) { w = newWorld(ctx) })

	// begin makes a settled resource of a box and deletes it.
	begin := func(ctx context.Context, spec string, options ...client.DeleteOption) {
		GinkgoHelper()
		w.running(ctx, w.box(ctx, spec))
		w.website(ctx, "web", `{image: "nginx:1", replicas: 1}`)
		w.settled(ctx, "web")
		Expect(kube.Delete(ctx, w.ref("web"), options...)).To(Succeed())
	}

	It("deletes children without owner references, the last made first, and sees each gone", func(ctx context.Context) {
		other := w.anotherNamespace(ctx)
		in := fmt.Sprintf(`name: "{{ .metadata.namespace }}-web", namespace: %s`, other)
		w.running(ctx, w.box(ctx, fmt.Sprintf(`{onReconcile: {
			configmaps: [{%s, data: {a: b}}],
			services: [{%s, port: 80, selector: {a: b}}],
			deployments: [{%s, image: "nginx:1", replicas: 1}]}}`, in, in, in)))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		key := types.NamespacedName{Namespace: other, Name: w.namespace + "-web"}
		d, s, c := &appsv1.Deployment{}, &corev1.Service{}, &corev1.ConfigMap{}
		for _, obj := range []client.Object{d, s, c} {
			Expect(kube.Get(ctx, key, obj)).To(Succeed())
			w.merge(ctx, obj, `{"metadata":{"finalizers":["e2e.test/hold"]}}`)
		}
		Expect(kube.Delete(ctx, w.ref("web"))).To(Succeed())
		for i, step := range []struct {
			obj  client.Object
			kind string
		}{{d, "Deployment"}, {s, "Service"}, {c, "ConfigMap"}} {
			w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonDeleting,
				fmt.Sprintf("waiting for %s %q to be gone", step.kind, other+"/"+w.namespace+"-web"))
			Expect(kube.Get(ctx, key, step.obj)).To(Succeed())
			Expect(step.obj.GetDeletionTimestamp()).NotTo(BeNil())
			for _, later := range []client.Object{s, c}[min(i, 2):] {
				Expect(kube.Get(ctx, key, later)).To(Succeed())
				Expect(later.GetDeletionTimestamp()).To(BeNil(), "%T waits for %T", later, step.obj)
			}
			w.merge(ctx, step.obj, `{"metadata":{"finalizers":null}}`)
		}
		w.vanished(ctx, "web")
	})

	It("runs a clean-up Job once, waits for it, and leaves nothing of it", func(ctx context.Context) {
		begin(ctx, `{onReconcile: {configmaps: [{data: {a: b}}]}, onDelete: {jobs: [`+job("bye", endless)+`]}}`)
		w.cleaning(ctx, "web", "web-bye")
		j := &batchv1.Job{}
		w.child(ctx, Default, j, "web-bye")
		Expect(j.OwnerReferences).To(BeEmpty())
		Expect(j.Labels).To(HaveKeyWithValue(v1alpha1.LabelOwner, "web"))
		mark := manager.requests.mark()
		w.lookedAt(ctx, "web")
		Expect(manager.requests.since(mark, w.path("jobs"))).To(BeEmpty(), "it is not made again")
		c := &corev1.ConfigMap{}
		w.child(ctx, Default, c, "web")
		Expect(c.DeletionTimestamp).To(BeNil(), "children live until the clean-up is done")

		w.finishes(ctx, "web-bye")
		w.vanished(ctx, "web")
		Expect(sent(mark, http.MethodPost, w.path("jobs"))).To(BeZero(), "it ran once")
		for _, obj := range []client.Object{j, c} {
			err := kube.Get(ctx, client.ObjectKeyFromObject(obj), obj)
			Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%T %v", obj, err)
		}
		Eventually(func(g Gomega) {
			pods := &corev1.PodList{}
			g.Expect(kube.List(ctx, pods, client.InNamespace(w.namespace))).To(Succeed())
			g.Expect(pods.Items).To(BeEmpty())
		}).WithContext(ctx).Should(Succeed())
	})

	It("makes other things in onDelete too, and takes them away again", func(ctx context.Context) {
		begin(ctx, `{onDelete: {configmaps: [{name: "{{ .metadata.name }}-how", data: {image: "{{ .spec.image }}"}}], jobs: [`+job("bye", endless)+`]}}`)
		w.cleaning(ctx, "web", "web-bye")
		c := &corev1.ConfigMap{}
		w.child(ctx, Default, c, "web-how")
		Expect(c.Data).To(Equal(map[string]string{"image": "nginx:1"}))
		w.finishes(ctx, "web-bye")
		w.vanished(ctx, "web")
		w.gone(ctx, c, "web-how")
	})

	It("is blocked by a clean-up Job that failed, until that is run again or left out", func(ctx context.Context) {
		begin(ctx, `{onDelete: {jobs: [`+job("bye", failing)+`]}}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonCleanupFailed, `clean-up Job "web-bye" failed`)
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError, v1alpha1.AnnotationSkipCleanup)
		w.told(ctx, "web", v1alpha1.ReasonReconcileError, `clean-up Job "web-bye" failed`)
		Expect(w.get(ctx, Default, "web").GetFinalizers()).To(ContainElement(v1alpha1.Finalizer))

		By("deleting the Job")
		j := &batchv1.Job{}
		w.child(ctx, Default, j, "web-bye")
		uid := j.UID
		Expect(kube.Delete(ctx, j, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		Eventually(func(g Gomega) {
			again := &batchv1.Job{}
			w.child(ctx, g, again, "web-bye")
			g.Expect(again.UID).NotTo(Equal(uid))
		}).WithContext(ctx).Should(Succeed())
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonCleanupFailed, `clean-up Job "web-bye" failed`)

		By("leaving the clean-up out")
		w.annotate(ctx, "web", v1alpha1.AnnotationSkipCleanup, "true")
		w.vanished(ctx, "web")
		w.gone(ctx, j, "web-bye")
	})

	It("goes on after a failed Job that says so", func(ctx context.Context) {
		begin(ctx, `{onDelete: {jobs: [`+job("bye", failing+", failurePolicy: Continue")+`]}}`)
		w.vanished(ctx, "web")
		w.gone(ctx, &batchv1.Job{}, "web-bye")
	})

	It("runs no clean-up where the resource says so", func(ctx context.Context) {
		mark := manager.requests.mark()
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{data: {a: b}}]}, onDelete: {jobs: [`+job("bye", endless)+`]}}`))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		w.annotate(ctx, "web", v1alpha1.AnnotationSkipCleanup, "true")
		w.removed(ctx, "web")
		Expect(sent(mark, http.MethodPost, w.path("jobs"))).To(BeZero())
		w.gone(ctx, &corev1.ConfigMap{}, "web")
	})

	It("remembers what has finished, also in another process", func(ctx context.Context) {
		begin(ctx, `{onDelete: {jobs: [`+job("first", "backoffLimit: 0")+`, `+job("second", endless)+`]}}`)
		w.cleaning(ctx, "web", "web-second")
		marks := map[string]string{}
		Eventually(func(g Gomega) {
			mark := w.get(ctx, g, "web").GetAnnotations()[v1alpha1.AnnotationDone]
			g.Expect(json.Unmarshal([]byte(mark), &marks)).To(Succeed(), mark)
		}).WithContext(ctx).Should(Succeed())
		Expect(marks).To(And(HaveLen(1), HaveKeyWithValue("onDelete:jobs/{{ .metadata.name }}-first", Not(BeEmpty()))))

		manager.stop()
		first := &batchv1.Job{}
		w.child(ctx, Default, first, "web-first")
		Expect(kube.Delete(ctx, first, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed()) // as its TTL would
		w.gone(ctx, first, "web-first")
		manager = startManager(cluster.Config())
		w.finishes(ctx, "web-second")
		w.vanished(ctx, "web")
		Expect(sent(0, http.MethodPost, w.path("jobs"))).To(BeZero(), "nothing ran twice")
	})

	It("runs ordered declarations one after the other", func(ctx context.Context) {
		begin(ctx, `{deletion: {ordered: true}, onDelete: {
			resources: [{manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .metadata.name }}-last"}}}],
			jobs: [`+job("z", endless)+`, `+job("a", endless)+`]}}`)
		w.cleaning(ctx, "web", "web-z")
		w.lookedAt(ctx, "web")
		Expect(apierrors.IsNotFound(kube.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: "web-a"}, &batchv1.Job{}))).To(BeTrue())
		w.finishes(ctx, "web-z")
		w.cleaning(ctx, "web", "web-a")
		Expect(apierrors.IsNotFound(kube.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: "web-last"}, &corev1.ConfigMap{}))).To(BeTrue())
		mark := manager.requests.mark()
		w.finishes(ctx, "web-a")
		w.vanished(ctx, "web")
		Expect(sent(mark, http.MethodPost, w.path("configmaps"))).To(Equal(1), "the last one ran")
	})

	It("says when the clean-up takes too long, and lets nothing go", func(ctx context.Context) {
		begin(ctx, `{deletion: {timeout: 1s}, onDelete: {jobs: [`+job("bye", endless)+`]}}`)
		const late = `onDelete has not finished within 1s: waiting for clean-up Job "web-bye" to finish`
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError, late)
		w.told(ctx, "web", v1alpha1.ReasonReconcileError, late)
		w.lookedAt(ctx, "web")
		Expect(w.get(ctx, Default, "web").GetFinalizers()).To(ContainElement(v1alpha1.Finalizer))
		w.finishes(ctx, "web-bye")
		w.vanished(ctx, "web")
	})

	Context("in the foreground", func() {
		foreground := client.PropagationPolicy(metav1.DeletePropagationForeground)

		It("does not take the children from under the clean-up", func(ctx context.Context) {
			begin(ctx, `{onCreate: {configmaps: [{id: once, name: "{{ .metadata.name }}-once", data: {a: b}}]},
				onReconcile: {configmaps: [{data: {a: b}}]}, onDelete: {jobs: [`+job("bye", endless)+`]}}`, foreground)
			w.cleaning(ctx, "web", "web-bye")
			w.probe(ctx)
			for _, name := range []string{"web", "web-once"} {
				c := &corev1.ConfigMap{}
				w.child(ctx, Default, c, name)
				Expect(c.DeletionTimestamp).To(BeNil())
				Expect(c.OwnerReferences).To(BeEmpty())
			}
			w.finishes(ctx, "web-bye")
			w.vanished(ctx, "web")
			w.gone(ctx, &corev1.ConfigMap{}, "web")
			w.gone(ctx, &corev1.ConfigMap{}, "web-once")
		})

		It("takes the children first where the box says so", func(ctx context.Context) {
			begin(ctx, `{deletion: {childrenFirst: true}, onReconcile: {configmaps: [{data: {a: b}}]}, onDelete: {jobs: [`+job("bye", endless)+`]}}`, foreground)
			w.gone(ctx, &corev1.ConfigMap{}, "web")
			w.cleaning(ctx, "web", "web-bye")
			w.finishes(ctx, "web-bye")
			w.vanished(ctx, "web")
		})

		It("follows a box that gets, or loses, a clean-up", func(ctx context.Context) {
			const children = `onCreate: {configmaps: [{id: once, name: "{{ .metadata.name }}-once", data: {a: b}}]}, onReconcile: {configmaps: [{data: {a: b}}]}`
			w.running(ctx, w.box(ctx, `{`+children+`}`))
			w.website(ctx, "web", `{}`)
			w.settled(ctx, "web")
			references := func(n int) {
				GinkgoHelper()
				for _, name := range []string{"web", "web-once"} {
					Eventually(func(g Gomega) {
						c := &corev1.ConfigMap{}
						w.child(ctx, g, c, name)
						g.Expect(c.OwnerReferences).To(HaveLen(n))
					}).WithContext(ctx).Should(Succeed())
				}
			}
			references(1)
			w.box(ctx, `{`+children+`, onDelete: {jobs: [`+job("bye", endless)+`]}}`)
			references(0)
			w.box(ctx, `{deletion: {childrenFirst: true}, `+children+`, onDelete: {jobs: [`+job("bye", endless)+`]}}`)
			references(1)
			w.box(ctx, `{`+children+`, onDelete: {jobs: [`+job("bye", endless)+`]}}`)
			references(0)
			w.box(ctx, `{`+children+`}`)
			references(1)
		})
	})

	DescribeTable("keeps the children that are orphaned", func(ctx context.Context, cleanup string) {
		begin(ctx, `{onReconcile: {configmaps: [{labels: {team: a}, data: {a: b}}]}`+cleanup+`}`, client.PropagationPolicy(metav1.DeletePropagationOrphan))
		if cleanup != "" {
			w.cleaning(ctx, "web", "web-bye")
			By("restarting the manager when the garbage collector has taken its finalizer off")
			Eventually(func(g Gomega) {
				g.Expect(w.get(ctx, g, "web").GetFinalizers()).To(Equal([]string{v1alpha1.Finalizer}))
			}).WithContext(ctx).Should(Succeed())
			manager.stop()
			manager = startManager(cluster.Config())
			w.finishes(ctx, "web-bye")
		}
		w.vanished(ctx, "web")
		w.probe(ctx)
		c := &corev1.ConfigMap{}
		w.child(ctx, Default, c, "web")
		Expect(c.DeletionTimestamp).To(BeNil())
		Expect(c.OwnerReferences).To(BeEmpty())
		Expect(c.Labels).To(Equal(map[string]string{"team": "a"}))
		Expect(c.Annotations).To(BeEmpty())
		w.gone(ctx, &batchv1.Job{}, "web-bye")
	},
		Entry("without a clean-up", ""),
		Entry("after the clean-up", `, onDelete: {jobs: [`+job("bye", endless)+`]}`),
	)

	It("skips what can't be made in a namespace that is going away", func(ctx context.Context) {
		ns := w.anotherNamespace(ctx)
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{data: {a: b}}]}, onDelete: {jobs: [`+job("bye", endless)+`]}}`))
		w.websiteIn(ctx, ns, "web", nil)
		Eventually(func(g Gomega) {
			g.Expect(kube.Get(ctx, types.NamespacedName{Namespace: ns, Name: "web"}, &corev1.ConfigMap{})).To(Succeed())
		}).WithContext(ctx).Should(Succeed())
		Expect(kube.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})).To(Succeed())
		Eventually(func(g Gomega) {
			err := kube.Get(ctx, types.NamespacedName{Name: ns}, &corev1.Namespace{})
			g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "the namespace is gone")
		}).WithContext(ctx).Should(Succeed())
		Eventually(func(g Gomega) {
			var list eventsv1.EventList
			g.Expect(kube.List(ctx, &list)).To(Succeed())
			g.Expect(list.Items).To(ContainElement(And(HaveField("Reason", "CleanupSkipped"), HaveField("Note", ContainSubstring(ns+"/web")))))
		}).WithContext(ctx).Should(Succeed())
	})

	Context("of a box that does nothing else", func() {
		const children = `onReconcile: {configmaps: [{data: {a: b}}]}, onDelete: {jobs: [{name: "{{ .metadata.name }}-bye", image: "busybox:1"}]}`
		// leaves deletes the resource and checks that the clean-up ran.
		leaves := func(ctx context.Context) {
			GinkgoHelper()
			mark := manager.requests.mark()
			w.removed(ctx, "web")
			Expect(sent(mark, http.MethodPost, w.path("jobs"))).To(Equal(1), "the clean-up ran")
			w.gone(ctx, &corev1.ConfigMap{}, "web")
			w.gone(ctx, &batchv1.Job{}, "web-bye")
		}
		BeforeEach(func(ctx context.Context) {
			w.running(ctx, w.box(ctx, `{`+children+`}`))
			w.website(ctx, "web", `{image: good}`)
			w.settled(ctx, "web")
		})
		restart := func() {
			manager.stop()
			manager = startManager(cluster.Config())
		}

		It("is served although the resource is not valid", func(ctx context.Context) {
			w.box(ctx, `{validation: {rules: [{field: spec.image, operator: equals, value: other, message: not this one}]}, `+children+`}`)
			w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonValidationFailed, "not this one")
			leaves(ctx)
		})

		It("is served although the resource is paused", func(ctx context.Context) {
			w.annotate(ctx, "web", v1alpha1.AnnotationPaused, "true")
			w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionFalse, v1alpha1.ReasonPaused, "")
			leaves(ctx)
		})

		DescribeTable("is served although the box is suspended", func(ctx context.Context, again func()) {
			w.box(ctx, `{suspend: true, `+children+`}`)
			boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonSuspended, "")
			again()
			leaves(ctx)
		}, Entry("in the process that ran it", func() {}), Entry("in another process", restart))

		It("is served although the box does not compile any more", func(ctx context.Context) {
			w.box(ctx, `{onReconcile: {configmaps: [{data: {a: "{{ .spec.nothing }}"}}]}}`)
			boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "spec.nothing")
			leaves(ctx)
		})

		It("is served without the clean-up where no plan is left: the box does not compile, and the process is another", func(ctx context.Context) {
			w.box(ctx, `{finalizers: [not-qualified], onReconcile: {configmaps: [{data: {a: "{{ .spec.nothing }}"}}]}}`)
			boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "spec.nothing")
			restart()
			w.removed(ctx, "web")
			w.gone(ctx, &corev1.ConfigMap{}, "web")
		})
	})

	It("puts on the finalizers of its box, and takes all of them off together", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `{finalizers: [example.io/one, example.io/two], onReconcile: {configmaps: [{data: {a: b}}]}}`))
		w.website(ctx, "web", `{}`)
		Expect(w.settled(ctx, "web").GetFinalizers()).To(ConsistOf("example.io/one", "example.io/two", v1alpha1.Finalizer))

		By("dropping one from the box, and adding another")
		w.box(ctx, `{finalizers: [example.io/two, example.io/three], onReconcile: {configmaps: [{data: {a: b}}]}}`)
		Eventually(func(g Gomega) {
			g.Expect(w.get(ctx, g, "web").GetFinalizers()).To(ConsistOf("example.io/two", "example.io/three", v1alpha1.Finalizer))
		}).WithContext(ctx).Should(Succeed())

		By("deleting the resource with a finalizer of somebody else")
		w.merge(ctx, w.ref("web"), `{"metadata":{"finalizers":["e2e.test/hold","example.io/two","example.io/three","`+v1alpha1.Finalizer+`"]}}`)
		mark := manager.requests.mark()
		Expect(kube.Delete(ctx, w.ref("web"))).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(w.get(ctx, g, "web").GetFinalizers()).To(Equal([]string{"e2e.test/hold"}))
		}).WithContext(ctx).Should(Succeed())
		Expect(sent(mark, http.MethodPatch, w.path("websites")+"/web")).To(Equal(1), "one patch takes them all")
		w.merge(ctx, w.ref("web"), `{"metadata":{"finalizers":null}}`)
		w.vanished(ctx, "web")
	})

	It("leaves a finalizer that no revision of the box names, whatever the resource's author writes", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{data: {a: b}}]}}`))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		w.merge(ctx, w.ref("web"), `{"metadata":{"annotations":{"`+v1alpha1.AnnotationFinalizers+`":"e2e.test/hold"},`+
			`"finalizers":["e2e.test/hold","`+v1alpha1.Finalizer+`"]}}`)
		Expect(kube.Delete(ctx, w.ref("web"))).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(w.get(ctx, g, "web").GetFinalizers()).To(Equal([]string{"e2e.test/hold"}))
		}).WithContext(ctx).Should(Succeed())
		w.merge(ctx, w.ref("web"), `{"metadata":{"finalizers":null}}`)
		w.vanished(ctx, "web")
	})

	It("takes finalizers off that only a former version of the box knew", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `{finalizers: [example.io/one], onReconcile: {configmaps: [{data: {a: b}}]}}`))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		manager.stop()
		w.box(ctx, `{onReconcile: {configmaps: [{data: {a: b}}]}}`)
		Expect(kube.Delete(ctx, w.ref("web"))).To(Succeed())
		manager = startManager(cluster.Config())
		w.vanished(ctx, "web")
	})
})

// probe waits until the garbage collector has done what it had to do before: it deletes an object whose owner is gone.
func (w *world) probe(ctx context.Context) {
	GinkgoHelper()
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, GenerateName: "probe-", OwnerReferences: []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "ConfigMap", Name: "nobody", UID: "a6ad0a8e-6d2b-4f0b-8f3c-2f6c5ed0a001",
	}}}}
	Expect(kube.Create(ctx, c)).To(Succeed())
	w.gone(ctx, c, c.Name)
}
