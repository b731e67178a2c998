package main

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/api/v1alpha1"
	shared "github.com/orkspace/orkestra/test/fixtures"
)

func TestTemplatesLetAFieldBeAbsentWhereSomethingElseIsGivenForIt(t *testing.T) {
	found := try(t, `
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
`).websites(map[string]string{
		"absent": `{}`,
		"there":  `{mode: m, host: h, tls: true, nested: {deep: {value: v}}, settings: {size: s}, tags: [a, b]}`,
	})
	found["absent"].hasData("absent", map[string]string{
		"default": "none", "piped": "NONE", "coalesce": "none", "if": "no", "nested": "no", "with": "none",
		"and": "no", "or": "yes", "empty": "true", "hasKey": "false", "get": "[]", "ternary": "yes", "dig": "none", "range": "",
	})
	found["there"].hasData("there", map[string]string{
		"default": "m", "piped": "M", "coalesce": "m", "if": "yes", "nested": "yes", "with": "h",
		"and": "yes", "or": "yes", "empty": "false", "hasKey": "true", "get": "[m]", "ternary": "no", "dig": "s", "range": "ab",
	})
}

func TestTemplatesFailWithThePathOfAFieldThatIsAbsentAndNeverPrintAPlaceholder(t *testing.T) {
	for name, tc := range map[string]struct{ template, path string }{
		"alone":                {`{{ .spec.mode }}`, "spec.mode"},
		"with text around it":  {`a{{ .spec.mode }}b`, "spec.mode"},
		"in a function":        {`{{ .spec.mode | upper }}`, "spec.mode"},
		"below what is absent": {`{{ .spec.nested.deep.value }}`, "spec.nested.deep.value"},
		"by a shortcut":        {`{{ .Spec.Mode }}`, "spec.mode"},
		"in a range":           {`{{ range .spec.tags }}{{ . }}{{ end }}`, "spec.tags"},
	} {
		t.Run(name, func(t *testing.T) {
			b := try(t, `{resync: 24h, onReconcile: {configmaps: [{data: {key: '`+tc.template+`'}}]}}`)
			bad := b.website("web", `{}`)
			bad.stalled(v1alpha1.ReasonTemplateError, tc.path+": no such field in this resource; where it may be absent, use default or if")
			b.Expect(bad.condition(v1alpha1.ConditionReady).Message).To(ContainSubstring("onReconcile: configmaps: data.key: evaluating {{"))
			bad.childless()
			b.website("web", `{mode: m, nested: {deep: {value: v}}, tags: [t]}`).settled()
		})
	}
}

func TestTemplatesKnowTheCapitalizedShortcuts(t *testing.T) {
	b := try(t, `
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
`, shared.With("spec", "Upper", `{type: string}`), shared.With("spec", "upper", `{type: string}`))
	web := map[string]any{
		"metadata": map[string]any{"name": "web", "labels": map[string]any{"team": "red"}, "annotations": map[string]any{"a.b/c": "d"}},
		"spec":     b.parsed(`{database: orders, mode: fast, Upper: A, upper: b, nested: {deep: {value: v}}}`),
		"status":   map[string]any{"phase": "slow"},
	}
	o := b.render(web)["web"]
	o.hasData("web-names", map[string]string{
		"name": "web.default", "label": "red", "annotation": "d", "database": "orders", "deep": "v", "exact": "Ab",
		"phase": "slow", "kind": trialGroup + "/v1 Website web websites",
	})
	b.Expect(o.shown()).To(HaveKeyWithValue("phase", "fast"))
}

func TestTemplatesNeverExecuteTextOfAResourceThatLooksLikeATemplate(t *testing.T) {
	b := try(t, `
normalize: {spec: {host: "{{ .spec.mode }}"}}
mutation: {rules: [{field: spec.database, default: "{{ .spec.mode }}"}]}
validation: {rules: [{field: spec.mode, equals: "{{ .spec.mode }}"}, {field: spec.mode, contains: "{{ .spec.image }}"}]}
status: {fields: [{path: phase, value: "{{ .spec.mode }}"}]}
onReconcile:
  configmaps:
  - data: {plain: "{{ .spec.mode }}", around: "<{{ .spec.mode }}>", host: "{{ .spec.host }}", database: "{{ .spec.database }}", all: "{{ .spec.settings | toJson }}"}
    annotations: {note: "{{ .spec.mode }}"}
  - {name: map, data: "{{ .spec.settings }}"}
`)
	const text = `{{ .metadata.uid }} {{ fail \"x\" }}`
	o := b.website("web", `{mode: "`+text+`", image: "metadata", settings: {a: "{{ .metadata.name }}"}}`).settled()
	data := `{{ .metadata.uid }} {{ fail "x" }}`
	c := o.hasData("web", map[string]string{"plain": data, "around": "<" + data + ">", "host": data, "database": data, "all": `{"a":"{{ .metadata.name }}"}`})
	b.Expect(c.GetAnnotations()).To(HaveKeyWithValue("note", data))
	o.hasData("map", map[string]string{"a": "{{ .metadata.name }}"})
	b.Expect(o.shown()).To(HaveKeyWithValue("phase", data))
}

func TestTemplatesRefuseUnknownNamesEachWithItsPlaceAndTheNearestValidOne(t *testing.T) {
	b := try(t, `
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
	at := `spec.onReconcile.configmaps[0].data.`
	b.Expect(b.mistakes()).To(ConsistOf(
		And(HavePrefix(at+"field: "), ContainSubstring(`did you mean "mode"?`)),
		And(HavePrefix(at+"function: "), ContainSubstring(`unknown function "uper", did you mean "upper"?`)),
		And(HavePrefix(at+"root: "), ContainSubstring(`did you mean "spec"?`)),
		And(HavePrefix(at+"clock: "), ContainSubstring(`function "now" depends on the clock`)),
		And(HavePrefix(at+"random: "), ContainSubstring(`function "randAlphaNum" gives another result each time`)),
		And(HavePrefix(at+"outside: "), ContainSubstring(`function "env" reads what is outside the resource`)),
		HavePrefix(at+"broken: "),
		And(HavePrefix(at+"below: "), ContainSubstring("which has no fields")),
	))
}

func TestTemplatesHaveLimitsWhoseExcessIsAnErrorThatNamesTheLimit(t *testing.T) {
	b := try(t, `{resync: 24h, onReconcile: {configmaps: [{data: {key: "{{ repeat .spec.max .spec.mode }}"}}]}}`)
	b.website("web", `{mode: xxxxxxxxxx, max: 10000000}`).stalled(v1alpha1.ReasonBudgetExceeded, "over the output limit of a template (1 MiB)")
	b.website("web", `{mode: x, max: 3}`).settled().hasData("web", map[string]string{"key": "xxx"})
}
