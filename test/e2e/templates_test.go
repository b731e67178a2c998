package e2e_test

import (
	"context"
	"crypto/tls"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var _ = Describe("Templates", func() {
	It("keep an expression's own value, and make text of what has text around it", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `
onReconcile:
  deployments:
  - name: "{{ .spec.mode }}-{{ .spec.replicas }}"
    image: "{{ .spec.image }}:{{ .spec.port }}"
    replicas: "{{ .spec.replicas }}"
    args: "{{ .spec.tags }}"
    port: "{{ .spec.port }}"
    env: [{name: REPLICAS, value: "{{ .spec.replicas }}"}, {name: TLS, value: "{{ .spec.tls }}"}, {name: BOTH, value: "{{ .spec.replicas }}{{ .spec.min }}"}]
    podLabels: "{{ .spec.settings }}"
    spec: {paused: "{{ .spec.tls }}", progressDeadlineSeconds: "{{ add .spec.port 1 }}"}
  configmaps:
  - {data: "{{ .spec.settings }}"}
  - {name: texts, data: {number: "{{ .spec.replicas }}", bool: "{{ .spec.tls }}", list: "{{ .spec.tags | toJson }}", map: "x{{ .spec.settings }}"}}
`))
		w.website(ctx, "web", `{mode: a, replicas: 2, min: 0, port: 8080, image: nginx, tls: true, tags: [serve, "--fast"], settings: {b: c, a: b}}`)
		deployment := &appsv1.Deployment{}
		Eventually(func(g Gomega) { w.child(ctx, g, deployment, "a-2") }).WithContext(ctx).Should(Succeed())
		container := deployment.Spec.Template.Spec.Containers[0]
		Expect(deployment.Spec.Replicas).To(HaveValue(BeEquivalentTo(2)))
		Expect(deployment.Spec.Paused).To(BeTrue())
		Expect(deployment.Spec.ProgressDeadlineSeconds).To(HaveValue(BeEquivalentTo(8081)))
		Expect(container.Image).To(Equal("nginx:8080"))
		Expect(container.Args).To(Equal([]string{"serve", "--fast"}))
		Expect(container.Ports).To(ConsistOf(HaveField("ContainerPort", BeEquivalentTo(8080))))
		Expect(container.Env).To(ConsistOf(corev1.EnvVar{Name: "REPLICAS", Value: "2"}, corev1.EnvVar{Name: "TLS", Value: "true"}, corev1.EnvVar{Name: "BOTH", Value: "20"}))
		Expect(deployment.Spec.Template.Labels).To(And(HaveKeyWithValue("a", "b"), HaveKeyWithValue("b", "c"), HaveKeyWithValue(v1alpha1.LabelAppInstance, "web")))
		w.hasData(ctx, "web", map[string]string{"a": "b", "b": "c"})
		w.hasData(ctx, "texts", map[string]string{"number": "2", "bool": "true", "list": `["serve","--fast"]`, "map": `x{"a":"b","b":"c"}`})
	})

	It("have helpers for children, which give zero values where there are none", func(ctx context.Context) {
		w := newWorldOf(ctx, withNotes)
		w.running(ctx, w.box(ctx, `
onCreate: {jobs: [{name: "{{ .metadata.name }}-job", image: "busybox:1", when: [{field: spec.tls, equals: true}]}]}
onReconcile:
  deployments: [{image: "nginx:1", replicas: 2, labels: {tier: front}, annotations: {a.b/c: d}, when: [{field: spec.tls, equals: true}]}]
  services: [{id: front, port: 80, when: [{field: spec.tls, equals: true}]}]
  ingresses: [{host: web.example.com, when: [{field: spec.tls, equals: true}]}]
  resources:
  - when: [{field: spec.mode, equals: claim}]
    manifest:
      apiVersion: v1
      kind: PersistentVolumeClaim
      metadata: {name: "{{ .metadata.name }}"}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
status:
  fields:
  - path: notes
    value:
      ready: "{{ readyReplicas .children.deployment }}"
      desired: "{{ desiredReplicas .children.deployment }}"
      available: "{{ availableReplicas .children.deployment }}"
      updated: "{{ updatedReplicas .children.deployment }}"
      complete: "{{ rolloutComplete .children.deployment }}"
      isReady: "{{ isReady .children.deployment }}"
      has: '{{ hasCondition "Available" .children.deployment }}'
      piped: '{{ .children.deployment | hasCondition "Progressing" }}'
      reason: '[{{ conditionReason "Available" .children.deployment }}]'
      message: '{{ conditionMessage "Available" .children.deployment | empty }}'
      label: '[{{ label "tier" .children.deployment }}]'
      annotation: '[{{ annotation "a.b/c" .children.deployment }}]'
      get: '[{{ get .children.deployment "metadata" "name" }}]'
      job: "{{ jobSucceeded .children.job }} {{ jobFailed .children.job }} {{ jobActive .children.job }}"
      address: "{{ serviceClusterIP .children.front | empty }}"
      balancer: "[{{ serviceLoadBalancerIP .children.service }}{{ serviceLoadBalancerHost .children.service }}]"
      ingress: "[{{ ingressIP .children.ingress }}{{ ingressHost .children.ingress }}]"
      claim: "{{ pvcBound .children.pvc }}"
      byName: '[{{ get .children.services .metadata.name "spec" "type" }}]'
`))
		w.website(ctx, "none", `{tls: false}`)
		w.website(ctx, "all", `{tls: true}`)
		Expect(shownFields(w.settled(ctx, "none"))["notes"]).To(Equal(map[string]any{
			"ready": "0", "desired": "0", "available": "0", "updated": "0", "complete": "false", "isReady": "false", "has": "false", "piped": "false",
			"reason": "[]", "message": "true", "label": "[]", "annotation": "[]", "get": "[]", "job": "false false false", "address": "true",
			"balancer": "[]", "ingress": "[]", "claim": "false", "byName": "[]",
		}))
		Eventually(func(g Gomega) {
			g.Expect(shownFields(w.get(ctx, g, "all"))["notes"]).To(Equal(map[string]any{
				"ready": "2", "desired": "2", "available": "2", "updated": "2", "complete": "true", "isReady": "true", "has": "true", "piped": "true",
				"reason": "[MinimumReplicasAvailable]", "message": "false", "label": "[front]", "annotation": "[d]", "get": "[all]", "job": "true false false",
				"address": "false", "balancer": "[]", "ingress": "[]", "claim": "false", "byName": "[ClusterIP]",
			}))
		}).WithContext(ctx).Should(Succeed())
		job := &batchv1.Job{}
		w.child(ctx, Default, job, "all-job")
	})

	It("make a certificate and its key in one go, and never again", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `
resync: 24h
onReconcile:
  secrets:
  - name: "{{ .metadata.name }}-tls"
    once: true
    type: kubernetes.io/tls
    data: '{{ genSelfSignedCert .metadata.name (list "10.0.0.1") (list (printf "%s.%s.svc" .metadata.name .metadata.namespace)) 30 | tlsData }}'
`))
		w.website(ctx, "web", `{mode: a}`)
		w.settled(ctx, "web")
		var secret corev1.Secret
		w.child(ctx, Default, &secret, "web-tls")
		Expect(secret.Type).To(Equal(corev1.SecretTypeTLS))
		pair, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
		Expect(err).NotTo(HaveOccurred())
		Expect(pair.Leaf.VerifyHostname("web." + w.namespace + ".svc")).To(Succeed())
		Expect(pair.Leaf.NotAfter.Sub(pair.Leaf.NotBefore).Hours()).To(BeNumerically("==", 30*24))

		version := secret.ResourceVersion
		w.website(ctx, "web", `{mode: b}`)
		w.settled(ctx, "web")
		w.child(ctx, Default, &secret, "web-tls")
		Expect(secret.ResourceVersion).To(Equal(version))
	})
})
