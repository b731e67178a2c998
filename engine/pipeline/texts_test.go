package pipeline

import (
	"testing"

	"github.com/onsi/gomega"
)

// Labels and the like are texts by name, each of which may be a template, or one template for all of them; null is left out.
func TestTextsByOneTemplate(t *testing.T) {
	const box = `
commonLabels: {tier: web, team: "{{ coalesce .spec.host }}"}
commonAnnotations: "{{ dict \"note\" .metadata.name \"gone\" (coalesce .spec.host) }}"
values: [{name: marks, cel: "{'app': self.metadata.name, 'tier': self.spec.image}"}]
onReconcile:
  configmaps:
  - name: a
    labels: "{{ merge (dict \"team\" \"core\") .values.marks }}"
    annotations: {count: "{{ .spec.replicas }}", none: "{{ coalesce .spec.host }}", nothing: null}
    data: {a: b}
  - name: b
    labels: {tier: null, plain: text}
    data: "{{ dict \"a\" \"x\" \"b\" (coalesce .spec.host) }}"
`
	g := gomega.NewWithT(t)
	p := newPorts()
	_, err := p.run(planOf(t, box), website(t, `{image: large, replicas: 3}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	a, b := p.configMap("a"), p.configMap("b")
	g.Expect(a.GetLabels()).To(gomega.And(gomega.HaveKeyWithValue("app", "shop"), gomega.HaveKeyWithValue("tier", "large"), gomega.HaveKeyWithValue("team", "core")))
	g.Expect(a.GetAnnotations()).To(gomega.And(gomega.HaveKeyWithValue("count", "3"), gomega.HaveKeyWithValue("note", "shop"),
		gomega.Not(gomega.HaveKey("none")), gomega.Not(gomega.HaveKey("nothing")), gomega.Not(gomega.HaveKey("gone"))))
	g.Expect(b.GetLabels()).To(gomega.And(gomega.HaveKeyWithValue("tier", "web"), gomega.HaveKeyWithValue("plain", "text"), gomega.Not(gomega.HaveKey("team"))),
		"an entry that is null says nothing, so the common one stays")
	g.Expect(p.data("b")).To(gomega.Equal(map[string]string{"a": "x"}))
}

func TestTextsThatAreNone(t *testing.T) {
	g := gomega.NewWithT(t)
	_, errs := Compile(boxOf(t, `
commonLabels: plain
commonAnnotations: [a]
onReconcile:
  configmaps:
  - labels: {"on": true, "{{ .spec.image }}": x, team: "{{ .spec.nothing }}"}
    annotations: "{{ .spec.nothing }}"
    data: {a: b}
`), Env{CRD: websites(t), Mapper: stubMapper()})
	g.Expect(messages(errs)).To(gomega.Equal([]string{
		`spec.commonAnnotations: Invalid value: "array": wanted an object whose values are texts, or one template that gives it`,
		`spec.commonLabels: Invalid value: "string": wanted an object whose values are texts, or one template that gives it`,
		`spec.onReconcile.configmaps[0].annotations: Invalid value: "{{ .spec.nothing }}": column 4: spec.nothing: no such field in the CRD's schema, only any, database, host, image, replicas, tags, tls`,
		`spec.onReconcile.configmaps[0].labels.on: Invalid value: "boolean": wanted a text; YAML takes words such as y, no, on and 1.0 for other types, so quote it`,
		`spec.onReconcile.configmaps[0].labels.team: Invalid value: "{{ .spec.nothing }}": column 4: spec.nothing: no such field in the CRD's schema, only any, database, host, image, replicas, tags, tls`,
		`spec.onReconcile.configmaps[0].labels[{{ .spec.image }}]: Invalid value: "{{ .spec.image }}": a key cannot be a template: write the whole map as one, such as {{ dict .metadata.name "value" }}`,
	}))

	for written, want := range map[string]string{
		`labels: "{{ list 1 }}"`:                                             "labels: wanted object, got array",
		`labels: {a: "{{ dict }}"}`:                                          `labels["a"]: `,
		`labels: "{{ dict \"orkestra.orkspace.io/owner-uid\" \"x\" }}"`:      "orkestra.orkspace.io/owner-uid",
		`annotations: "{{ dict \"orkestra.orkspace.io/applied\" \"x\" }}"`:   "orkestra.orkspace.io/applied",
		`annotations: {a: "{{ fail \"no\" }}", b: "{{ fail \"neither\" }}"}`: "annotations: a: ",
	} {
		p := newPorts()
		_, err := p.run(planOf(t, "onReconcile: {configmaps: [{data: {a: b}, "+written+"}]}"), website(t, `{}`))
		g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring(want)), written)
	}
}

// What a path gives may be converted, the box may change it before it is read, or nothing is known of it.
func TestPathsThatMayHaveTheRightType(t *testing.T) {
	for name, box := range map[string]string{
		"a text for a number":     `onReconcile: {deployments: [{image: a, replicas: "{{ .spec.host }}"}]}`,
		"a number for a text":     `onReconcile: {configmaps: [{data: {a: "{{ .spec.replicas }}", b: "{{ .spec.tls }}"}}]}`,
		"anything":                `onReconcile: {deployments: [{image: a, replicas: "{{ .spec.any }}", command: "{{ .spec.any }}"}]}`,
		"the right one":           `onReconcile: {deployments: [{image: a, replicas: "{{ .spec.replicas }}", command: "{{ .spec.tags }}", podLabels: "{{ .metadata.labels }}"}]}`,
		"what a function gives":   `onReconcile: {deployments: [{image: a, replicas: "{{ len .spec.tags }}"}]}`,
		"what normalize changes":  `{normalize: {spec: {host: "{{ list .spec.host }}"}}, onReconcile: {deployments: [{image: a, command: "{{ .spec.host }}"}]}}`,
		"an integer or a string":  `onReconcile: {services: [{id: s, port: 80, selector: {a: b}}], deployments: [{image: a, replicas: "{{ (index .children.s.spec.ports 0).targetPort }}"}]}`,
		"a manifest of any shape": `onReconcile: {resources: [{manifest: {apiVersion: example.com/v1, kind: Cat, metadata: {name: a}, spec: "{{ .spec.tags }}"}}]}`,
	} {
		t.Run(name, func(t *testing.T) { planOf(t, box) })
	}
}
