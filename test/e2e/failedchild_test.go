package e2e_test

import (
	"context"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var _ = Describe("A child that has failed", func() {
	DescribeTable("is named, whatever else waits or is on its way", func(ctx context.Context, ready string) {
		w := newWorld(ctx)
		name := w.box(ctx, `
resync: 24h
onReconcile:
  statefulsets: [{image: "redis:7", replicas: 1, serviceName: none, nodeSelector: {nowhere: "true"}}]
  jobs: [{id: migrate, name: "{{ .metadata.name }}-migrate", image: "busybox:1", `+failing+`}]
  deployments: [{image: "nginx:1", replicas: 1, when: [{field: "{{ jobSucceeded .children.migrate }}", equals: true}]}]
status: {ready: `+ready+`}
`)
		w.running(ctx, name)
		w.website(ctx, "web", `{}`)
		const message = `Job "web-migrate": DeadlineExceeded: Job was active longer than specified deadline (and 2 more)`
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonChildFailed, message)
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonChildFailed, message)
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionFalse, v1alpha1.ReasonChildFailed, message)
		w.computed(ctx, "web", status.FailedStatus)
		Eventually(func(g Gomega) {
			var warned []eventsv1.Event
			for _, e := range w.eventsOf(ctx, g, "web") {
				if e.Reason == v1alpha1.ReasonChildFailed {
					warned = append(warned, e)
				}
			}
			g.Expect(warned).To(ConsistOf(And(HaveField("Type", corev1.EventTypeWarning), HaveField("Note", HavePrefix(`Job "web-migrate": DeadlineExceeded: `)))))
		}).WithContext(ctx).Should(Succeed())
		healthShows(ctx, name, func(g Gomega, s v1alpha1.CRDHealthStatus) {
			g.Expect(s.Resources).To(Equal(v1alpha1.ResourceCounts{Total: 1, Failing: 1}))
			g.Expect(s.State).To(Equal(v1alpha1.HealthHealthy), "no reconcile has failed")
			g.Expect(s.Failing).To(ConsistOf(And(HaveField("Name", "web"), HaveField("Namespace", w.namespace), HaveField("ConsecutiveFailures", BeZero()),
				HaveField("Reason", v1alpha1.ReasonChildFailed), HaveField("Message", message))))
			g.Expect(s.Conditions).To(ContainElement(And(HaveField("Type", v1alpha1.ConditionHealthy),
				HaveField("Message", "the box works, but some resources fail; websites "+w.namespace+"/web: "+message))))
		})
	},
		Entry("with ready: Reconciled", "Reconciled"),
		Entry("with ready: Current", "Current"),
	)

	DescribeTable("starts the rollback while something waits for it, and a mended spec goes on", func(ctx context.Context, declared, failed string) {
		w := newWorld(ctx)
		name := w.box(ctx, `
resync: 24h
rollBackOnError: true
onReconcile:
  jobs:
  - {id: migrate, `+declared+`, image: "busybox:1", command: ["{{ .spec.mode }}"], parallelism: "{{ .spec.replicas }}", activeDeadlineSeconds: "{{ .spec.port }}"}
  configmaps:
  - {id: settings, name: "{{ .metadata.name }}-settings", data: {value: "{{ .spec.mode }}"}}
  - id: app
    name: "{{ .metadata.name }}-app"
    data: {value: "{{ .spec.mode }}"}
    when: [{field: "{{ jobSucceeded .children.migrate }}", equals: true}]
`)
		w.running(ctx, name)
		w.website(ctx, "web", `{mode: first, replicas: 1, port: 600}`)
		w.settled(ctx, "web")

		mark := manager.requests.mark()
		w.website(ctx, "web", `{mode: second, replicas: 0, port: 1}`)
		w.rolledBack(ctx, "web", "generation 2 failed by a child; the children are those of generation 1; held")
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError, `children: Job "`+failed+`": DeadlineExceeded: `)
		w.hasData(ctx, "web-settings", map[string]string{"value": "first"})
		Expect(manager.requests.writes(mark, w.path("configmaps")+"/web-app")).To(BeEmpty(), "what waits for the Job does not go before it")

		By("mending the spec: the Job that failed is another one's")
		w.website(ctx, "web", `{mode: third, replicas: 1, port: 600}`)
		w.settled(ctx, "web")
		w.hasData(ctx, "web-app", map[string]string{"value": "third"})
		if failed != "web" {
			w.gone(ctx, &batchv1.Job{}, failed)
		}
	},
		Entry("with a Job for each spec", `name: "{{ .metadata.name }}-{{ .spec.mode }}"`, "web-second"),
		Entry("with a Job that is replaced", `name: "{{ .metadata.name }}", replace: true`, "web"),
	)
})

var _ = Describe("A child that is not done", func() {
	It("is a Job that runs, also where the box waits for its children", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `{resync: 24h, onReconcile: {jobs: [{image: "busybox:1", parallelism: "{{ .spec.replicas }}"}]}, status: {ready: Current}}`))
		w.website(ctx, "web", `{replicas: 0}`)
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonChildrenNotCurrent, `Job "web": Job in progress`)
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonChildrenNotCurrent, `Job "web": Job in progress`)
		w.website(ctx, "web", `{replicas: 1}`)
		w.settled(ctx, "web")
	})

	It("is quoted: Pods that a quota refuses come before the gate that waits for them", func(ctx context.Context) {
		w := newWorld(ctx)
		quota := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "none"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}},
		}
		Expect(kube.Create(ctx, quota)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(kube.Get(ctx, client.ObjectKeyFromObject(quota), quota)).To(Succeed())
			g.Expect(quota.Status.Hard).NotTo(BeEmpty())
		}).WithContext(ctx).Should(Succeed())
		w.running(ctx, w.box(ctx, `
resync: 24h
onReconcile:
  deployments: [{image: "nginx:1", replicas: 1}]
  services: [{port: 80, when: [{field: children.deployment.status.readyReplicas, greaterThan: 0}]}]
`))
		w.website(ctx, "web", `{}`)
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonChildrenNotCurrent, `Deployment "web": FailedCreate: pods "web-`)
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonChildrenNotCurrent, `exceeded quota: none, requested: pods=1, limited: pods=0 (and 1 more)`)
	})

	It("is held by a finalizer, which is named", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `{resync: 24h, onReconcile: {configmaps: [{data: {a: b}}]}}`))
		w.website(ctx, "web", `{}`)
		w.settled(ctx, "web")
		held := w.configMapOf(ctx, "web")
		w.merge(ctx, held, `{"metadata":{"finalizers":["e2e.test/hold"]}}`)
		Expect(kube.Delete(ctx, held)).To(Succeed())
		w.shows(ctx, "web", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonChildTerminating,
			`ConfigMap "web" is being deleted; it is made again when it is gone; the finalizer "e2e.test/hold" holds it`)
		w.merge(ctx, held, `{"metadata":{"finalizers":null}}`)
		w.settled(ctx, "web")
	})
})
