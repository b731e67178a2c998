package main

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/api/v1alpha1"
	shared "github.com/orkspace/orkestra/test/fixtures"
)

func TestStatusTakesTheFirstValueWhoseGateHoldsAndLeavesTheFieldOutWhenNoneDoes(t *testing.T) {
	found := try(t, `
status:
  fields:
  - {path: phase, value: Large, when: [{field: spec.replicas, greaterThan: 5}]}
  - {path: phase, value: Medium, when: [{field: spec.replicas, greaterThan: 2}]}
  - {path: phase, value: Odd, anyOf: [{field: spec.mode, equals: odd}, {field: spec.host, equals: odd}]}
  - {path: url, value: "https://{{ .spec.host }}", when: [{field: spec.tls, equals: true}]}
`).websites(map[string]string{
		"first": `{replicas: 6, tls: true, host: a}`, "second": `{replicas: 3, tls: false, host: a}`,
		"third": `{replicas: 1, host: odd}`, "none": `{replicas: 1, tls: true}`,
	})
	for name, want := range map[string]map[string]any{
		"first": {"phase": "Large", "url": "https://a"}, "second": {"phase": "Medium"}, "third": {"phase": "Odd"}, "none": {},
	} {
		found[name].Expect(found[name].settled().shown()).To(Equal(want), name)
	}
}

func TestStatusOfAWrongTypeIsAnErrorThatNamesTheFieldAndAllOtherFieldsAreWritten(t *testing.T) {
	b := try(t, `
status:
  fields:
  - {path: phase, value: "{{ .spec.mode }}"}
  - {path: replicas, value: "{{ .spec.mode }}"}
  - {path: ports, value: "{{ .spec.tags }}"}
  - {path: url, value: done}
`, shared.With("status", "ports", `{type: array, items: {type: integer}}`))
	bad := b.website("web", `{mode: "3", tags: ["80", many]}`)
	bad.stalled(v1alpha1.ReasonTemplateError, `status: fields: status.ports[1]: wanted integer, got string`)
	b.Expect(bad.shown()).To(Equal(map[string]any{"phase": "3", "replicas": int64(3), "url": "done"}))
	b.Expect(b.website("web", `{mode: "4", tags: ["80"]}`).settled().shown()).To(HaveKeyWithValue("ports", []any{int64(80)}))
}

func TestStatusRefusesFieldsThatCouldNeverBeWritten(t *testing.T) {
	try(t, `
status:
  fields:
  - {path: fase, value: a}
  - {path: conditions, value: []}
  - {path: observedGeneration, value: 1}
  - {path: phase, value: a}
  - {path: phase, value: b, when: [{field: spec.tls, equals: true}]}
`).refused(
		`spec.status.fields[0].path`, `did you mean "phase"?`,
		`spec.status.fields[1].path: Invalid value: "conditions": Orkestra writes this field itself`,
		`spec.status.fields[2].path`,
		`spec.status.fields[4].path: Duplicate value: "phase"`,
	)
}

func TestForEachGoesOverAMapAndOverANumber(t *testing.T) {
	o := try(t, `
onReconcile:
  configmaps:
  - {id: value, name: "v-{{ .key }}", forEach: {field: spec.values}, data: {v: "{{ .item }}"}}
  - {id: number, name: "n-{{ .item }}", forEach: {field: spec.count}, data: {v: "{{ .index }}"}}
status: {fields: [{path: phase, value: "{{ .children.value.b.data.v }}"}]}
`, shared.With("spec", "values", `{type: object, additionalProperties: {type: string}}`), shared.With("spec", "count", `{type: integer}`)).
		website("shop", `{values: {a: one, b: two}, count: 2}`).settled()
	o.Expect(o.names()).To(ConsistOf("v-a", "v-b", "n-0", "n-1"))
	o.hasData("v-b", map[string]string{"v": "two"})
	o.Expect(o.shown()).To(HaveKeyWithValue("phase", "two"))
}

func TestForEachNamesTheLimitOfChildren(t *testing.T) {
	o := try(t, `{onReconcile: {configmaps: [{name: "n-{{ .item }}", forEach: {field: spec.count}}]}}`, shared.With("spec", "count", `{type: integer}`)).
		website("shop", `{count: 100000}`)
	o.stalled(v1alpha1.ReasonBudgetExceeded, "spec.count has more than 1000 items, which is as many children as a resource may have")
	o.childless()
}

func TestLabelsAndAnnotationsThatAreOrkestrasOwnAreRefused(t *testing.T) {
	for name, tc := range map[string]struct{ spec, where string }{
		"as a common label":      {`{commonLabels: {orkestra-owner: me}}`, "spec.commonLabels.orkestra-owner: "},
		"as a common annotation": {`{commonAnnotations: {orkestra.orkspace.io/applied: me}}`, "spec.commonAnnotations[orkestra.orkspace.io/applied]"},
		"as a label": {`{onReconcile: {configmaps: [{labels: {app.kubernetes.io/managed-by: Helm}, data: {a: b}}]}}`,
			"spec.onReconcile.configmaps[0].labels[app.kubernetes.io/managed-by]"},
		"as an annotation": {`{onReconcile: {configmaps: [{annotations: {orkestra.orkspace.io/declaration: x}, data: {a: b}}]}}`,
			"spec.onReconcile.configmaps[0].annotations[orkestra.orkspace.io/declaration]"},
		"in a manifest": {`{onReconcile: {resources: [{manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {orkestra.orkspace.io/box: x}}}}]}}`,
			"spec.onReconcile.resources[0].manifest.metadata.labels[orkestra.orkspace.io/box]"},
	} {
		t.Run(name, func(t *testing.T) { try(t, tc.spec).refused(tc.where) })
	}
}
