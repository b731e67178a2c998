package e2e_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var _ = Describe("CEL", func() {
	var w *world
	BeforeEach(func(ctx context.Context) { w = newWorld(ctx) })

	It("is a choice or a wait by what it reads", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `
resync: 24h
onReconcile:
  services:
  - port: 80
    when: [{cel: "children.deployment.status.readyReplicas >= self.spec.replicas"}]
  deployments: [{image: nginx, replicas: "{{ .spec.replicas }}", port: 8080}]
  configmaps:
  - {name: "{{ .metadata.name }}-tls", data: {mode: tls}, when: [{cel: "has(self.spec.tls) && self.spec.tls"}]}
  - {name: "{{ .metadata.name }}-any", data: {mode: any}, anyOf: [{cel: "self.spec.mode == 'a'"}, {field: spec.host, equals: here}]}
status:
  fields:
  - {path: phase, value: Running, when: [{cel: "children.deployment.status.?readyReplicas.orValue(0) == self.spec.replicas"}]}
  - {path: phase, value: Starting, when: [{cel: "children.deployment.status.?readyReplicas.orValue(0) != self.spec.replicas"}]}
`))
		w.website(ctx, "web", `{replicas: 1, tls: true, mode: a}`)
		w.settled(ctx, "web")
		w.hasData(ctx, "web-tls", map[string]string{"mode": "tls"})
		w.hasData(ctx, "web-any", map[string]string{"mode": "any"})
		var service corev1.Service
		w.child(ctx, Default, &service, "web")
		Eventually(func(g Gomega) {
			g.Expect(w.get(ctx, g, "web").Object).To(HaveKeyWithValue("status", HaveKeyWithValue("phase", "Running")))
		}).WithContext(ctx).Should(Succeed())

		By("a choice that turns false deletes its child")
		w.website(ctx, "web", `{replicas: 1, tls: false, mode: b}`)
		w.settled(ctx, "web")
		w.absent(ctx, "web-tls")
		w.absent(ctx, "web-any")

		By("a wait that turns false keeps it")
		w.website(ctx, "web", `{replicas: 2, tls: false, mode: b}`)
		w.settled(ctx, "web")
		before := service.UID
		w.child(ctx, Default, &service, "web")
		Expect(service.UID).To(Equal(before))
	})

	It("waits for a child that is not there yet, and says so", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `
resync: 24h
onReconcile:
  configmaps:
  - {id: lever, name: "{{ .metadata.name }}-lever", once: true, data: {a: b}}
  - {name: "{{ .metadata.name }}-gated", data: {a: b}, when: [{cel: "children.lever.metadata.annotations['on'] == 'yes'"}]}
`))
		w.website(ctx, "web", `{}`)
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonWaitingForGate,
			`configmaps/web-gated: cel "children.lever.metadata.annotations['on'] == 'yes'": children.lever.metadata.annotations.on is absent`)
		w.absent(ctx, "web-gated")
		w.patch(ctx, w.configMap("web-lever"), `{"metadata":{"annotations":{"on":"no"}}}`)
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonWaitingForGate, `annotations.on is no`)
		w.patch(ctx, w.configMap("web-lever"), `{"metadata":{"annotations":{"on":"yes"}}}`)
		w.hasData(ctx, "web-gated", map[string]string{"a": "b"})
	})

	It("ends an expression that costs too much, and other resources do not notice", computes, func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `
resync: 24h
onReconcile:
  configmaps:
  - name: "{{ .metadata.name }}"
    data: {a: b}
    when: [{cel: "!has(self.spec.replicas) || lists.range(self.spec.replicas).all(a, lists.range(self.spec.replicas).all(b, a + b >= 0))"}]
`))
		w.website(ctx, "bomb", `{replicas: 5000}`)
		for i := range 3 {
			w.website(ctx, fmt.Sprint("web", i), `{replicas: 3}`)
		}
		w.shows(ctx, "bomb", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonBudgetExceeded, "over the cost limit of a CEL expression (1000000 units)")
		for i := range 3 {
			w.settled(ctx, fmt.Sprint("web", i))
		}
		w.absent(ctx, "bomb")
	})
})
