package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// createAndDelete is the example of the document on operatorBox, as a box spec.
const createAndDelete = `
onCreate:
  deployments:
    - name: "{{ .Name }}-server"
      image: postgres:14
      env:
        - name: POSTGRES_DB
          value: "{{ .Spec.Database }}"
  services:
    - name: "{{ .Name }}-svc"
      port: 5432

onDelete:
  jobs:
    - name: "{{ .Name }}-cleanup"
      image: postgres:14
      command: ["./cleanup.sh"]
`

var _ = Describe("The documents' examples", func() {
	It("operatorBox: a server and its Service on creation, a clean-up job on deletion", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, createAndDelete))
		w.website(ctx, "db", `{database: orders}`)
		obj := w.settled(ctx, "db")
		Expect(obj.GetAnnotations()).To(HaveKey(v1alpha1.AnnotationActiveSince))

		deployment, service := &appsv1.Deployment{}, &corev1.Service{}
		w.child(ctx, Default, deployment, "db-server")
		container := deployment.Spec.Template.Spec.Containers[0]
		Expect(container.Image).To(Equal("postgres:14"))
		Expect(container.Env).To(ConsistOf(corev1.EnvVar{Name: "POSTGRES_DB", Value: "orders"}))
		w.child(ctx, Default, service, "db-svc")
		Expect(service.Spec.Ports).To(ConsistOf(And(HaveField("Port", BeEquivalentTo(5432)), HaveField("TargetPort.IntVal", BeEquivalentTo(5432)))))
		Expect(service.Spec.Selector).To(Equal(deployment.Spec.Template.Labels))
		Expect(apierrors.IsNotFound(kube.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: "db-cleanup"}, &batchv1.Job{}))).To(BeTrue())

		By("deleting the resource")
		jobs, err := client.NewWithWatch(cluster.Config(), client.Options{Scheme: scheme})
		Expect(err).NotTo(HaveOccurred())
		watched, err := jobs.Watch(ctx, &batchv1.JobList{}, client.InNamespace(w.namespace))
		Expect(err).NotTo(HaveOccurred())
		defer watched.Stop()
		Expect(kube.Delete(ctx, obj)).To(Succeed())
		var job *batchv1.Job
		Eventually(func() bool {
			select {
			case e := <-watched.ResultChan():
				job, _ = e.Object.(*batchv1.Job)
			default:
			}
			return job != nil && job.Status.Succeeded > 0
		}).WithContext(ctx).Should(BeTrue(), "the clean-up Job completes")
		Expect(job.Name).To(Equal("db-cleanup"))
		Expect(job.Spec.Template.Spec.Containers[0]).To(And(HaveField("Image", "postgres:14"), HaveField("Command", []string{"./cleanup.sh"})))
		Expect(job.OwnerReferences).To(BeEmpty())
		Eventually(func() bool { return apierrors.IsNotFound(kube.Get(ctx, client.ObjectKeyFromObject(obj), w.ref("db"))) }).WithContext(ctx).Should(BeTrue())
		w.gone(ctx, deployment, "db-server")
		w.gone(ctx, service, "db-svc")
		w.gone(ctx, job, "db-cleanup")
	})

	It("operatorBox: templates read name, namespace, spec and status", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `
onReconcile: {configmaps: [{name: "{{ .Name }}-{{ .Namespace }}", data: {database: "{{ .Spec.Database }}", phase: '{{ default "new" .Status.Phase }}'}}]}
status: {fields: [{path: phase, value: Running}]}
`))
		w.website(ctx, "db", `{database: orders}`)
		w.hasData(ctx, "db-"+w.namespace, map[string]string{"database": "orders", "phase": "Running"})
	})

	It("create and update: every step of the pipeline, from the finalizer to the health update", func(ctx context.Context) {
		w := newWorld(ctx)
		name := w.box(ctx, `
normalize: {spec: {image: "{{ .spec.image | lower }}"}}
mutation: {rules: [{field: spec.replicas, default: 1}]}
validation: {rules: [{field: spec.replicas, operator: lte, value: "10"}]}
onCreate: {configmaps: [{name: "{{ .metadata.name }}-first", data: {image: "{{ .spec.image }}"}}]}
onReconcile: {deployments: [{image: "{{ .spec.image }}", replicas: "{{ .spec.replicas }}", reconcile: true}]}
status: {fields: [{path: replicas, value: "{{ .children.deployment.status.readyReplicas }}"}]}
`)
		w.running(ctx, name)
		before := time.Now().Add(-time.Second)
		w.website(ctx, "web", `{image: "NGINX:1"}`)
		obj := w.settled(ctx, "web")

		By("step 5 and 6: finalizer, tracking label and annotations")
		Expect(obj.GetFinalizers()).To(ConsistOf(v1alpha1.Finalizer))
		Expect(obj.GetLabels()).To(HaveKeyWithValue("orkestra.orkspace.io/managed", "true"))
		Expect(obj.GetAnnotations()).To(HaveKeyWithValue("orkestra.orkspace.io/managed-by", name))
		since, err := time.Parse(time.RFC3339, obj.GetAnnotations()["orkestra.orkspace.io/managed-since"])
		Expect(err).NotTo(HaveOccurred())
		Expect(since).To(BeTemporally(">=", before.Truncate(time.Second)))

		By("steps 7 to 11: what was rendered")
		w.hasData(ctx, "web-first", map[string]string{"image": "nginx:1"})
		deployment := &appsv1.Deployment{}
		w.child(ctx, Default, deployment, "web")
		Expect(deployment.Spec.Replicas).To(HaveValue(BeEquivalentTo(1)))

		By("step 12: drift correction")
		w.patch(ctx, deployment, `{"spec":{"replicas":5}}`)
		Eventually(func(g Gomega) {
			w.child(ctx, g, deployment, "web")
			g.Expect(deployment.Spec.Replicas).To(HaveValue(BeEquivalentTo(1)))
		}).WithContext(ctx).Should(Succeed())

		By("steps 13 to 15: status, events, health")
		obj = w.settled(ctx, "web")
		Expect(shownFields(obj)).To(Equal(map[string]any{"replicas": int64(1)}))
		Expect(condition(obj, "Ready")).To(And(HaveField("Status", metav1.ConditionTrue), HaveField("Reason", v1alpha1.ReasonReconcileSucceeded)))
		Eventually(func(g Gomega) {
			g.Expect(w.notes(ctx, g, "web", "Reconciled")).To(HaveLen(1))
			h := getHealth(ctx, g, name)
			g.Expect(h.Status.ConsecutiveFailures).To(BeZero())
			g.Expect(h.Status.SuccessCount).To(BeNumerically(">", 0))
			g.Expect(h.Status.LastReconcile).NotTo(BeNil())
		}).WithContext(ctx).Should(Succeed())

		By("updating: managed-since does not change")
		w.website(ctx, "web", `{image: "NGINX:2", replicas: 2}`)
		again := w.settled(ctx, "web")
		Expect(again.GetAnnotations()).To(Equal(obj.GetAnnotations()))
		w.hasData(ctx, "web-first", map[string]string{"image": "nginx:1"})
		w.child(ctx, Default, deployment, "web")
		Expect(deployment.Spec.Template.Spec.Containers[0].Image).To(Equal("nginx:2"))
	})

	It("reconcile pipeline: a step's error stops it there, and the steps before it have run", func(ctx context.Context) {
		w := newWorld(ctx)
		name := w.box(ctx, `
failureThreshold: 100
normalize: {spec: {image: "{{ .spec.settings.normalize }}"}}
mutation: {rules: [{field: spec.host, override: "{{ .spec.settings.mutation }}{{ .spec.image }}"}]}
validation: {rules: [{field: spec.host, equals: "{{ .spec.settings.validation }}"}]}
onCreate: {configmaps: [{name: "{{ .metadata.name }}-created", data: {key: "{{ .spec.settings.create }}"}}]}
onReconcile: {configmaps: [{name: "{{ .metadata.name }}-reconciled", data: {key: "{{ .spec.settings.reconcile }}"}}]}
status: {fields: [{path: replicas, value: "{{ .spec.settings.status }}"}]}
`)
		w.running(ctx, name)
		steps := []struct{ step, reason, adds, child string }{
			{"normalize", v1alpha1.ReasonTemplateError, `normalize: step`, ""},
			{"mutation", v1alpha1.ReasonTemplateError, `mutation: m`, ""},
			{"validation", v1alpha1.ReasonConditionError, `validation: other`, ""},
			{"validation", v1alpha1.ReasonValidationFailed, `validation: mstep`, ""},
			{"onCreate", v1alpha1.ReasonTemplateError, `create: c`, "web-created"},
			{"onReconcile", v1alpha1.ReasonTemplateError, `reconcile: r, status: many`, "web-reconciled"},
			{"status", v1alpha1.ReasonTemplateError, `status: "1"`, ""},
		}
		settings := map[string]string{}
		missing := []string{"web-created", "web-reconciled"}
		for _, s := range steps {
			w.website(ctx, "web", "settings: {"+joined(settings)+"}")
			w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, s.reason, s.step+": ")
			Expect(condition(w.observed(ctx, "web"), v1alpha1.ConditionReady).Message).To(HavePrefix(s.step + ": "))
			for _, child := range missing {
				w.absent(ctx, child)
			}
			for pair := range strings.SplitSeq(s.adds, ", ") {
				key, value, _ := strings.Cut(pair, ": ")
				settings[key] = value
			}
			if s.child != "" {
				missing = missing[1:]
			}
		}
		w.website(ctx, "web", "settings: {"+joined(settings)+"}")
		w.settled(ctx, "web")
		w.hasData(ctx, "web-created", map[string]string{"key": "c"})
		w.hasData(ctx, "web-reconciled", map[string]string{"key": "r"})
		Eventually(func(g Gomega) {
			h := getHealth(ctx, g, name)
			g.Expect(h.Status.FailureCount).To(BeEquivalentTo(len(steps)))
			g.Expect(h.Status.ConsecutiveFailures).To(BeZero())
		}).WithContext(ctx).Should(Succeed())
	})

	It("error behavior: a failure is recorded, cut to 256 characters, and undoes nothing", func(ctx context.Context) {
		w := newWorld(ctx)
		name := w.box(ctx, `
failureThreshold: 2
resync: 24h
validation: {rules: [{field: spec.mode, notEquals: wrong, message: "`+strings.Repeat("ü", 400)+`"}]}
onReconcile:
  configmaps: [{name: "{{ .metadata.name }}-first", data: {mode: "{{ .spec.mode }}"}}]
  ingresses: [{name: "{{ .metadata.name }}-second", host: "{{ .spec.host }}", serviceName: web, servicePort: 80}]
`)
		w.running(ctx, name)
		By("a step N+1 that the API server refuses: what step N made stays")
		w.website(ctx, "web", `{mode: a, host: "Not Valid"}`)
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, "ReconcileError", `onReconcile: applying Ingress "web-second": `)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonInvalidChild, "Not Valid")
		first := w.hasData(ctx, "web-first", map[string]string{"mode": "a"})
		Eventually(func(g Gomega) {
			g.Expect(getHealth(ctx, g, name).Status.ConsecutiveFailures).To(BeEquivalentTo(1))
		}).WithContext(ctx).Should(Succeed())

		By("another failure: the box is degraded")
		w.website(ctx, "web", `{mode: wrong, host: "Not Valid"}`)
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, "ReconcileError", "validation: spec.mode: üüü")
		message := condition(w.observed(ctx, "web"), v1alpha1.ConditionReady).Message
		Expect([]rune(message)).To(HaveLen(256))
		Expect(message).To(HaveSuffix("ü…"))
		Eventually(func(g Gomega) {
			h := getHealth(ctx, g, name)
			g.Expect(h.Status.State).To(Equal(v1alpha1.HealthDegraded))
			g.Expect(h.Status.ConsecutiveFailures).To(BeEquivalentTo(2))
			g.Expect(h.Status.LastFailure.Message).To(HavePrefix("spec.mode: üüü"))
		}).WithContext(ctx).Should(Succeed())

		By("a success: everything converges, and the box recovers")
		w.website(ctx, "web", `{mode: b, host: web.example.com}`)
		w.settled(ctx, "web")
		Expect(w.hasData(ctx, "web-first", map[string]string{"mode": "b"}).UID).To(Equal(first.UID))
		w.child(ctx, Default, &networkingv1.Ingress{}, "web-second")
		Eventually(func(g Gomega) {
			h := getHealth(ctx, g, name)
			g.Expect(h.Status.State).To(Equal(v1alpha1.HealthHealthy))
			g.Expect(h.Status.ConsecutiveFailures).To(BeZero())
		}).WithContext(ctx).Should(Succeed())
	})
})

// joined writes a flow map of YAML without its braces.
func joined(m map[string]string) string {
	var parts []string
	for k, v := range m {
		parts = append(parts, fmt.Sprintf("%s: %s", k, v))
	}
	return strings.Join(parts, ", ")
}
