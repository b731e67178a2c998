package e2e_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var _ = Describe("What is noted on objects of others", func() {
	var (
		w     *world
		label string
	)
	BeforeEach(func(ctx context.Context) {
		w = newWorldWithoutCRD(ctx)
		label = w.id + ".e2e.test/expose"
	})
	over := func(ctx context.Context, name, value, more string) {
		GinkgoHelper()
		w.boxNamed(ctx, name, fmt.Sprintf(`{crd: {apiVersion: apps/v1, kind: Deployment}, selector: {matchLabels: {%q: %q}}, %s}`, label, value, more))
		w.running(ctx, name)
	}
	box := func(ctx context.Context, more string) {
		GinkgoHelper()
		over(ctx, w.id, "yes", more)
	}
	deployment := func(ctx context.Context, name, value string) *appsv1.Deployment {
		GinkgoHelper()
		return w.deployment(ctx, name, map[string]string{label: value})
	}
	relabel := func(ctx context.Context, d *appsv1.Deployment, value string) {
		GinkgoHelper()
		w.merge(ctx, d, fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, label, value))
	}
	there := func(ctx context.Context, obj client.Object, namespace, name string) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			g.Expect(kube.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, obj)).To(Succeed())
			g.Expect(obj.GetDeletionTimestamp()).To(BeNil())
		}).WithContext(ctx).Should(Succeed())
	}
	gone := func(ctx context.Context, obj client.Object, namespace, name string) {
		GinkgoHelper()
		Eventually(func() error {
			return kube.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, obj)
		}).WithContext(ctx).Should(Satisfy(apierrors.IsNotFound))
	}
	held := func(ctx context.Context, name, by string) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			d := &appsv1.Deployment{}
			g.Expect(kube.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: name}, d)).To(Succeed())
			g.Expect(d.Finalizers).To(Equal([]string{v1alpha1.Finalizer}))
			g.Expect(d.Labels).To(HaveKeyWithValue(v1alpha1.LabelServedBy, by))
		}).WithContext(ctx).Should(Succeed())
	}
	// bare waits until nothing of ours is on a Deployment.
	bare := func(ctx context.Context, name string) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			d := &appsv1.Deployment{}
			g.Expect(kube.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: name}, d)).To(Succeed())
			g.Expect(d.Finalizers).To(BeEmpty())
			g.Expect(d.Labels).To(HaveLen(1))
			g.Expect(d.Annotations).NotTo(HaveKey(HavePrefix(v1alpha1.GroupName)))
		}).WithContext(ctx).Should(Succeed())
	}
	restarted := func(ctx context.Context, meanwhile func()) {
		GinkgoHelper()
		manager.stop()
		meanwhile()
		manager = startManager(cluster.Config())
		w.running(ctx, w.id)
	}
	configMap := func() *corev1.ConfigMap { return &corev1.ConfigMap{} }

	It("holds an object whose children the garbage collector would leave, until they are gone, and no longer than the box needs", func(ctx context.Context) {
		elsewhere := w.id + "-else"
		Expect(kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: elsewhere}})).To(Succeed())
		DeferCleanup(func(ctx context.Context) {
			Expect(kube.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: elsewhere}})).To(Succeed())
		})
		makes := func(namespace string) string {
			return fmt.Sprintf(`onReconcile: {configmaps: [{id: one, name: "{{ .metadata.name }}-of", namespace: %q, data: {a: b}}]}`, namespace)
		}
		box(ctx, makes(elsewhere))
		var all [4]*appsv1.Deployment
		for i, name := range []string{"left", "deleted", "stays", "last"} {
			all[i] = deployment(ctx, name, "yes")
			there(ctx, configMap(), elsewhere, name+"-of")
			held(ctx, name, w.id)
		}
		By("an object that is deleted, and one that leaves the selection")
		Expect(kube.Delete(ctx, deployment(ctx, "short", "yes"))).To(Succeed())
		gone(ctx, &appsv1.Deployment{}, w.namespace, "short")
		gone(ctx, configMap(), elsewhere, "short-of")
		relabel(ctx, all[0], "no")
		bare(ctx, "left")
		gone(ctx, configMap(), elsewhere, "left-of")
		relabel(ctx, all[0], "yes")
		there(ctx, configMap(), elsewhere, "left-of")
		held(ctx, "left", w.id)

		By("the same while no manager runs")
		restarted(ctx, func() {
			relabel(ctx, all[0], "no")
			relabel(ctx, all[1], "no")
			Expect(kube.Delete(ctx, all[1])).To(Succeed())
		})
		bare(ctx, "left")
		gone(ctx, configMap(), elsewhere, "left-of")
		gone(ctx, &appsv1.Deployment{}, w.namespace, "deleted")
		gone(ctx, configMap(), elsewhere, "deleted-of")
		there(ctx, configMap(), elsewhere, "stays-of")

		By("an object that somebody let go of while no manager ran, and whose children are gone, is known by its marks alone")
		restarted(ctx, func() {
			relabel(ctx, all[3], "no")
			Expect(kube.Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: elsewhere, Name: "last-of"}})).To(Succeed())
		})
		bare(ctx, "last")

		By("a box that has no need for it any more")
		box(ctx, makes(""))
		there(ctx, configMap(), w.namespace, "stays-of")
		gone(ctx, configMap(), elsewhere, "stays-of")
		bare(ctx, "stays")
		there(ctx, configMap(), w.namespace, "stays-of")
	})

	It("runs onDelete for an object that leaves the selection as for one that is deleted, also over a restart and in a suspended box", func(ctx context.Context) {
		box(ctx, `resync: 24h, onReconcile: {configmaps: [{name: "{{ .metadata.name }}-of"}]},
			onDelete: {configmaps: [{id: bye, name: "{{ .metadata.name }}-bye", readyWhen: [{field: object.data.done, equals: "yes"}]}]}`)
		finish := func(name string) {
			GinkgoHelper()
			c := configMap()
			there(ctx, c, w.namespace, name+"-bye")
			held(ctx, name, w.id)
			there(ctx, configMap(), w.namespace, name+"-of")
			w.merge(ctx, c, `{"data":{"done":"yes"}}`)
			gone(ctx, c, w.namespace, name+"-bye")
			gone(ctx, configMap(), w.namespace, name+"-of")
		}
		web, other := deployment(ctx, "web", "yes"), deployment(ctx, "other", "yes")
		for _, name := range []string{"web", "other"} {
			there(ctx, configMap(), w.namespace, name+"-of")
		}
		relabel(ctx, web, "no")
		there(ctx, configMap(), w.namespace, "web-bye")
		restarted(ctx, func() {})
		boxShows(ctx, w.id, v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonNotSelected, "1 that left the selection are let go, the first is "+w.namespace+"/web")
		finish("web")
		bare(ctx, "web")
		boxShows(ctx, w.id, v1alpha1.ConditionReconciling, metav1.ConditionFalse, v1alpha1.ReasonSettled, "")

		By("coming back, and being deleted")
		relabel(ctx, web, "yes")
		there(ctx, configMap(), w.namespace, "web-of")
		held(ctx, "web", w.id)
		Expect(kube.Delete(ctx, web)).To(Succeed())
		finish("web")
		gone(ctx, &appsv1.Deployment{}, w.namespace, "web")

		By("while the box is suspended")
		w.merge(ctx, &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: w.id}}, `{"spec":{"suspend":true}}`)
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonSuspended, "spec.suspend is true")
		relabel(ctx, other, "no")
		finish("other")
		bare(ctx, "other")
	})

	It("takes its marks off when the box is deleted, and waits for what has left", func(ctx context.Context) {
		box(ctx, `onReconcile: {configmaps: [{name: "{{ .metadata.name }}-of", deletionPolicy: Orphan}]}`)
		web, other, dead := deployment(ctx, "web", "yes"), deployment(ctx, "other", "yes"), deployment(ctx, "dead", "yes")
		for _, name := range []string{"web", "other", "dead"} {
			there(ctx, configMap(), w.namespace, name+"-of")
			held(ctx, name, w.id)
		}
		letGo := func(name string) {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				c := configMap()
				g.Expect(kube.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: name + "-of"}, c)).To(Succeed())
				g.Expect(c.Labels).NotTo(HaveKey(v1alpha1.LabelOwnerUID))
				g.Expect(c.OwnerReferences).To(BeEmpty())
			}).WithContext(ctx).Should(Succeed())
		}
		Expect(kube.Delete(ctx, dead)).To(Succeed())
		gone(ctx, dead, w.namespace, "dead")
		letGo("dead")
		manager.stop()
		relabel(ctx, web, "no")
		ref := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: w.id}}
		Expect(kube.Delete(ctx, ref)).To(Succeed())
		manager = startManager(cluster.Config())
		gone(ctx, ref, "", w.id)
		bare(ctx, "web")
		letGo("web")
		bare(ctx, "other")
		there(ctx, configMap(), w.namespace, "other-of")
		Expect(kube.Delete(ctx, other)).To(Succeed())
		gone(ctx, other, w.namespace, "other")
	})

	It("gives an object to an older box when the younger one has cleaned up", func(ctx context.Context) {
		elder, younger := w.id+"-a", w.id+"-b"
		over(ctx, elder, "no", `onReconcile: {configmaps: [{name: "{{ .metadata.name }}-elder", deletionPolicy: Orphan}]}`)
		over(ctx, younger, "yes", `onReconcile: {configmaps: [{name: "{{ .metadata.name }}-younger"}]},
			onDelete: {configmaps: [{id: bye, name: "{{ .metadata.name }}-bye", readyWhen: [{field: object.data.done, equals: "yes"}]}]}`)
		deployment(ctx, "web", "yes")
		held(ctx, "web", younger)
		there(ctx, configMap(), w.namespace, "web-younger")
		over(ctx, elder, "yes", `onReconcile: {configmaps: [{name: "{{ .metadata.name }}-elder", deletionPolicy: Orphan}]}`)
		bye := configMap()
		there(ctx, bye, w.namespace, "web-bye")
		Eventually(func(g Gomega) {
			g.Expect(getHealth(ctx, g, elder).Status.Resources.Waiting).To(BeEquivalentTo(1))
		}).WithContext(ctx).Should(Succeed())
		Expect(kube.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: "web-elder"}, configMap())).To(Satisfy(apierrors.IsNotFound))
		w.merge(ctx, bye, `{"data":{"done":"yes"}}`)
		held(ctx, "web", elder)
		there(ctx, configMap(), w.namespace, "web-elder")
		gone(ctx, configMap(), w.namespace, "web-younger")
	})

	It("notes without a finalizer what happens once, and forgets it with the selection", func(ctx context.Context) {
		box(ctx, `resync: 24h, onCreate: {configmaps: [{name: "{{ .metadata.name }}-first", reconcile: false}]}, onReconcile: {jobs: [{id: once, image: "example.com/migrate", ttlSecondsAfterFinished: 0}]}`)
		web := deployment(ctx, "web", "yes")
		noted := func() {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				g.Expect(kube.Get(ctx, client.ObjectKeyFromObject(web), web)).To(Succeed())
				g.Expect(web.Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationDone, ContainSubstring(`"once":"`)))
				g.Expect(web.Annotations).To(HaveKey(v1alpha1.AnnotationActiveSince))
			}).WithContext(ctx).Should(Succeed())
			Expect(web.Finalizers).To(BeEmpty())
			Expect(web.Labels).To(HaveKeyWithValue(v1alpha1.LabelServedBy, w.id))
		}
		noted()
		gone(ctx, &batchv1.Job{}, w.namespace, "web")
		Expect(kube.Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web-first"}})).To(Succeed())

		By("another process makes neither again")
		restarted(ctx, func() {})
		w.merge(ctx, web, `{"spec":{"replicas":1}}`)
		deployment(ctx, "after", "yes")
		there(ctx, configMap(), w.namespace, "after-first")
		Eventually(func(g Gomega) {
			g.Expect(getHealth(ctx, g, w.id).Status.Resources.Ready).To(BeEquivalentTo(2))
		}).WithContext(ctx).Should(Succeed())
		Expect(kube.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: "web-first"}, configMap())).To(Satisfy(apierrors.IsNotFound))
		noted()

		By("leaving, and coming back as a new one")
		relabel(ctx, web, "no")
		bare(ctx, "web")
		relabel(ctx, web, "yes")
		there(ctx, configMap(), w.namespace, "web-first")
		noted()
	})

	It("makes what providers give for objects of others, and deletes it with the object, the selection and the declaration", func(ctx context.Context) {
		s := newShelf()
		s.key = "open-sesame"
		Expect(kube.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "library"}, StringData: map[string]string{"key": s.key}})).To(Succeed())
		box(ctx, `providers: {library: [{id: main, book: {name: "{{ .metadata.name }}", pages: 3}, credentials: {secretRef: {name: library}}, endpoint: "`+s.URL+`"}]},
			onReconcile: {configmaps: [{name: "{{ .metadata.name }}-place", data: {place: "{{ .providers.main.place }}"}}]}`)
		one, two := deployment(ctx, "one", "yes"), deployment(ctx, "two", "yes")
		deployment(ctx, "three", "yes")
		for _, name := range []string{"one", "two", "three"} {
			there(ctx, configMap(), w.namespace, name+"-place")
			held(ctx, name, w.id)
		}
		Expect(s.has()).To(Equal([]string{"one", "three", "two"}))
		By("deleting one while the service is down, and over a restart")
		s.change(func() { s.down = true })
		Expect(kube.Delete(ctx, one)).To(Succeed())
		s.asked()
		Eventually(s.asked).WithContext(ctx).Should(ContainElement("DELETE one"))
		restarted(ctx, func() { s.change(func() { s.down = false }) })
		gone(ctx, &appsv1.Deployment{}, w.namespace, "one")
		Expect(s.has()).To(Equal([]string{"three", "two"}))

		By("taking one out of the selection")
		relabel(ctx, two, "no")
		bare(ctx, "two")
		Expect(s.has()).To(Equal([]string{"three"}))

		By("declaring it no more")
		box(ctx, `onReconcile: {configmaps: [{name: "{{ .metadata.name }}-place", data: {place: none}}]}`)
		bare(ctx, "three")
		Expect(s.has()).To(BeEmpty())
	})

	It("takes back what an object has patched when that leaves the selection", func(ctx context.Context) {
		target := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "shared"}}
		Expect(kube.Create(ctx, target)).To(Succeed())
		box(ctx, `onReconcile: {patches: [{target: {apiVersion: v1, kind: ConfigMap, name: shared}, patch: {data: {from: "{{ .metadata.name }}"}}}]}`)
		web := deployment(ctx, "web", "yes")
		data := func(want any) {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				g.Expect(kube.Get(ctx, client.ObjectKeyFromObject(target), target)).To(Succeed())
				g.Expect(target.Data["from"]).To(Equal(want))
			}).WithContext(ctx).Should(Succeed())
		}
		data("web")
		held(ctx, "web", w.id)
		relabel(ctx, web, "no")
		data("")
		bare(ctx, "web")
	})

	It("gives back what an object has taken, also where the box was deleted and made again", func(ctx context.Context) {
		target := w.owned(ctx, "shared", map[string]string{"from": "former", "own": "x"})
		box := func() {
			GinkgoHelper()
			box(ctx, `onReconcile: {patches: [{id: from, force: true, target: {apiVersion: v1, kind: ConfigMap, name: shared}, patch: {data: {from: "{{ .metadata.name }}"}}}]}`)
		}
		box()
		web := deployment(ctx, "web", "yes")
		w.hasData(ctx, "shared", map[string]string{"from": "web", "own": "x"})
		held(ctx, "web", w.id)

		By("deleting the box, which leaves the patch, and the note of what it has taken")
		ref := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: w.id}}
		Expect(kube.Delete(ctx, ref)).To(Succeed())
		gone(ctx, ref, "", w.id)
		Expect(kube.Get(ctx, client.ObjectKeyFromObject(web), web)).To(Succeed())
		Expect(web.Finalizers).To(BeEmpty())
		Expect(web.Labels).NotTo(HaveKey(v1alpha1.LabelServedBy))
		Expect(web.Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationPatches, And(ContainSubstring(`"value":"former"`), ContainSubstring(string(web.UID)))))
		w.hasData(ctx, "shared", map[string]string{"from": "web", "own": "x"})

		By("making it again, and letting the object go")
		box()
		held(ctx, "web", w.id)
		relabel(ctx, web, "no")
		w.hasData(ctx, "shared", map[string]string{"from": "former", "own": "x"})
		bare(ctx, "web")
		Expect(kube.Get(ctx, client.ObjectKeyFromObject(target), target)).To(Succeed())
		Expect(target.ManagedFields).To(ContainElement(And(HaveField("Manager", "somebody"), HaveField("FieldsV1.Raw", ContainSubstring(`f:from`)))))
	})
})
