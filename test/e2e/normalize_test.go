package e2e_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
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
})
