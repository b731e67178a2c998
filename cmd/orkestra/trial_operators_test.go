package main

import (
	"encoding/json"
	"maps"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	shared "github.com/orkspace/orkestra/test/fixtures"
)

// operatorRow is one comparison, in both spellings, and resources for which it holds and fails.
type operatorRow struct {
	operator, short string
	test            string // field, and valueType where it matters
	value           string // "" for none
	holds, fails    string
	absent          bool // the answer where the field is absent
}

// operatorRows has every operator, and the types that they compare.
var operatorRows = map[string]operatorRow{
	"equals":        {"equals", "equals", `{field: spec.replicas}`, `3`, `{replicas: 3}`, `{replicas: 4}`, false},
	"equals-text":   {"equals", "equals", `{field: spec.replicas}`, `"3"`, `{replicas: 3}`, `{replicas: 4}`, false},
	"equals-type":   {"equals", "equals", `{field: spec.mode, valueType: int}`, `3`, `{mode: "3.0"}`, `{mode: "4"}`, false},
	"equals-value":  {"equals", "equals", `{field: spec.host}`, `"{{ .spec.mode }}"`, `{host: a, mode: a}`, `{host: a, mode: b}`, false},
	"equals-list":   {"equals", "equals", `{field: spec.tags}`, `[a, b]`, `{tags: [a, b]}`, `{tags: [b, a]}`, false},
	"notequals":     {"notEquals", "notEquals", `{field: spec.host}`, `a`, `{host: b}`, `{host: a}`, true},
	"gt":            {"gt", "greaterThan", `{field: spec.replicas}`, `2`, `{replicas: 3}`, `{replicas: 2}`, false},
	"gt-quantity":   {"gt", "greaterThan", `{field: spec.memory}`, `1Gi`, `{memory: 1025Mi}`, `{memory: 1024Mi}`, false},
	"gt-numbers":    {"gt", "greaterThan", `{field: spec.mode}`, `9`, `{mode: "10"}`, `{mode: "9"}`, false},
	"gt-template":   {"gt", "greaterThan", `{field: "{{ len .spec.tags }}"}`, `1`, `{tags: [a, b]}`, `{tags: [a]}`, false},
	"gte":           {"gte", "greaterThanOrEqual", `{field: spec.replicas}`, `3`, `{replicas: 3}`, `{replicas: 2}`, false},
	"gte-days":      {"gte", "greaterThanOrEqual", `{field: spec.mode}`, `1d`, `{mode: 24h}`, `{mode: 23h59m}`, false},
	"gte-time":      {"gte", "greaterThanOrEqual", `{field: spec.expires}`, `"2026-01-01T00:00:00Z"`, `{expires: "2026-01-01T01:00:00+01:00"}`, `{expires: "2026-01-01T00:59:59+01:00"}`, false},
	"lt":            {"lt", "lessThan", `{field: spec.replicas}`, `3`, `{replicas: 2}`, `{replicas: 3}`, false},
	"lt-duration":   {"lt", "lessThan", `{field: spec.mode}`, `5m`, `{mode: 299s}`, `{mode: 0.1h}`, false},
	"lte":           {"lte", "lessThanOrEqual", `{field: spec.replicas}`, `3`, `{replicas: 3}`, `{replicas: 4}`, false},
	"lte-quantity":  {"lte", "lessThanOrEqual", `{field: spec.memory}`, `1k`, `{memory: 1000}`, `{memory: 1001}`, false},
	"between":       {"between", "between", `{field: spec.replicas}`, `"2,4"`, `{replicas: 4}`, `{replicas: 5}`, false},
	"between-sizes": {"between", "between", `{field: spec.memory}`, `[512Mi, 1Gi]`, `{memory: 0.5Gi}`, `{memory: 511Mi}`, false},
	"notbetween":    {"notBetween", "notBetween", `{field: spec.replicas}`, `"2,4"`, `{replicas: 1}`, `{replicas: 2}`, false},
	"in":            {"in", "in", `{field: spec.host}`, `[a, b]`, `{host: b}`, `{host: c}`, false},
	"in-numbers":    {"in", "in", `{field: spec.replicas}`, `"1, 3"`, `{replicas: 3}`, `{replicas: 2}`, false},
	"notin":         {"notIn", "notIn", `{field: spec.host}`, `"a, b"`, `{host: c}`, `{host: b}`, true},
	"contains":      {"contains", "contains", `{field: spec.tags}`, `a`, `{tags: [b, a]}`, `{tags: [ab]}`, false},
	"contains-text": {"contains", "contains", `{field: spec.image}`, `registry/`, `{image: my.registry/a}`, `{image: registry}`, false},
	"notcontains":   {"notContains", "notContains", `{field: spec.tags}`, `a`, `{tags: [b]}`, `{tags: [a]}`, true},
	"prefix":        {"prefix", "prefix", `{field: spec.image}`, `"nginx:"`, `{image: "nginx:1"}`, `{image: nginx}`, false},
	"suffix":        {"suffix", "suffix", `{field: spec.image}`, `":1"`, `{image: "nginx:1"}`, `{image: "nginx:12"}`, false},
	"regex":         {"regex", "regex", `{field: spec.image}`, `'^nginx:\d+$'`, `{image: "nginx:12"}`, `{image: "nginx:1.2"}`, false},
	"exists":        {"exists", "exists", `{field: spec.host}`, `true`, `{host: a}`, `{host: ""}`, false},
	"exists-list":   {"exists", "exists", `{field: spec.tags}`, ``, `{tags: [a]}`, `{tags: []}`, false},
	"exists-zero":   {"exists", "exists", `{field: spec.replicas}`, `true`, `{replicas: 0}`, `{}`, false},
	"notexists":     {"notExists", "notExists", `{field: spec.settings}`, `true`, `{settings: {}}`, `{settings: {a: b}}`, true},
	"typeof":        {"typeOf", "typeOf", `{field: spec.memory}`, `string`, `{memory: 1Gi}`, `{memory: 1}`, false},
	"olderthan":     {"olderThan", "olderThan", `{field: spec.expires}`, `7d`, `{expires: "2000-01-01T00:00:00Z"}`, `{expires: "2999-01-01T00:00:00Z"}`, false},
	"youngerthan":   {"youngerThan", "youngerThan", `{field: spec.expires}`, `12h`, `{expires: "2999-01-01T00:00:00Z"}`, `{expires: "2000-01-01T00:00:00Z"}`, false},
}

// conditions gives the row's condition in the long spelling, in the short one, and turned round.
func (r operatorRow) conditions(t *testing.T) map[string]map[string]any {
	t.Helper()
	g := NewWithT(t)
	out := map[string]map[string]any{}
	for _, spelling := range []string{"long", "short", "negated"} {
		c := map[string]any{}
		g.Expect(yaml.Unmarshal([]byte(r.test), &c)).To(Succeed())
		var value any
		g.Expect(yaml.Unmarshal([]byte(r.value), &value)).To(Succeed())
		if spelling == "short" {
			c[r.short] = value
			if value == nil {
				c[r.short] = true
			}
		} else {
			c["operator"] = r.operator
			if value != nil {
				c["value"] = value
			}
		}
		if spelling == "negated" {
			c["negate"] = c["negate"] != true
		}
		out[spelling] = c
	}
	return out
}

// operatorBox is a box that, for a resource whose name begins with a row's name and a dot, notes in spec.notes which spellings
// hold as gates, and denies it where they fail as rules. No row looks at the notes.
func operatorBox(t *testing.T) string {
	t.Helper()
	var mutation, validation []any
	for name, row := range operatorRows {
		mine := map[string]any{"field": "metadata.name", "prefix": name + "."}
		for spelling, c := range row.conditions(t) {
			mutation = append(mutation, map[string]any{"field": "spec.notes." + spelling, "override": "open", "when": []any{mine, c}})
			if spelling == "negated" {
				continue
			}
			rule := map[string]any{"message": "broken in the " + spelling + " spelling", "when": []any{mine}}
			maps.Copy(rule, c)
			validation = append(validation, rule)
		}
	}
	raw, err := json.Marshal(map[string]any{
		"resync":     "24h",
		"mutation":   map[string]any{"rules": mutation},
		"validation": map[string]any{"rules": validation},
		"status":     map[string]any{"fields": []any{map[string]any{"path": "notes", "value": "{{ .spec.notes }}"}}},
	})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(raw)
}

func TestOperatorsCannotCompareWhatHasNoOrder(t *testing.T) {
	b := try(t, `{resync: 24h, validation: {rules: [{field: spec.mode, greaterThan: 5m}]}}`)
	b.website("web", `{mode: fast}`).stalled(v1alpha1.ReasonConditionError, `comparing "spec.mode" by gt: the field is a string, the value`)
	b.website("web", `{mode: 6m}`).settled()
}

func TestOperatorsAnswerTheSameInBothSpellingsAsGatesAndAsRules(t *testing.T) {
	operators := map[string]bool{}
	resources := map[string]string{}
	for name, row := range operatorRows {
		operators[row.operator] = true
		resources[name+".holds"], resources[name+".fails"], resources[name+".absent"] = row.holds, row.fails, `{}`
	}
	text := `{type: object, additionalProperties: {type: string}}`
	b := try(t, operatorBox(t), shared.With("spec", "notes", text), shared.With("status", "notes", text))
	b.Expect(operators).To(HaveLen(20), "operators of the vocabulary")
	found := b.websites(resources)
	both, neither := map[string]any{"long": "open", "short": "open"}, map[string]any{"negated": "open"}
	for name, row := range operatorRows {
		absent := neither
		if row.absent {
			absent = both
		}
		for resource, want := range map[string]struct {
			notes map[string]any
			ready bool
		}{
			name + ".holds":  {both, true},
			name + ".fails":  {neither, false},
			name + ".absent": {absent, row.operator != "exists"},
		} {
			b.Expect(found[resource].shown()).To(HaveKeyWithValue("notes", want.notes), resource)
			ready := found[resource].condition(v1alpha1.ConditionReady)
			if want.ready {
				b.Expect(ready.Status).To(Equal(metav1.ConditionTrue), "%s: %s", resource, ready.Message)
				continue
			}
			b.Expect(ready.Message).To(And(ContainSubstring("broken in the long spelling"), ContainSubstring("broken in the short spelling")), resource)
		}
	}
}
