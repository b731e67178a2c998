package e2e_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// asyncReconciliation is the example of the document on asynchronous reconciliation, as a box spec.
const asyncReconciliation = `
onCreate:
  deployments:
  - name: "{{ .metadata.name }}"
    image: "{{ .spec.image }}"
    replicas: "{{ .spec.replicas }}"
    reconcile: true
onReconcile:
  services:
  - name: "{{ .metadata.name }}-svc"
    port: 80
    targetPort: 8080
    reconcile: true
    when:
    - field: children.deployment.status.readyReplicas
      equals: "{{ .spec.replicas }}"
`

// threePhases is that document's second example, with the Deployment of the first.
const threePhases = `
onCreate:
  deployments:
  - name: "{{ .metadata.name }}"
    image: "{{ .spec.image }}"
    replicas: "{{ .spec.replicas }}"
    reconcile: true
onReconcile:
  configMaps:
  - name: "{{ .metadata.name }}-config"
    reconcile: true
  services:
  - name: "{{ .metadata.name }}-svc"
    reconcile: true
    when:
    - field: children.deployment.status.readyReplicas
      equals: "{{ .spec.replicas }}"
  ingresses:
  - name: "{{ .metadata.name }}-ingress"
    host: "{{ .spec.host }}"
    reconcile: true
    when:
    - field: children.service.status.loadBalancer
      operator: exists
`

var _ = Describe("Phases", func() {
	It("makes the Service when the Deployment's pods are ready", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, asyncReconciliation))
		w.website(ctx, "web", `{image: "nginx:1", replicas: 2}`)
		w.settled(ctx, "web")

		var deployment appsv1.Deployment
		w.child(ctx, Default, &deployment, "web")
		Expect(deployment.Spec.Replicas).To(HaveValue(BeEquivalentTo(2)))
		var service corev1.Service
		w.child(ctx, Default, &service, "web-svc")
		Expect(service.Spec.Ports).To(HaveLen(1))
		Expect(service.Spec.Ports[0]).To(And(HaveField("Port", BeEquivalentTo(80)), HaveField("TargetPort.IntVal", BeEquivalentTo(8080))))
		Expect(service.Spec.Selector).To(Equal(deployment.Spec.Template.Labels))
	})

	It("says what a gate waits for, and opens it at the watch event", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, threePhases))
		w.website(ctx, "web", `{image: "nginx:1", replicas: 1, host: web.example.com}`)
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonWaitingForGate,
			"children.service.status.loadBalancer")

		By("setting the load balancer's address, as a cloud would")
		var service corev1.Service
		w.child(ctx, Default, &service, "web-svc")
		service.Spec.Type = corev1.ServiceTypeLoadBalancer // not declared, so it stays as someone else sets it
		Expect(kube.Update(ctx, &service)).To(Succeed())
		service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
		Expect(kube.Status().Update(ctx, &service)).To(Succeed())
		w.settled(ctx, "web")

		var ingress networkingv1.Ingress
		w.child(ctx, Default, &ingress, "web-ingress")
		Expect(ingress.Spec.Rules).To(HaveLen(1))
		Expect(ingress.Spec.Rules[0].Host).To(Equal("web.example.com"))
		Expect(ingress.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Name).To(Equal("web-svc"))
	})
})
