package e2e_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// example gives a box spec that a page of how-to shows, by its place among the page's YAML.
func example(page string, n int) string {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "how-to", page))
	Expect(err).NotTo(HaveOccurred())
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	Expect(len(blocks)).To(BeNumerically(">", n))
	return blocks[n][1]
}

var _ = Describe("The examples of how-to", func() {
	It("let a group read the resources of boxes, and the ClusterRole view alone does not", func(ctx context.Context) {
		binding, role, two := strings.Cut(example("sign-in.md", 1), "\n---\n")
		Expect(two).To(BeTrue())
		lists := func(group, resource string) func() (bool, error) {
			return func() (bool, error) {
				review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
					User: "eve", Groups: []string{"sre"},
					ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list", Group: group, Resource: resource},
				}}
				err := kube.Create(ctx, review)
				return review.Status.Allowed, err
			}
		}
		DeferCleanup(func(ctx context.Context) {
			_, err := cluster.Kubectl(ctx, "delete", "--ignore-not-found", "clusterrolebinding/sre-read-orkestra", "clusterrole/view-resources-of-boxes")
			Expect(err).NotTo(HaveOccurred())
		})
		_, err := cluster.KubectlApply(ctx, binding)
		Expect(err).NotTo(HaveOccurred())
		Eventually(lists("", "configmaps")).WithContext(ctx).Should(BeTrue())
		Expect(lists("demo.example.com", "websites")()).To(BeFalse())
		_, err = cluster.KubectlApply(ctx, role)
		Expect(err).NotTo(HaveOccurred())
		Eventually(lists("demo.example.com", "websites")).WithContext(ctx).Should(BeTrue())
	})

	It("make a Service again that gets an address", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, example("immutable-fields.md", 0)))
		w.website(ctx, "web", `{image: "nginx:1"}`)
		w.settled(ctx, "web")
		before, after := &corev1.Service{}, &corev1.Service{}
		w.child(ctx, Default, before, "web")
		Expect(before.Spec.ClusterIP).To(Equal(corev1.ClusterIPNone))
		w.website(ctx, "web", `{image: "nginx:1", host: web.example.com}`)
		Eventually(func(g Gomega) {
			w.child(ctx, g, after, "web")
			g.Expect(after.Spec.ClusterIP).NotTo(Or(BeEmpty(), Equal(corev1.ClusterIPNone)))
			g.Expect(after.UID).NotTo(Equal(before.UID))
		}).WithContext(ctx).Should(Succeed())
		w.settled(ctx, "web")
	})

	It("give each of several workloads what belongs to it", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, example("several-workloads.md", 0)))
		w.website(ctx, "shop", `{image: "nginx:1"}`)
		pods := func(workload string) map[string]string {
			return map[string]string{v1alpha1.LabelAppName: workload, v1alpha1.LabelAppInstance: "shop"}
		}
		site, metrics, ingress := &corev1.Service{}, &corev1.Service{}, &networkingv1.Ingress{}
		budget, scaler, policy, worker := &policyv1.PodDisruptionBudget{}, &autoscalingv2.HorizontalPodAutoscaler{}, &networkingv1.NetworkPolicy{}, &appsv1.Deployment{}
		Eventually(func(g Gomega) {
			w.child(ctx, g, site, "shop-web")
			w.child(ctx, g, metrics, "shop-worker")
			w.child(ctx, g, worker, "shop-worker")
			for _, obj := range []client.Object{ingress, budget, scaler, policy} {
				w.child(ctx, g, obj, "shop")
			}
		}).WithContext(ctx).Should(Succeed())
		Expect(site.Spec.Selector).To(Equal(pods("shop-web")))
		Expect(site.Spec.Ports).To(ConsistOf(And(HaveField("Port", BeEquivalentTo(80)), HaveField("TargetPort.IntVal", BeEquivalentTo(8080)))))
		Expect(metrics.Spec.Selector).To(Equal(pods("shop-worker")))
		Expect(metrics.Spec.Selector).To(Equal(worker.Spec.Template.Labels))
		Expect(metrics.Spec.Ports).To(ConsistOf(And(HaveField("Port", BeEquivalentTo(9090)), HaveField("TargetPort.IntVal", BeEquivalentTo(9090)))))
		backend := ingress.Spec.Rules[0].HTTP.Paths[0].Backend.Service
		Expect(backend.Name).To(Equal("shop-web"))
		Expect(backend.Port.Number).To(BeEquivalentTo(80))
		Expect(budget.Spec.Selector.MatchLabels).To(Equal(pods("shop-web")))
		Expect(scaler.Spec.ScaleTargetRef).To(Equal(autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "shop-worker"}))
		Expect(policy.Spec.PodSelector.MatchLabels).To(Equal(pods("shop-worker")))
	})

	It("decorate the Deployments with an annotation, and take it back from one that loses it", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, example("coming-from-metacontroller.md", 1)))
		for _, name := range []string{"api", "plain"} {
			w.deployment(ctx, name, map[string]string{"shop": "web"})
		}
		decorated := func(g Gomega, name string) []string {
			d := &appsv1.Deployment{}
			w.child(ctx, g, d, name)
			out := []string{d.Labels["decorated"]}
			for _, c := range d.Spec.Template.Spec.Containers {
				out = append(out, c.Name)
			}
			return out
		}
		w.website(ctx, "web", `{image: "nginx:1"}`)
		w.settled(ctx, "web")
		plain := decorated(Default, "plain")
		Expect(plain).To(HaveLen(2))

		api := &appsv1.Deployment{}
		w.child(ctx, Default, api, "api")
		w.merge(ctx, api, `{"metadata":{"annotations":{"sidecar":"true"}}}`)
		Eventually(decorated).WithContext(ctx).WithArguments("api").Should(ConsistOf("true", plain[1], "sidecar"))
		w.hasData(ctx, "api-sidecar", map[string]string{"of": "api"})
		w.settled(ctx, "web")
		Expect(decorated(Default, "plain")).To(Equal(plain))

		w.merge(ctx, api, `{"metadata":{"annotations":{"sidecar":null}}}`)
		Eventually(decorated).WithContext(ctx).WithArguments("api").Should(Equal(plain))
		w.gone(ctx, &corev1.ConfigMap{}, "api-sidecar")
		w.settled(ctx, "web")
	})

	It("give each item's Service the workload of that item", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, strings.ReplaceAll(example("several-workloads.md", 1), "spec.hosts", "spec.tags")))
		w.website(ctx, "shop", `{image: "nginx:1", tags: [a, b]}`)
		for _, tag := range []string{"a", "b"} {
			service := &corev1.Service{}
			Eventually(func(g Gomega) { w.child(ctx, g, service, "shop-"+tag) }).WithContext(ctx).Should(Succeed())
			Expect(service.Spec.Selector).To(Equal(map[string]string{v1alpha1.LabelAppName: "shop-" + tag, v1alpha1.LabelAppInstance: "shop"}))
			Expect(service.Spec.Ports[0].Port).To(BeEquivalentTo(8080))
		}
	})
})
