package e2e_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var _ = Describe("Adoption", func() {
	// existing is an object that nobody controls.
	existing := func(ctx context.Context, w *world) *corev1.ConfigMap {
		GinkgoHelper()
		return w.theirs(ctx, func(c *corev1.ConfigMap) {
			c.Labels = map[string]string{"team": "a"}
			c.Annotations = map[string]string{"note": "theirs"}
			c.Data["mine"] = "stays"
		})
	}

	DescribeTable("takes over what nobody controls", func(ctx context.Context, spec, value string) {
		w := newWorld(ctx)
		uid := existing(ctx, w).UID
		w.running(ctx, w.box(ctx, fmt.Sprintf(spec, "adopt: IfUnowned")))
		w.website(ctx, "web", `{}`)
		owner := w.settled(ctx, "web")
		c := &corev1.ConfigMap{}
		w.child(ctx, Default, c, "web")
		Expect(c.UID).To(Equal(uid))
		Expect(metav1.IsControlledBy(c, owner)).To(BeTrue())
		Expect(c.Labels).To(And(HaveKeyWithValue("team", "a"), HaveKeyWithValue(v1alpha1.LabelOwnerUID, string(owner.GetUID())),
			HaveKeyWithValue(v1alpha1.LabelBox, w.id)))
		Expect(c.Annotations).To(And(HaveKeyWithValue("note", "theirs"), HaveKeyWithValue(v1alpha1.AnnotationDeclaration, "configmaps")))
		Expect(c.Data).To(Equal(map[string]string{"key": value, "mine": "stays"}))
		nothingSent(ctx, w, "web")
	},
		Entry("and keeps it corrected", byApply, "declared"),
		Entry("and changes nothing of what is made once", byPost, "theirs"),
		Entry("and changes nothing of what is made in onCreate", byPostOnCreate, "theirs"),
	)

	It("begins when the box says so", func(ctx context.Context) {
		w := newWorld(ctx)
		theirs := existing(ctx, w)
		w.running(ctx, w.box(ctx, fmt.Sprintf(byApply, "adopt: Never")))
		w.website(ctx, "web", `{}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonNotOwned, "set adopt: IfUnowned")
		w.untouched(ctx, theirs)
		w.box(ctx, fmt.Sprintf(byApply, "adopt: IfUnowned"))
		w.settled(ctx, "web")
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionFalse, "NotStalled", "")
	})

	It("does not take the child of another resource", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, fmt.Sprintf(byApply, `adopt: IfUnowned, name: "{{ .spec.host }}"`)))
		w.website(ctx, "first", `{host: shared}`)
		first := w.settled(ctx, "first")
		w.website(ctx, "second", `{host: shared}`)
		w.shows(ctx, "second", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonNotOwned, `ConfigMap "shared"`)
		c := &corev1.ConfigMap{}
		w.child(ctx, Default, c, "shared")
		Expect(metav1.IsControlledBy(c, first)).To(BeTrue())
	})

	It("is refused with the API server's words where the object can't become what is declared", func(ctx context.Context) {
		w := newWorld(ctx)
		d := &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web"},
			Spec: appsv1.DeploymentSpec{
				Replicas: new(int32(0)),
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "theirs"}},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "theirs"}},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "nginx:1"}}},
				},
			},
		}
		Expect(kube.Create(ctx, d)).To(Succeed())
		w.running(ctx, w.box(ctx, `{onReconcile: {deployments: [{image: "nginx:2", adopt: IfUnowned}]}}`))
		w.website(ctx, "web", `{}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonInvalidChild, "field is immutable")
		w.child(ctx, Default, d, "web")
		Expect(d.Spec.Template.Spec.Containers[0].Image).To(Equal("nginx:1"))
		Expect(d.OwnerReferences).To(BeEmpty())
	})

	It("leaves a child in another namespace where it is, when that is to be orphaned", func(ctx context.Context) {
		w := newWorld(ctx)
		other := w.anotherNamespace(ctx)
		theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: other, Name: w.namespace + "-web"}, Data: map[string]string{"mine": "stays"}}
		Expect(kube.Create(ctx, theirs)).To(Succeed())
		w.running(ctx, w.box(ctx, fmt.Sprintf(`{onReconcile: {configmaps: [{name: "{{ .metadata.namespace }}-{{ .metadata.name }}", namespace: %s,
			adopt: IfUnowned, deletionPolicy: Orphan, data: {key: declared, left: declared}, initialFields: [data.left]}]}}`, other)))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		c := &corev1.ConfigMap{}
		Expect(kube.Get(ctx, client.ObjectKeyFromObject(theirs), c)).To(Succeed())
		Expect(c.Labels).To(HaveKey(v1alpha1.LabelOwnerUID))
		Expect(c.OwnerReferences).To(BeEmpty())
		w.removed(ctx, "web")
		*c = corev1.ConfigMap{}
		Expect(kube.Get(ctx, client.ObjectKeyFromObject(theirs), c)).To(Succeed())
		Expect(c.UID).To(Equal(theirs.UID))
		Expect(c.Labels).To(BeEmpty())
		Expect(c.Annotations).To(BeEmpty())
		Expect(c.Data).To(Equal(map[string]string{"mine": "stays", "key": "declared"}), "left was theirs to set, and they had not")
	})

	It("of a cluster-scoped object begins when the box says so, and ends with the resource", func(ctx context.Context) {
		w := newWorld(ctx)
		const class = `{onReconcile: {resources: [{%s manifest: {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: "{{ .metadata.namespace }}-{{ .metadata.name }}"}, value: 7, description: ours}}]}}`
		theirs := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: w.namespace + "-web"}, Value: 7}
		Expect(kube.Create(ctx, theirs)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(kube.Delete(ctx, theirs))).To(Succeed()) })
		w.running(ctx, w.box(ctx, fmt.Sprintf(class, "")))
		w.website(ctx, "web", `{}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonNotOwned, "set adopt: IfUnowned")
		w.box(ctx, fmt.Sprintf(class, "adopt: IfUnowned,"))
		w.settled(ctx, "web")
		now := &schedulingv1.PriorityClass{}
		Expect(kube.Get(ctx, client.ObjectKeyFromObject(theirs), now)).To(Succeed())
		Expect(now.UID).To(Equal(theirs.UID))
		Expect(now.Description).To(Equal("ours"))
		w.removed(ctx, "web")
		Expect(apierrors.IsNotFound(kube.Get(ctx, client.ObjectKeyFromObject(theirs), now))).To(BeTrue())
	})

	It("ends with the resource: what was adopted goes, unless it is to be orphaned", func(ctx context.Context) {
		w := newWorld(ctx)
		existing(ctx, w)
		w.running(ctx, w.box(ctx, fmt.Sprintf(byApply, "adopt: IfUnowned")))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		w.removed(ctx, "web")
		w.gone(ctx, &corev1.ConfigMap{}, "web")

		existing(ctx, w)
		w.running(ctx, w.box(ctx, fmt.Sprintf(byApply, "adopt: IfUnowned, deletionPolicy: Orphan")))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		w.removed(ctx, "web")
		c := &corev1.ConfigMap{}
		w.child(ctx, Default, c, "web")
		Expect(c.Labels).To(Equal(map[string]string{"team": "a"}))
		Expect(c.Annotations).To(Equal(map[string]string{"note": "theirs"}))
		Expect(c.OwnerReferences).To(BeEmpty())
		Expect(c.DeletionTimestamp).To(BeNil())
	})
})
