package e2e_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// copied waits until a controller of Kubernetes has made objects in the world's namespace that carry a mark of what they were made from.
func copied[T client.Object](ctx context.Context, w *world, list client.ObjectList, items func() []T, mark func(T) map[string]string, key string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(kube.List(ctx, list, client.InNamespace(w.namespace))).To(Succeed())
		g.Expect(items()).To(ContainElement(WithTransform(mark, HaveKey(key))), "%T", list)
	}).WithContext(ctx).Should(Succeed())
}

var _ = Describe("The controllers of Kubernetes", func() {
	It("go on with what boxes make, and copy its marks to objects of their own", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `{onReconcile: {
			deployments: [{image: "{{ .spec.image }}", replicas: 1, port: 80}], services: [{port: 80, workload: deployments}], statefulsets: [{name: set, image: "nginx:1", replicas: 1}],
			jobs: [{name: once, image: "busybox:1"}], cronjobs: [{name: often, schedule: "* * * * *", image: "busybox:1"}]}}`))
		w.website(ctx, "web", `{image: "nginx:1"}`)
		w.settled(ctx, "web")

		var slices discoveryv1.EndpointSliceList
		copied(ctx, w, &slices, func() []*discoveryv1.EndpointSlice { return pointers(slices.Items) }, labelsOf, v1alpha1.LabelOwnerUID)
		var sets appsv1.ReplicaSetList
		copied(ctx, w, &sets, func() []*appsv1.ReplicaSet { return pointers(sets.Items) }, annotationsOf, v1alpha1.AnnotationApplied)
		var revisions appsv1.ControllerRevisionList
		copied(ctx, w, &revisions, func() []*appsv1.ControllerRevision { return pointers(revisions.Items) }, annotationsOf, v1alpha1.AnnotationApplied)

		By("a CronJob that is due")
		often := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "often"}}
		Expect(kube.Status().Patch(ctx, often, client.RawPatch("application/merge-patch+json", []byte(`{"status":{"lastScheduleTime":"2020-01-01T00:00:00Z"}}`)))).To(Succeed())
		Eventually(func(g Gomega) {
			var jobs batchv1.JobList
			g.Expect(kube.List(ctx, &jobs, client.InNamespace(w.namespace))).To(Succeed())
			g.Expect(jobs.Items).To(ContainElement(And(
				HaveField("OwnerReferences", ContainElement(HaveField("Name", "often"))), HaveField("Status.Succeeded", BeNumerically(">", 0)))))
		}).WithContext(ctx).Should(Succeed())

		By("a new revision of the Deployment")
		w.website(ctx, "web", `{image: "nginx:2"}`)
		w.settled(ctx, "web")
		Eventually(func(g Gomega) {
			g.Expect(kube.List(ctx, &sets, client.InNamespace(w.namespace))).To(Succeed())
			g.Expect(sets.Items).To(HaveLen(2))
		}).WithContext(ctx).Should(Succeed())

		By("deleting the resource, and keeping its children")
		w.removed(ctx, "web", client.PropagationPolicy(metav1.DeletePropagationOrphan))
		d := &appsv1.Deployment{}
		Eventually(func(g Gomega) {
			w.child(ctx, g, d, "web")
			g.Expect(d.OwnerReferences).To(BeEmpty())
		}).WithContext(ctx).Should(Succeed())
	})

	It("edit owner references and finalizers of what is marked, with no more rights than the garbage collector has", func(ctx context.Context) {
		w := newWorld(ctx)
		gc := &user{name: collector, client: as(collector)}
		owner := w.website(ctx, "web", `{}`)
		marked := w.configMap("marked")
		marked.Labels = map[string]string{v1alpha1.LabelBox: "any", v1alpha1.LabelOwnerUID: string(owner.GetUID())}
		marked.OwnerReferences = []metav1.OwnerReference{{APIVersion: w.group + "/v1", Kind: "Website", Name: "web", UID: owner.GetUID()}}
		Expect(kube.Create(ctx, marked)).To(Succeed())
		Expect(gc.merge(ctx, marked, `{"metadata":{"ownerReferences":null}}`)).To(Succeed())
		Expect(gc.mark(ctx, marked, "labels", v1alpha1.LabelBox, "")).To(refusedBy("marks", v1alpha1.LabelBox), "which is all that it may")
		Expect(gc.client.Delete(ctx, marked)).To(Succeed())
	})

	It("are trusted with copies of marks; others are when the values name them", func(ctx context.Context) {
		w := newWorldWithoutCRD(ctx)
		certs := &user{name: w.id + "-certs", client: as(w.id + "-certs")}
		certs.mayIn(ctx, w.namespace, rule("", "create", "configmaps"))
		request := func() error {
			c := w.configMap("copy")
			c.Annotations = map[string]string{v1alpha1.AnnotationApplied: "x"}
			return certs.client.Create(ctx, c, client.DryRunAll)
		}
		Expect(request()).To(refusedBy("marks", v1alpha1.AnnotationApplied))
		w.setPolicy(ctx, "marks", "controllers", `["`+certs.name+`"]`, request, Succeed())

		By("a box that borrows such a name is no such controller")
		boxed := as(certs.name, forBox("mine"))
		c := w.configMap("stolen")
		c.Labels = map[string]string{v1alpha1.LabelBox: "theirs"}
		Expect(boxed.Create(ctx, c, client.DryRunAll)).To(refusedBy("marks", "in the name of another box"))
	})
})

func pointers[T any](items []T) []*T {
	out := make([]*T, len(items))
	for i := range items {
		out[i] = &items[i]
	}
	return out
}

func labelsOf[T client.Object](obj T) map[string]string      { return obj.GetLabels() }
func annotationsOf[T client.Object](obj T) map[string]string { return obj.GetAnnotations() }
