package e2e_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// echo is a box's child that shows the spec as the groups see it.
const echo = `
onReconcile:
  configmaps:
  - name: "{{ .metadata.name }}"
    data: {spec: "{{ .spec | toJson }}"}
`

// seen waits until the groups have seen a spec that is this JSON.
func (w *world) seen(ctx context.Context, name, json string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		c := w.configMap(name)
		w.child(ctx, g, c, name)
		g.Expect(c.Data["spec"]).To(MatchJSON(json))
	}).WithContext(ctx).Should(Succeed())
}

var _ = Describe("Normalize", func() {
	It("computes fields for every later step, and never writes them to the resource", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `
normalize: {spec: {image: "{{ .spec.image | trim | lower }}"}}
mutation: {rules: [{field: spec.host, default: "{{ .spec.image }}.example.com"}]}
validation: {rules: [{field: spec.image, equals: nginx}]}
`+echo))
		w.website(ctx, "web", `{image: " NGINX "}`)
		obj := w.settled(ctx, "web")
		w.seen(ctx, "web", `{"image": "nginx", "host": "nginx.example.com"}`)

		Expect(obj.Object["spec"]).To(Equal(map[string]any{"image": " NGINX "}))
		Expect(obj.GetGeneration()).To(BeEquivalentTo(1))
		for _, entry := range obj.GetManagedFields() {
			if entry.Manager != "e2e" {
				Expect(string(entry.FieldsV1.GetRawBytes())).NotTo(ContainSubstring("f:spec"), "fields of %s", entry.Manager)
			}
		}
	})

	It("shows each expression the resource as stored, not another normalized field", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `
normalize: {spec: {image: "{{ .spec.mode }}", mode: "{{ .spec.image }}", host: "{{ .spec.image }}-{{ .spec.mode }}"}}
`+echo))
		w.website(ctx, "web", `{image: a, mode: b}`)
		w.settled(ctx, "web")
		w.seen(ctx, "web", `{"image": "b", "mode": "a", "host": "a-b"}`)
	})

	It("makes missing parents, and removes a field by null", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `
normalize:
  spec:
    nested.deep.value: "{{ .metadata.name }}"
    settings.added: "yes"
    host: "{{ ternary nil .spec.host true }}"
    mode: "{{ ternary .spec.mode nil .spec.tls }}"
    database: "{{ ternary nil nil true }}"
`+echo))
		w.website(ctx, "keeps", `{host: a, mode: b, tls: true}`)
		w.website(ctx, "drops", `{host: a, mode: b, tls: false, nested: {deep: {value: other}}, settings: {own: "1"}}`)
		w.settled(ctx, "keeps")
		w.settled(ctx, "drops")
		w.seen(ctx, "keeps", `{"mode": "b", "tls": true, "nested": {"deep": {"value": "keeps"}}, "settings": {"added": "yes"}}`)
		w.seen(ctx, "drops", `{"tls": false, "nested": {"deep": {"value": "drops"}}, "settings": {"added": "yes", "own": "1"}}`)
	})

	It("gives fields the types of the CRD's schema, also inside lists and maps", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `
normalize:
  spec:
    replicas: "1{{ .spec.min }}"
    tls: "{{ if .spec.mode }}true{{ end }}"
    image: "{{ .spec.min }}"
    memory: "{{ .spec.min }}"
    tags: ["{{ .spec.min }}", "{{ .spec.mode }}", 7]
    settings: {number: "{{ .spec.min }}", literal: 8}
`+echo))
		w.website(ctx, "web", `{min: 2, mode: x}`)
		w.settled(ctx, "web")
		w.seen(ctx, "web", `{"min": 2, "mode": "x", "replicas": 12, "tls": true, "image": "2", "memory": 2,
			"tags": ["2", "x", "7"], "settings": {"number": "2", "literal": "8"}}`)
	})

	It("says path, wanted type and value where a value does not fit, and heals with the resource", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, "resync: 24h\nnormalize: {spec: {replicas: \"{{ .spec.mode }}\", 'tags': [\"{{ .spec.settings }}\"]}}\n"+echo))
		w.website(ctx, "web", `{mode: many, settings: {}}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonTemplateError,
			`normalize: spec.replicas: wanted integer, got string "many"`)
		w.absent(ctx, "web")
		w.website(ctx, "web", `{mode: "3", settings: {}}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonTemplateError,
			`normalize: spec.tags[0]: wanted string, got object`)

		w.box(ctx, "resync: 24h\nnormalize: {spec: {replicas: \"{{ .spec.mode }}\"}}\n"+echo)
		w.settled(ctx, "web")
		w.seen(ctx, "web", `{"mode": "3", "replicas": 3, "settings": {}}`)
	})

	It("refuses what can never work, when the box is applied", func(ctx context.Context) {
		w := newWorld(ctx)
		name := w.box(ctx, `
normalize:
  spec:
    replica: 1
    replicas: many
    tags: [{a: b}]
    image: "{{ .children.deployment.metadata.name }}"
    host: "{{ .spec.hots }}"
`)
		Eventually(func(g Gomega) {
			c := boxCondition(getBox(ctx, g, name), v1alpha1.ConditionCompiled)
			g.Expect(c).To(HaveField("Status", metav1.ConditionFalse))
			g.Expect(c.Message).To(And(
				ContainSubstring(`spec.normalize.spec[replica]: Invalid value: "spec.replica": spec.replica: no such field in the CRD's schema, did you mean "replicas"?`),
				ContainSubstring(`spec.normalize.spec[replicas]: Invalid value: "many": wanted integer, got string "many"`),
				ContainSubstring(`spec.normalize.spec[tags]`), ContainSubstring(`[0]: wanted string, got object`),
				ContainSubstring(`spec.normalize.spec[image]`), ContainSubstring(`children is not available here`),
				ContainSubstring(`spec.normalize.spec[host]`), ContainSubstring(`did you mean "host"?`),
			))
		}).WithContext(ctx).Should(Succeed())
	})

	It("leaves fields alone that it does not name, and works without a spec", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `{normalize: {spec: {mode: '{{ default "plain" .spec.mode }}'}}, onReconcile: {configmaps: [{data: {mode: "{{ .spec.mode }}"}}]}}`))
		bare := w.ref("web")
		unstructured.RemoveNestedField(bare.Object, "spec")
		Expect(kube.Create(ctx, bare)).To(Succeed())
		w.settled(ctx, "web")
		w.hasData(ctx, "web", map[string]string{"mode": "plain"})
	})
})
