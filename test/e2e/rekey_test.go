package e2e_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

var _ = Describe("The key of a list's entry that somebody changed", func() {
	var w *world
	BeforeEach(func(ctx context.Context) { w = newWorld(ctx) })

	// ports waits until a Service has these ports, and gives it.
	ports := func(ctx context.Context, want ...int32) *corev1.Service {
		GinkgoHelper()
		service := &corev1.Service{}
		Eventually(func(g Gomega) {
			w.child(ctx, g, service, "web")
			var have []int32
			for _, p := range service.Spec.Ports {
				have = append(have, p.Port)
			}
			g.Expect(have).To(ConsistOf(want))
		}).WithContext(ctx).Should(Succeed())
		return service
	}

	It("is put back, and what only the API server knows of the entry stays", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `{onReconcile: {services: [{type: NodePort, selector: {a: b}, ports: [{name: http, port: 80}, {name: admin, port: 81}]}]}}`))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		before := ports(ctx, 80, 81)
		w.patch(ctx, before, fmt.Sprintf(`{"spec":{"ports":[{"name":"http","port":9999,"nodePort":%d},{"name":"admin","port":81}]}}`, before.Spec.Ports[0].NodePort))
		after := ports(ctx, 80, 81)
		Expect(after.Spec.Ports[0].NodePort).To(Equal(before.Spec.Ports[0].NodePort))
		w.settled(ctx, "web")
		nothingSent(ctx, w, "web")

		By("owning it as before: what the declaration drops goes")
		w.running(ctx, w.box(ctx, `{onReconcile: {services: [{type: NodePort, selector: {a: b}, ports: [{name: admin, port: 81}]}]}}`))
		ports(ctx, 81)
	})

	It("is put back where entries have no names", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `{onReconcile: {services: [{selector: {a: b}, port: 80}]}}`))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		w.patch(ctx, ports(ctx, 80), `{"spec":{"ports":[{"port":9999}]}}`)
		ports(ctx, 80)
		w.settled(ctx, "web")
		nothingSent(ctx, w, "web")
	})

	It("is put back in a list inside of another", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `{onReconcile: {deployments: [{image: x, replicas: 0, ports: [{name: http, containerPort: 80}]}]}}`))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		deployment := &appsv1.Deployment{}
		w.child(ctx, Default, deployment, "web")
		w.patch(ctx, deployment, `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"x","ports":[{"name":"http","containerPort":9999}]}]}}}}`)
		Eventually(func(g Gomega) {
			w.child(ctx, g, deployment, "web")
			g.Expect(deployment.Spec.Template.Spec.Containers[0].Ports).To(ConsistOf(HaveField("ContainerPort", int32(80))))
		}).WithContext(ctx).Should(Succeed())
		w.settled(ctx, "web")
		nothingSent(ctx, w, "web")
	})
})
