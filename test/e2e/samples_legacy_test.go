package e2e_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// The sample with a reconciler runs as its page says: as a manager that is built from its module, in a process of its own.
var _ = Describe("The sample legacy", longest, func() {
	It("lives under the manager that its module gives", func(ctx context.Context) {
		replaceManagerByThatOf("legacy")
		l := sample{folder: "legacy", bare: true}.begin(ctx)
		serving := func(g Gomega, pods int64) {
			now := get(ctx, g, l.resource)
			g.Expect(condition(now, "Available").Status).To(Equal(metav1.ConditionTrue))
			ready, _, _ := unstructured.NestedInt64(now.Object, "status", "readyReplicas")
			g.Expect(ready).To(Equal(pods))
			g.Expect(now.GetFinalizers()).To(Equal([]string{"samples.orkspace.io/drain"}))
		}
		Eventually(func(g Gomega) { serving(g, 2) }).WithContext(ctx).Should(Succeed())
		made := map[string]*unstructured.Unstructured{}
		for _, written := range l.expected {
			child := get(ctx, Default, written)
			made[child.GetKind()] = child
			Expect(differences(written.Object, l.normal(ctx, written).Object, child.Object, "")).To(BeEmpty(), nameOf(written))
			Expect(metav1.GetControllerOf(child)).To(HaveField("Name", "edge"))
		}
		healthShows(ctx, "proxy", func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.Resources.Ready).To(BeEquivalentTo(1))
			g.Expect(s.FailureCount).To(BeZero(), "that somebody else was faster is no failure")
		})

		Expect(kube.Delete(ctx, made["Service"].DeepCopy())).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(get(ctx, g, made["Service"]).GetUID()).NotTo(Equal(made["Service"].GetUID()), "it is made again")
		}).WithContext(ctx).Should(Succeed())
		l.patch(ctx, l.resource, `{"spec":{"upstream":"http://other","replicas":3}}`)
		Eventually(func(g Gomega) {
			serving(g, 3)
			text, _, _ := unstructured.NestedString(get(ctx, g, made["ConfigMap"]).Object, "data", "default.conf")
			g.Expect(text).To(ContainSubstring("http://other;"))
		}).WithContext(ctx).Should(Succeed())
		out, _ := orkestra(ctx, "tree", "proxy/edge")
		Expect(out).To(And(ContainSubstring("Deployment"), ContainSubstring("ReplicaSet"), ContainSubstring("NewProxyReconciler")))

		l.remove(ctx, l.resource)
		Eventually(func(g Gomega) {
			for _, child := range made {
				g.Expect(client.IgnoreNotFound(kube.Get(ctx, client.ObjectKeyFromObject(child), child.DeepCopy()))).To(Succeed())
				g.Expect(kube.Get(ctx, client.ObjectKeyFromObject(child), child.DeepCopy())).NotTo(Succeed(), "the garbage collector deletes what the resource controlled")
			}
		}).WithContext(ctx).Should(Succeed())
		l.remove(ctx, l.box)
	})
})
