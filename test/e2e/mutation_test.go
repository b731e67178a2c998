package e2e_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("Mutation", func() {
	It("gives a default only to a field that is absent", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `
mutation:
  rules:
  - {field: spec.replicas, default: "3"}
  - {field: spec.tls, default: true}
  - {field: spec.mode, default: fast}
  - {field: spec.tags, default: [a, "{{ .metadata.name }}"]}
  - {field: spec.settings, default: {size: "{{ .spec.replicas }}"}}
  - {field: spec.nested.deep.value, default: "{{ .spec.mode }}"}
`+echo))
		w.website(ctx, "empty", `{replicas: 0, tls: false, mode: "", tags: [], settings: {}, nested: {deep: {value: ""}}}`)
		w.website(ctx, "absent", `{}`)
		w.settled(ctx, "empty")
		w.settled(ctx, "absent")
		w.seen(ctx, "empty", `{"replicas": 0, "tls": false, "mode": "", "tags": [], "settings": {}, "nested": {"deep": {"value": ""}}}`)
		w.seen(ctx, "absent", `{"replicas": 3, "tls": true, "mode": "fast", "tags": ["a", "absent"],
			"settings": {"size": "3"}, "nested": {"deep": {"value": "fast"}}}`)
		Expect(w.get(ctx, Default, "absent").Object["spec"]).To(BeEmpty(), "the stored spec")
	})
})
