package e2e_test

import (
	"context"
	"crypto/tls"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

	It("let a field be absent where something else is given for it", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `
onReconcile:
  configmaps:
  - data:
      default: '{{ default "none" .spec.mode }}'
      piped: '{{ .spec.mode | default "none" | upper }}'
      coalesce: '{{ coalesce .spec.mode .spec.host "none" }}'
      if: '{{ if .spec.tls }}yes{{ else }}no{{ end }}'
      nested: '{{ if .spec.nested.deep.value }}yes{{ else }}no{{ end }}'
      with: '{{ with .spec.host }}{{ . }}{{ else }}none{{ end }}'
      and: '{{ if and .spec.tls .spec.host }}yes{{ else }}no{{ end }}'
      or: '{{ if or .spec.tls (not .spec.host) }}yes{{ else }}no{{ end }}'
      empty: '{{ empty .spec.mode }}'
      hasKey: '{{ hasKey .spec "mode" }}'
      get: '[{{ get .spec "mode" }}]'
      ternary: '{{ ternary "yes" "no" (empty .spec.mode) }}'
      dig: '{{ dig "size" "none" (default dict .spec.settings) }}'
      range: '{{ range default list .spec.tags }}{{ . }}{{ end }}'
`))
		w.website(ctx, "absent", `{}`)
		w.website(ctx, "there", `{mode: m, host: h, tls: true, nested: {deep: {value: v}}, settings: {size: s}, tags: [a, b]}`)
		w.hasData(ctx, "absent", map[string]string{"default": "none", "piped": "NONE", "coalesce": "none", "if": "no", "nested": "no", "with": "none",
			"and": "no", "or": "yes", "empty": "true", "hasKey": "false", "get": "[]", "ternary": "yes", "dig": "none", "range": ""})
		w.hasData(ctx, "there", map[string]string{"default": "m", "piped": "M", "coalesce": "m", "if": "yes", "nested": "yes", "with": "h",
			"and": "yes", "or": "yes", "empty": "false", "hasKey": "true", "get": "[m]", "ternary": "no", "dig": "s", "range": "ab"})
	})

	DescribeTable("fail with the path of a field that is absent, and never print a placeholder",
		func(ctx context.Context, template, path string) {
			w := newWorld(ctx)
			w.running(ctx, w.box(ctx, `{resync: 24h, onReconcile: {configmaps: [{data: {key: '`+template+`'}}]}}`))
			w.website(ctx, "web", `{}`)
			w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonTemplateError, path+": no such field in this resource; where it may be absent, use default or if")
			w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError, "onReconcile: configmaps: data.key: evaluating {{")
			w.absent(ctx, "web")
			w.website(ctx, "web", `{mode: m, nested: {deep: {value: v}}, tags: [t]}`)
			w.settled(ctx, "web")
		},
		Entry("alone", `{{ .spec.mode }}`, "spec.mode"),
		Entry("with text around it", `a{{ .spec.mode }}b`, "spec.mode"),
		Entry("in a function", `{{ .spec.mode | upper }}`, "spec.mode"),
		Entry("below what is absent", `{{ .spec.nested.deep.value }}`, "spec.nested.deep.value"),
		Entry("by a shortcut", `{{ .Spec.Mode }}`, "spec.mode"),
		Entry("in a range", `{{ range .spec.tags }}{{ . }}{{ end }}`, "spec.tags"),
	)

	It("know the capitalized shortcuts", func(ctx context.Context) {
		w := newWorldOf(ctx, func(v *apiextensionsv1.CustomResourceDefinitionVersion) {
			spec := v.Schema.OpenAPIV3Schema.Properties["spec"]
			spec.Properties["Upper"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
			spec.Properties["upper"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
			v.Schema.OpenAPIV3Schema.Properties["spec"] = spec
		})
		w.running(ctx, w.box(ctx, `
status: {fields: [{path: phase, value: "{{ .Spec.Mode }}"}]}
onReconcile:
  configmaps:
  - name: "{{ .Name }}-names"
    data:
      name: "{{ .Name }}.{{ .Namespace }}"
      label: "{{ .Labels.team }}"
      annotation: '{{ index .Annotations "a.b/c" }}'
      database: "{{ .Spec.Database }}"
      deep: "{{ .Spec.Nested.Deep.Value }}"
      exact: "{{ .Spec.Upper }}{{ .spec.upper }}"
      phase: '{{ default "none" .Status.Phase }}'
      kind: "{{ .apiVersion }} {{ .kind }} {{ .metadata.name }} {{ .box.name }}"
`))
		w.website(ctx, "web", `{}`)
		w.patch(ctx, w.ref("web"), `{"metadata":{"labels":{"team":"red"},"annotations":{"a.b/c":"d"}},
			"spec":{"database":"orders","mode":"fast","Upper":"A","upper":"b","nested":{"deep":{"value":"v"}}}}`)
		w.hasData(ctx, "web-names", map[string]string{
			"name": "web." + w.namespace, "label": "red", "annotation": "d", "database": "orders", "deep": "v", "exact": "Ab",
			"phase": "fast", "kind": w.group + "/v1 Website web " + w.id,
		})
	})

	It("never execute text of a resource that looks like a template", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `
normalize: {spec: {host: "{{ .spec.mode }}"}}
mutation: {rules: [{field: spec.database, default: "{{ .spec.mode }}"}]}
validation: {rules: [{field: spec.mode, equals: "{{ .spec.mode }}"}, {field: spec.mode, contains: "{{ .spec.image }}"}]}
status: {fields: [{path: phase, value: "{{ .spec.mode }}"}]}
onReconcile:
  configmaps:
  - data: {plain: "{{ .spec.mode }}", around: "<{{ .spec.mode }}>", host: "{{ .spec.host }}", database: "{{ .spec.database }}", all: "{{ .spec.settings | toJson }}"}
    annotations: {note: "{{ .spec.mode }}"}
  - {name: map, data: "{{ .spec.settings }}"}
`))
		const text = `{{ .metadata.uid }} {{ fail \"x\" }}`
		w.website(ctx, "web", `{mode: "`+text+`", image: "metadata", settings: {a: "{{ .metadata.name }}"}}`)
		obj := w.settled(ctx, "web")
		data := `{{ .metadata.uid }} {{ fail "x" }}`
		c := w.hasData(ctx, "web", map[string]string{"plain": data, "around": "<" + data + ">", "host": data, "database": data, "all": `{"a":"{{ .metadata.name }}"}`})
		Expect(c.Annotations).To(HaveKeyWithValue("note", data))
		w.hasData(ctx, "map", map[string]string{"a": "{{ .metadata.name }}"})
		Expect(shownFields(obj)).To(HaveKeyWithValue("phase", data))
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

	It("refuse unknown names when the box is applied, each with its place and the nearest valid one", func(ctx context.Context) {
		w := newWorld(ctx)
		name := w.box(ctx, `
onReconcile:
  configmaps:
  - data:
      field: "{{ .spec.moed }}"
      function: "{{ .spec.mode | uper }}"
      root: "{{ .spce.mode }}"
      clock: "{{ now }}"
      random: "{{ randAlphaNum 5 }}"
      outside: "{{ env \"HOME\" }}"
      broken: "{{ if .spec.mode }}"
      below: "{{ .spec.mode.x }}"
`)
		Eventually(func(g Gomega) {
			c := boxCondition(getBox(ctx, g, name), v1alpha1.ConditionCompiled)
			g.Expect(c).To(HaveField("Status", metav1.ConditionFalse))
			at := `spec.onReconcile.configmaps[0].data.`
			g.Expect(c.Message).To(And(
				HavePrefix("8 mistakes: "),
				ContainSubstring(at+"field: "), ContainSubstring(`did you mean "mode"?`),
				ContainSubstring(at+"function: "), ContainSubstring(`unknown function "uper", did you mean "upper"?`),
				ContainSubstring(at+"root: "), ContainSubstring(`did you mean "spec"?`),
				ContainSubstring(at+"clock: "), ContainSubstring(`function "now" depends on the clock`),
				ContainSubstring(at+"random: "), ContainSubstring(`function "randAlphaNum" gives another result each time`),
				ContainSubstring(at+"outside: "), ContainSubstring(`function "env" reads what is outside the resource`),
				ContainSubstring(at+"broken: "), ContainSubstring(at+"below: "), ContainSubstring("which has no fields"),
			))
		}).WithContext(ctx).Should(Succeed())
	})

	It("have limits, whose excess is an error that names the limit", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `{resync: 24h, onReconcile: {configmaps: [{data: {key: "{{ repeat .spec.max .spec.mode }}"}}]}}`))
		w.website(ctx, "web", `{mode: xxxxxxxxxx, max: 10000000}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonBudgetExceeded, "over the output limit of a template (1 MiB)")
		w.website(ctx, "web", `{mode: x, max: 3}`)
		w.settled(ctx, "web")
		w.hasData(ctx, "web", map[string]string{"key": "xxx"})
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
