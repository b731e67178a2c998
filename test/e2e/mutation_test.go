package e2e_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
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

	It("overrides what is there, where the gate is open, rule by rule", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `
mutation:
  rules:
  - {field: spec.replicas, override: 1, when: [{field: spec.mode, equals: small}]}
  - {field: spec.replicas, override: 9, anyOf: [{field: spec.mode, equals: large}, {field: spec.tls, equals: true}]}
  - {field: spec.max, override: "{{ add .spec.replicas 1 }}"}
  - {field: spec.min, override: "{{ .spec.max }}", when: [{field: spec.max, greaterThan: 5}]}
`+echo))
		w.website(ctx, "small", `{mode: small, replicas: 4}`)
		w.website(ctx, "large", `{mode: large, replicas: 4, min: 1}`)
		w.website(ctx, "both", `{mode: small, tls: true, replicas: 4}`)
		w.website(ctx, "other", `{mode: other, replicas: 4, min: 1}`)
		for name, json := range map[string]string{
			"small": `{"mode": "small", "replicas": 1, "max": 2}`,
			"large": `{"mode": "large", "replicas": 9, "max": 10, "min": 10}`,
			"both":  `{"mode": "small", "tls": true, "replicas": 9, "max": 10, "min": 10}`,
			"other": `{"mode": "other", "replicas": 4, "max": 5, "min": 1}`,
		} {
			w.settled(ctx, name)
			w.seen(ctx, name, json)
		}
	})

	It("runs after normalize and before validation, also when a rule can't be evaluated", func(ctx context.Context) {
		w := newWorld(ctx)
		w.running(ctx, w.box(ctx, `
normalize: {spec: {mode: "{{ .spec.mode | lower }}"}}
mutation: {rules: [{field: spec.host, override: "{{ .spec.mode }}.{{ .spec.database }}"}]}
validation: {rules: [{field: spec.host, equals: fast.db, message: "host must be fast.db"}]}
`+echo))
		w.website(ctx, "web", `{mode: FAST}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonTemplateError, "mutation: spec.host")
		w.shows(ctx, "web", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonReconcileError, "spec.database: no such field")
		w.website(ctx, "web", `{mode: FAST, database: other}`)
		w.shows(ctx, "web", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonValidationFailed, "host must be fast.db (found fast.other)")
		w.website(ctx, "web", `{mode: FAST, database: db}`)
		w.settled(ctx, "web")
		w.seen(ctx, "web", `{"mode": "fast", "database": "db", "host": "fast.db"}`)
	})

	It("wants exactly one of default and override", func(ctx context.Context) {
		w := newWorld(ctx)
		name := w.box(ctx, `{mutation: {rules: [{field: spec.host}, {field: spec.mode, default: a, override: b}, {field: spec.min, default: few}]}}`)
		Eventually(func(g Gomega) {
			c := boxCondition(getBox(ctx, g, name), v1alpha1.ConditionCompiled)
			g.Expect(c).To(HaveField("Status", metav1.ConditionFalse))
			g.Expect(c.Message).To(And(
				ContainSubstring(`spec.mutation.rules[0]: Invalid value: "spec.host": give exactly one of default and override`),
				ContainSubstring(`spec.mutation.rules[1]`),
				ContainSubstring(`spec.mutation.rules[2].default: Invalid value: "few": wanted integer`),
			))
		}).WithContext(ctx).Should(Succeed())
	})
})
