package e2e_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/config/crd"
)

// changeOwnCRD changes the CRD of boxes, as another release does.
func changeOwnCRD(ctx context.Context, change func(*apiextensionsv1.CustomResourceDefinition)) {
	GinkgoHelper()
	Eventually(func() error {
		own := &apiextensionsv1.CustomResourceDefinition{}
		if err := kube.Get(ctx, types.NamespacedName{Name: crd.BoxName}, own); err != nil {
			return err
		}
		change(own)
		return kube.Update(ctx, own)
	}).WithContext(ctx).Should(Succeed())
}

var _ = Describe("A manager that is older than the CRD of boxes", func() {
	const unknown = `spec.later: unknown field; this manager is older than the CRD of boxes in the cluster: ` +
		`run the manager that belongs to that CRD, or take this out of the box`

	It("refuses what it does not know, and goes on with what it does", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, oneMap(1, "good")))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")

		By("installing the CRD of a later release")
		mark := crd.BoxSchema()
		changeOwnCRD(ctx, func(own *apiextensionsv1.CustomResourceDefinition) {
			own.Annotations[crd.SchemaAnnotation] = "later"
			own.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["later"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
		})
		DeferCleanup(func(ctx context.Context) {
			changeOwnCRD(ctx, func(own *apiextensionsv1.CustomResourceDefinition) {
				own.Annotations[crd.SchemaAnnotation] = mark
				delete(own.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties, "later")
			})
		})
		later := w.boxObject(w.id, `{later: "yes", onReconcile: {secrets: [{data: {value: other}}]}}`)
		Eventually(func(g Gomega) {
			g.Expect(kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(later), client.FieldOwner("e2e"), client.ForceOwnership)).To(Succeed())
			stored := &unstructured.Unstructured{}
			stored.SetGroupVersionKind(later.GroupVersionKind())
			g.Expect(kube.Get(ctx, types.NamespacedName{Name: w.id}, stored)).To(Succeed())
			g.Expect(stored.Object["spec"]).To(HaveKeyWithValue("later", "yes"))
		}).WithContext(ctx).Should(Succeed())

		By("keeping the children of the spec that it knows")
		boxShows(ctx, w.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, unknown)
		w.overwrites(ctx, "web", "by hand")
		w.holds(ctx, "web", "good")

		By("starting once more, as after a downgrade")
		replaceManager()
		boxShows(ctx, w.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, unknown)
		w.overwrites(ctx, "web", "by hand")
		w.holds(ctx, "web", "good")

		By("serving a box of that CRD that says nothing new")
		w.runs(ctx, oneMap(1, "better"))
		w.holds(ctx, "web", "better")
	})
})
