package main

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

func TestCELNamesTheValuesOfABrokenRuleAndWhatIsAbsent(t *testing.T) {
	b := try(t, `
validation:
  rules:
  - {cel: "self.spec.min <= self.spec.max", message: "min must not exceed max"}
  - {cel: "!has(self.spec.tags) || self.spec.tags.all(t, t.matches('^[a-z]+$'))"}
  - {cel: "!has(self.spec.memory) || quantity(string(self.spec.memory)).compareTo(quantity('2Gi')) <= 0"}
  - {cel: "!has(self.spec.expires) || self.spec.expires > timestamp('2026-01-01T00:00:00Z')", action: warn}
onReconcile:
  configmaps: [{name: "{{ .metadata.name }}", data: {mode: a}}]
`)
	bad := b.website("web", `{min: 5, max: 3, tags: [a, B], memory: 4Gi, expires: "2027-01-01T00:00:00Z"}`)
	bad.stalled(v1alpha1.ReasonValidationFailed, `validation: min must not exceed max (self.spec.min is 5, self.spec.max is 3); cel "!has(self.spec.tags)`)
	bad.childless()
	b.website("web", `{min: 1, max: 3, tags: [a, B]}`).stalled(v1alpha1.ReasonValidationFailed,
		`validation: cel "!has(self.spec.tags) || self.spec.tags.all(t, t.matches('^[a-z]+$'))": self.spec.tags is [a, B]`)
	b.website("web", `{min: 1, tags: [a]}`).stalled(v1alpha1.ReasonConditionError,
		`spec.max: no such field in this resource; where it may be absent, use has(self.spec.max)`)
	b.website("web", `{min: 1, max: 3, tags: [a], memory: 2Gi}`).settled().hasData("web", map[string]string{"mode": "a"})
}

func TestCELIsCheckedWhenTheBoxIsApplied(t *testing.T) {
	for name, tc := range map[string]struct{ spec, message string }{
		"a field that the CRD does not have": {`{validation: {rules: [{cel: "self.spec.replcas < 3"}]}}`,
			`spec.replcas: no such field in the CRD's schema, did you mean "replicas"?`},
		"a field that a Deployment does not have": {`{onReconcile: {deployments: [{image: a}], services: [{port: 80, when: [{cel: "children.deployment.status.readyReplica > 0"}]}]}}`,
			`children.deployment.status.readyReplica: there is no such field, did you mean "readyReplicas"?`},
		"types that do not go together": {`{when: [{cel: "self.spec.replicas == 'many'"}]}`, `found no matching overload for '_==_' applied to '(int, string)'`},
		"no bool":                       {`{when: [{cel: "self.spec.replicas"}]}`, `yields int, where true or false is wanted`},
		"the clock":                     {`{when: [{cel: "now() > timestamp('2026-01-01T00:00:00Z')"}]}`, `now: no such variable or function`},
		"too much to compute": {`{when: [{cel: "lists.range(1000000).size() > self.spec.replicas"}]}`,
			`over the cost limit of a CEL expression (1000000 units)`},
	} {
		t.Run(name, func(t *testing.T) { try(t, tc.spec).refused(tc.message) })
	}
}

func TestValidationLetsAnAbsentFieldPassUnlessTheRuleAsksWhetherItIsThere(t *testing.T) {
	b := try(t, `
validation:
  rules:
  - {field: spec.replicas, greaterThan: 1}
  - {field: spec.mode, regex: "^[a-z]+$"}
  - {field: spec.tags, contains: a}
  - {field: spec.settings.size, equals: large}
  - {field: spec.image, notExists: true}
  - {field: spec.host, exists: true}
  - {field: spec.database, operator: exists}
`)
	b.Expect(b.website("web", `{settings: {}}`).condition(v1alpha1.ConditionReady).Message).To(Equal(
		"validation: spec.host: wanted a value, found absent; spec.database: wanted a value, found absent"))
	b.website("web", `{host: a, database: b}`).settled()
}

func TestValidationAppliesARuleOnlyWhereItsGateIsOpen(t *testing.T) {
	b := try(t, `
validation:
  rules:
  - {field: spec.host, exists: true, when: [{field: spec.tls, equals: true}], message: "TLS needs a host"}
  - {field: spec.min, lessThan: 3, anyOf: [{field: spec.mode, equals: a}, {field: spec.mode, equals: b}], message: "min is too large"}
`)
	b.website("open", `{mode: c, min: 5}`).settled()
	b.website("both", `{mode: b, min: 5, tls: true}`).stalled(v1alpha1.ReasonValidationFailed,
		"validation: spec.host: TLS needs a host (found absent); spec.min: min is too large (found 5)")
}
