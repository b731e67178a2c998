package e2e_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

	It("walks a map in the order of its keys, so that what is made of one stays as it is", func(ctx context.Context) {
		w.running(ctx, w.box(ctx, `
resync: 24h
values:
- {name: keys, cel: "self.spec.settings.map(k, k)"}
- {name: pairs, cel: "self.spec.settings.transformList(k, v, k + '=' + v)"}
- {name: turned, cel: "self.spec.settings.transformMapEntry(k, v, {v: k}).map(k, k)"}
onReconcile:
  configmaps:
  - {data: {keys: '{{ join "," .values.keys }}', turned: '{{ join "," .values.turned }}'}}
  - {name: "web-{{ .index }}", forEach: {field: values.keys}, data: {key: "{{ .item }}"}}
  deployments: [{image: nginx, replicas: 1, args: ['{{ join "," .values.pairs }}']}]
  jobs: [{id: migrate, image: busybox, rerunOn: ['{{ join "," .values.keys }}']}]
`))
		w.website(ctx, "web", `{settings: {l: "0", k: "1", j: "2", i: "3", h: "4", g: "5", f: "6", e: "7", d: "8", c: "9", b: "91", a: "92"}}`)
		made := []client.Object{w.hasData(ctx, "web", map[string]string{"keys": "a,b,c,d,e,f,g,h,i,j,k,l", "turned": "0,1,2,3,4,5,6,7,8,9,91,92"})}
		for i, key := range strings.Split("abcdefghijkl", "") {
			made = append(made, w.hasData(ctx, fmt.Sprint("web-", i), map[string]string{"key": key}))
		}
		w.settled(ctx, "web")
		deployment := &appsv1.Deployment{}
		w.child(ctx, Default, deployment, "web")
		Expect(deployment.Spec.Template.Spec.Containers[0].Args).To(Equal([]string{"a=92,b=91,c=9,d=8,e=7,f=6,g=5,h=4,i=3,j=2,k=1,l=0"}))
		job := w.job(ctx, "web", "busybox")

		By("looking at it again and again")
		for range 10 {
			w.lookedAt(ctx, "web")
		}
		for _, obj := range made {
			w.untouched(ctx, obj)
		}
		generation := deployment.Generation
		w.child(ctx, Default, deployment, "web")
		Expect(deployment.Generation).To(Equal(generation))
		Expect(w.job(ctx, "web", "busybox").UID).To(Equal(job.UID))
		nothingSent(ctx, w, "web")
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
