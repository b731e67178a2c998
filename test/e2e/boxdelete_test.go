package e2e_test

import (
	"context"
	"net/http"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// deleteBox deletes a box.
func deleteBox(ctx context.Context, name string) {
	GinkgoHelper()
	Expect(kube.Delete(ctx, &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
}

// boxGone waits until a box and its CRDHealth are gone.
func boxGone(ctx context.Context, name string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		box := &v1alpha1.OperatorBox{}
		err := kube.Get(ctx, types.NamespacedName{Name: name}, box)
		g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", box.Status.Conditions)
		g.Expect(apierrors.IsNotFound(kube.Get(ctx, types.NamespacedName{Name: name}, &v1alpha1.CRDHealth{}))).To(BeTrue(), "CRDHealth goes with its box")
	}).WithContext(ctx).Should(Succeed())
}

// unmarked waits until a resource carries nothing of Orkestra.
func (w *world) unmarked(ctx context.Context, name string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		obj := w.get(ctx, g, name)
		g.Expect(obj.GetFinalizers()).To(BeEmpty())
		g.Expect(obj.GetLabels()).NotTo(HaveKey(v1alpha1.LabelManaged))
		for annotation := range obj.GetAnnotations() {
			g.Expect(annotation).NotTo(HavePrefix(v1alpha1.GroupName))
		}
	}).WithContext(ctx).Should(Succeed())
}

// unkept checks that a resource which was let go says so, and nothing else.
func unkept(obj *unstructured.Unstructured, reason, text string) {
	GinkgoHelper()
	Expect(condition(obj, v1alpha1.ConditionReady)).To(And(
		HaveField("Status", metav1.ConditionUnknown), HaveField("Reason", reason), HaveField("Message", ContainSubstring(text))))
	Expect(condition(obj, v1alpha1.ConditionReconciling)).To(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", reason)))
	Expect(condition(obj, v1alpha1.ConditionStalled).Status).To(Equal(metav1.ConditionFalse))
}

// unholdAndDelete deletes a box whatever holds it.
func unholdAndDelete(ctx context.Context, name string) error {
	box := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := kube.Patch(ctx, box, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		return err
	}
	return kube.Delete(ctx, box)
}

var _ = Describe("Deletion of a box", func() {
	const spec = `finalizers: [example.io/hold], onCreate: {configmaps: [{id: once, name: "{{ .metadata.name }}-once", data: {a: b}}]},
		onReconcile: {configmaps: [{data: {a: b}}, {id: kept, name: "{{ .metadata.name }}-kept", deletionPolicy: Orphan, data: {a: b}}]}`
	var w *world
	BeforeEach(func(ctx context.Context) { w = newWorld(ctx) })
	begin := func(ctx context.Context, spec string) {
		GinkgoHelper()
		w.running(ctx, w.box(ctx, `{`+spec+`}`))
		for _, name := range []string{"web", "other"} {
			w.website(ctx, name, `{mode: first}`)
			w.settled(ctx, name)
		}
	}
	cleanup := func(ctx context.Context) {
		GinkgoHelper()
		w.merge(ctx, &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: w.id}}, `{"metadata":{"annotations":{"`+v1alpha1.AnnotationCleanup+`":"true"}}}`)
	}

	It("lets go of the resources also where it overtakes the finalizer of the box, or goes past it", func(ctx context.Context) {
		var once sync.Once
		// The API server can do so: it decides about a deletion by the finalizers that it has read before.
		replaceManager(via(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/operatorboxes/"+w.id+"/status") {
					once.Do(func() { // it runs by now
						defer GinkgoRecover()
						w.marked(ctx, "web")
						Expect(unholdAndDelete(ctx, w.id)).To(Succeed())
					})
				}
				return next.RoundTrip(r)
			})
		}))
		w.website(ctx, "web", `{mode: first}`)
		w.box(ctx, `{`+spec+`}`)
		boxGone(ctx, w.id)
		w.unmarked(ctx, "web")
		unkept(w.get(ctx, Default, "web"), v1alpha1.ReasonBoxDeleted, "nobody keeps this resource and its children any more")

		By("taking the finalizer off by hand, and deleting the box")
		begin(ctx, spec)
		Expect(unholdAndDelete(ctx, w.id)).To(Succeed())
		for _, name := range []string{"web", "other"} {
			w.unmarked(ctx, name)
			unkept(w.get(ctx, Default, name), v1alpha1.ReasonBoxDeleted, "nobody keeps this resource and its children any more")
		}
		w.removed(ctx, "web")
	})

	DescribeTable("takes its marks off the resources and leaves their children", func(ctx context.Context, before func(ctx context.Context)) {
		begin(ctx, spec)
		before(ctx)
		versions := map[string]string{}
		for _, name := range []string{"web", "web-once", "web-kept"} {
			c := &corev1.ConfigMap{}
			w.child(ctx, Default, c, name)
			versions[name] = c.ResourceVersion
		}
		deleteBox(ctx, w.id)
		boxGone(ctx, w.id)
		for _, name := range []string{"web", "other"} {
			obj := w.get(ctx, Default, name)
			Expect(obj.GetFinalizers()).To(BeEmpty(), "it is let go before the box is")
			w.unmarked(ctx, name)
			unkept(obj, v1alpha1.ReasonBoxDeleted, "nobody keeps this resource and its children any more")
		}
		w.probe(ctx)
		for name, version := range versions {
			c := &corev1.ConfigMap{}
			w.child(ctx, Default, c, name)
			Expect(c.ResourceVersion).To(Equal(version), "%s is as it was", name)
		}
		By("deleting a resource: nobody holds it, and the garbage collector takes its children")
		w.removed(ctx, "web")
		w.gone(ctx, &corev1.ConfigMap{}, "web")
	},
		Entry("when it runs", func(context.Context) {}),
		Entry("when it is suspended", func(ctx context.Context) {
			w.box(ctx, `{suspend: true, `+spec+`}`)
			boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonSuspended, "")
		}),
		Entry("when it no longer compiles", func(ctx context.Context) {
			w.box(ctx, `{onReconcile: {configmaps: [{data: {a: "{{ .spec.nothing }}"}}]}}`)
			boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "")
		}),
		Entry("when it no longer compiles, in another process", func(ctx context.Context) {
			w.box(ctx, `{finalizers: [not-qualified], onReconcile: {configmaps: [{data: {a: "{{ .spec.nothing }}"}}]}}`)
			boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "")
			replaceManager()
		}),
	)

	It("goes on in another process", func(ctx context.Context) {
		begin(ctx, spec)
		manager.stop()
		deleteBox(ctx, w.id)
		manager = startManager(cluster.Config())
		boxGone(ctx, w.id)
		w.unmarked(ctx, "web")
		w.unmarked(ctx, "other")
		w.child(ctx, Default, &corev1.ConfigMap{}, "web")
	})

	It("removes the children first where the annotation says so, but for those to be orphaned", func(ctx context.Context) {
		begin(ctx, spec)
		c := &corev1.ConfigMap{}
		w.child(ctx, Default, c, "web")
		w.merge(ctx, c, `{"metadata":{"finalizers":["e2e.test/hold"]}}`)
		cleanup(ctx)
		deleteBox(ctx, w.id)
		w.gone(ctx, &corev1.ConfigMap{}, "other")
		w.gone(ctx, &corev1.ConfigMap{}, "other-once")
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonDeletionBlocked, w.namespace+"/web")
		Expect(w.get(ctx, Default, "web").GetFinalizers()).To(ContainElement(v1alpha1.Finalizer), "until its child is gone")
		w.merge(ctx, c, `{"metadata":{"finalizers":null}}`)
		boxGone(ctx, w.id)
		w.unmarked(ctx, "web")
		unkept(w.get(ctx, Default, "web"), v1alpha1.ReasonBoxDeleted, "was deleted, and the children of this resource: nobody keeps it any more")
		for _, name := range []string{"web", "web-once"} {
			w.gone(ctx, &corev1.ConfigMap{}, name)
		}
		w.child(ctx, Default, c, "web-kept")
		Expect(c.Labels).To(BeEmpty())
		Expect(c.OwnerReferences).To(BeEmpty())
	})

	It("needs no plan: one whose spec never compiled goes", func(ctx context.Context) {
		w.box(ctx, `{status: {fields: [{path: fase, value: a}]}}`)
		boxShows(ctx, w.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "status.fase")
		deleteBox(ctx, w.id)
		boxGone(ctx, w.id)
	})

	It("needs no CRD", func(ctx context.Context) {
		begin(ctx, spec)
		Expect(kube.Delete(ctx, w.crd())).To(Succeed())
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonCRDMissing, w.crdName())
		deleteBox(ctx, w.id)
		boxGone(ctx, w.id)
	})

	It("goes together with its CRD", func(ctx context.Context) {
		begin(ctx, spec)
		Expect(kube.Delete(ctx, w.crd())).To(Succeed())
		deleteBox(ctx, w.id)
		boxGone(ctx, w.id)
		Eventually(func() bool {
			return apierrors.IsNotFound(kube.Get(ctx, types.NamespacedName{Name: w.crdName()}, &apiextensionsv1.CustomResourceDefinition{}))
		}).WithContext(ctx).Should(BeTrue(), "the CRD is gone")
	})

	DescribeTable("needs no plan", func(ctx context.Context, spec string) {
		w.box(ctx, spec)
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "")
		w.website(ctx, "web", `{}`)
		deleteBox(ctx, w.id)
		boxGone(ctx, w.id)
		Expect(w.get(ctx, Default, "web").GetFinalizers()).To(BeEmpty())
	},
		Entry("because a template is wrong", `{onReconcile: {configmaps: [{data: {a: "{{ .spec.nothing }}"}}]}}`),
		Entry("because its finalizers are wrong", `{finalizers: [not-qualified]}`),
	)

	It("waits for a resource that is being deleted", func(ctx context.Context) {
		begin(ctx, spec+`, onDelete: {jobs: [`+job("bye", endless)+`]}`)
		Expect(kube.Delete(ctx, w.ref("web"))).To(Succeed())
		w.cleaning(ctx, "web", "web-bye")
		deleteBox(ctx, w.id)
		w.unmarked(ctx, "other")
		boxShows(ctx, w.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonDeletionBlocked, w.namespace+"/web")
		Eventually(func(g Gomega) {
			g.Expect(getHealth(ctx, g, w.id).Status.State).To(Equal(v1alpha1.HealthStopped))
		}).WithContext(ctx).Should(Succeed())
		before := manager.evaluations(Default, w.id)
		Expect(w.get(ctx, Default, "web").GetFinalizers()).To(ContainElement(v1alpha1.Finalizer))
		w.finishes(ctx, "web-bye")
		w.vanished(ctx, "web")
		w.gone(ctx, &batchv1.Job{}, "web-bye")
		boxGone(ctx, w.id)
		Expect(before).To(BeNumerically("<", 50), "it did not turn in circles")
	})
})
