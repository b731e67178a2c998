package main

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// echo is a box's child that shows the spec as the groups see it.
const echo = `
onReconcile:
  configmaps:
  - name: "{{ .metadata.name }}"
    data: {spec: "{{ .spec | toJson }}"}
`

func TestNormalizeShowsEachExpressionTheResourceAsStoredNotAnotherNormalizedField(t *testing.T) {
	try(t, `
normalize: {spec: {image: "{{ .spec.mode }}", mode: "{{ .spec.image }}", host: "{{ .spec.image }}-{{ .spec.mode }}"}}
`+echo).website("web", `{image: a, mode: b}`).seen(`{"image": "b", "mode": "a", "host": "a-b"}`)
}

func TestNormalizeMakesMissingParentsAndRemovesAFieldByNull(t *testing.T) {
	found := try(t, `
normalize:
  spec:
    nested.deep.value: "{{ .metadata.name }}"
    settings.added: "yes"
    host: "{{ ternary nil .spec.host true }}"
    mode: "{{ ternary .spec.mode nil .spec.tls }}"
    database: "{{ ternary nil nil true }}"
`+echo).websites(map[string]string{
		"keeps": `{host: a, mode: b, tls: true}`,
		"drops": `{host: a, mode: b, tls: false, nested: {deep: {value: other}}, settings: {own: "1"}}`,
	})
	found["keeps"].seen(`{"mode": "b", "tls": true, "nested": {"deep": {"value": "keeps"}}, "settings": {"added": "yes"}}`)
	found["drops"].seen(`{"tls": false, "nested": {"deep": {"value": "drops"}}, "settings": {"added": "yes", "own": "1"}}`)
}

func TestNormalizeGivesFieldsTheTypesOfTheSchemaAlsoInsideListsAndMaps(t *testing.T) {
	try(t, `
normalize:
  spec:
    replicas: "1{{ .spec.min }}"
    tls: "{{ if .spec.mode }}true{{ end }}"
    image: "{{ .spec.min }}"
    memory: "{{ .spec.min }}"
    tags: ["{{ .spec.min }}", "{{ .spec.mode }}", 7]
    settings: {number: "{{ .spec.min }}", literal: 8}
`+echo).website("web", `{min: 2, mode: x}`).seen(`{"min": 2, "mode": "x", "replicas": 12, "tls": true, "image": "2", "memory": 2,
			"tags": ["2", "x", "7"], "settings": {"number": "2", "literal": "8"}}`)
}

func TestNormalizeSaysPathWantedTypeAndValueWhereAValueDoesNotFit(t *testing.T) {
	b := try(t, "normalize: {spec: {replicas: \"{{ .spec.mode }}\", 'tags': [\"{{ .spec.settings }}\"]}}\n"+echo)
	bad := b.website("web", `{mode: many, settings: {}}`)
	bad.stalled(v1alpha1.ReasonTemplateError, `normalize: spec.replicas: wanted integer, got string "many"`)
	bad.childless()
	b.website("web", `{mode: "3", settings: {}}`).stalled(v1alpha1.ReasonTemplateError, `normalize: spec.tags[0]: wanted string, got object`)
	try(t, "normalize: {spec: {replicas: \"{{ .spec.mode }}\"}}\n"+echo).website("web", `{mode: "3", settings: {}}`).
		seen(`{"mode": "3", "replicas": 3, "settings": {}}`)
}

func TestNormalizeRefusesWhatCanNeverWork(t *testing.T) {
	try(t, `
normalize:
  spec:
    replica: 1
    replicas: many
    tags: [{a: b}]
    image: "{{ .children.deployment.metadata.name }}"
    host: "{{ .spec.hots }}"
`).refused(
		`spec.normalize.spec.replica: Invalid value: "spec.replica": spec.replica: no such field in the CRD's schema, did you mean "replicas"?`,
		`spec.normalize.spec.replicas: Invalid value: "many": wanted integer, got string "many"`,
		`spec.normalize.spec.tags`, `[0]: wanted string, got object`,
		`spec.normalize.spec.image`, `children is not available here`,
		`spec.normalize.spec.host`, `did you mean "host"?`,
	)
}

func TestNormalizeWorksWithoutASpec(t *testing.T) {
	b := try(t, `{normalize: {spec: {mode: '{{ default "plain" .spec.mode }}'}}, onReconcile: {configmaps: [{data: {mode: "{{ .spec.mode }}"}}]}}`)
	bare := map[string]any{"metadata": map[string]any{"name": "web"}}
	b.render(bare)["web"].settled().hasData("web", map[string]string{"mode": "plain"})
}

func TestMutationOverridesWhatIsThereWhereTheGateIsOpenRuleByRule(t *testing.T) {
	found := try(t, `
mutation:
  rules:
  - {field: spec.replicas, override: 1, when: [{field: spec.mode, equals: small}]}
  - {field: spec.replicas, override: 9, anyOf: [{field: spec.mode, equals: large}, {field: spec.tls, equals: true}]}
  - {field: spec.max, override: "{{ add .spec.replicas 1 }}"}
  - {field: spec.min, override: "{{ .spec.max }}", when: [{field: spec.max, greaterThan: 5}]}
`+echo).websites(map[string]string{
		"small": `{mode: small, replicas: 4}`,
		"large": `{mode: large, replicas: 4, min: 1}`,
		"both":  `{mode: small, tls: true, replicas: 4}`,
		"other": `{mode: other, replicas: 4, min: 1}`,
	})
	found["small"].seen(`{"mode": "small", "replicas": 1, "max": 2}`)
	found["large"].seen(`{"mode": "large", "replicas": 9, "max": 10, "min": 10}`)
	found["both"].seen(`{"mode": "small", "tls": true, "replicas": 9, "max": 10, "min": 10}`)
	found["other"].seen(`{"mode": "other", "replicas": 4, "max": 5, "min": 1}`)
}

func TestMutationRunsAfterNormalizeAndBeforeValidationAlsoWhenARuleCannotBeEvaluated(t *testing.T) {
	b := try(t, `
normalize: {spec: {mode: "{{ .spec.mode | lower }}"}}
mutation: {rules: [{field: spec.host, override: "{{ .spec.mode }}.{{ .spec.database }}"}]}
validation: {rules: [{field: spec.host, equals: fast.db, message: "host must be fast.db"}]}
`+echo)
	bad := b.website("web", `{mode: FAST}`)
	bad.stalled(v1alpha1.ReasonTemplateError, "mutation: spec.host")
	b.Expect(bad.condition(v1alpha1.ConditionReady).Message).To(ContainSubstring("spec.database: no such field"))
	b.website("web", `{mode: FAST, database: other}`).stalled(v1alpha1.ReasonValidationFailed, "host must be fast.db (found fast.other)")
	b.website("web", `{mode: FAST, database: db}`).seen(`{"mode": "fast", "database": "db", "host": "fast.db"}`)
}

func TestMutationWantsExactlyOneOfDefaultAndOverride(t *testing.T) {
	try(t, `{mutation: {rules: [{field: spec.host}, {field: spec.mode, default: a, override: b}, {field: spec.min, default: few}]}}`).refused(
		`spec.mutation.rules[0]: Invalid value: "spec.host": give exactly one of default and override`,
		`spec.mutation.rules[1]`,
		`spec.mutation.rules[2].default: Invalid value: "few": wanted integer`,
	)
}
