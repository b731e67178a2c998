package e2e_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// install creates the CRD of a world, and uninstall deletes it and waits until it is gone.
func (w *world) install(ctx context.Context, scope apiextensionsv1.ResourceScope) {
	GinkgoHelper()
	crd := w.crd()
	crd.Spec.Scope = scope
	Expect(kube.Create(ctx, crd)).To(Succeed())
}

func (w *world) uninstall(ctx context.Context) {
	GinkgoHelper()
	Expect(kube.Delete(ctx, w.crd())).To(Succeed())
	Eventually(func() bool {
		return apierrors.IsNotFound(kube.Get(ctx, client.ObjectKey{Name: w.crdName()}, w.crd()))
	}).WithContext(ctx).Should(BeTrue())
}

var _ = Describe("A kind that is uninstalled", func() {
	// Nothing is looked at again by itself within the time of a spec.
	const spec = `{resync: 1h, onReconcile: {configmaps: [{data: {a: b}}], resources: [{optional: %OPTIONAL%, manifest: {apiVersion: %GROUP%/v1, kind: Website, metadata: {name: "{{ .metadata.namespace }}-{{ .metadata.name }}"}, spec: {image: x}}}]}}`

	made := func(ctx context.Context, other, w *world) {
		GinkgoHelper()
		child := other.ref(w.namespace + "-web")
		child.SetNamespace(w.namespace)
		Eventually(func() error { return kube.Get(ctx, client.ObjectKeyFromObject(child), child) }).WithContext(ctx).Should(Succeed())
	}

	// withoutItsKind has a resource that has made an object of a kind which it requires, and whose CRD is gone since.
	withoutItsKind := func(ctx context.Context) (other, w *world) {
		GinkgoHelper()
		other, w = newWorldWithoutCRD(ctx), newWorld(ctx)
		other.install(ctx, apiextensionsv1.NamespaceScoped)
		other.waitEstablished(ctx)
		w.running(ctx, w.box(ctx, strings.NewReplacer("%OPTIONAL%", "false", "%GROUP%", other.group).Replace(spec)))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		other.uninstall(ctx)
		return other, w
	}

	It("is absent at once, for boxes that made it and for new ones, and is made at once when it is back", func(ctx context.Context) {
		other, w := newWorldWithoutCRD(ctx), newWorld(ctx)
		box := strings.NewReplacer("%OPTIONAL%", "true", "%GROUP%", other.group).Replace(spec)
		w.running(ctx, w.box(ctx, box))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		other.install(ctx, apiextensionsv1.NamespaceScoped)
		made(ctx, other, w)
		w.settled(ctx, "web")

		By("uninstalling it")
		other.uninstall(ctx)
		w.website(ctx, "web", `{image: other}`)
		w.settled(ctx, "web")

		By("a second life of the box")
		w.deleteBox(ctx, w.id)
		w.running(ctx, w.box(ctx, box))
		w.website(ctx, "web", `{image: new}`)
		w.settled(ctx, "web")

		By("installing it again")
		other.install(ctx, apiextensionsv1.NamespaceScoped)
		made(ctx, other, w)
		w.settled(ctx, "web")

		By("installing it in another scope")
		other.uninstall(ctx)
		other.install(ctx, apiextensionsv1.ClusterScoped)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonInvalidChild, "Website is a cluster-scoped kind that may grant rights")
	})

	It("fails as a kind that was never installed where it is required, and no longer when it is back", func(ctx context.Context) {
		other, w := withoutItsKind(ctx)
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError, `no matches for kind "Website" in version "`+other.group+`/v1"`)
		other.install(ctx, apiextensionsv1.NamespaceScoped)
		w.settled(ctx, "web")
		made(ctx, other, w)
	})

	It("is made, and watched, under another plural when it comes back so", func(ctx context.Context) {
		other, w := withoutItsKind(ctx)
		renamed := other.crd()
		renamed.Name, renamed.Spec.Names.Plural = "sites."+other.group, "sites"
		Expect(kube.Create(ctx, renamed)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(kube.Delete(ctx, renamed)).To(Succeed()) })
		child := other.ref(w.namespace + "-web")
		child.SetNamespace(w.namespace)
		holds := func() {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				g.Expect(uncached().Get(ctx, client.ObjectKeyFromObject(child), child)).To(Succeed())
				g.Expect(child.Object["spec"]).To(HaveKeyWithValue("image", "x"))
			}).WithContext(ctx).Should(Succeed())
		}
		holds()
		w.settled(ctx, "web")

		By("somebody else changing it")
		child.Object["spec"] = map[string]any{"image": "drift"}
		Expect(uncached().Update(ctx, child)).To(Succeed())
		holds()
	})
})
