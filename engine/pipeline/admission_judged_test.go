package pipeline

import (
	"testing"
	"time"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/engine/admission"
)

// TestWhatPoliciesJudge: creations, and updates that change the spec, of what the box selects. Who lets go of a resource is not held up.
func TestWhatPoliciesJudge(t *testing.T) {
	plan := planOf(t, `
admission: {validation: true, matchConditions: [{name: people, expression: "object.metadata.name != 'robot'"}]}
namespaces: {include: ["team-*"], exclude: [team-x]}
selector: {matchLabels: {tier: prod}, matchExpressions: [{key: old, operator: DoesNotExist}]}
validation: {rules: [{field: spec.replicas, operator: lte, value: 3}]}
`)
	v := validatorOf(t, admission.Compile(plan.Admission, true).Policies().Deny)
	bad := func(change func(*unstructured.Unstructured)) *unstructured.Unstructured {
		obj := website(t, "replicas: 5")
		obj.SetLabels(map[string]string{"tier": "prod"})
		if change != nil {
			change(obj)
		}
		return obj
	}
	for name, tc := range map[string]struct {
		obj, old *unstructured.Unstructured
		judged   bool
	}{
		"a creation":                      {bad(nil), nil, true},
		"an update of the spec":           {bad(nil), website(t, "replicas: 6"), true},
		"a spec that comes":               {bad(nil), website(t, ""), true},
		"an update that leaves the spec":  {bad(nil), website(t, "replicas: 5"), false},
		"one that is being deleted":       {bad(func(o *unstructured.Unstructured) { o.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)}) }), website(t, "replicas: 6"), false},
		"a namespace that is left out":    {bad(func(o *unstructured.Unstructured) { o.SetNamespace("team-x") }), nil, false},
		"a namespace of others":           {bad(func(o *unstructured.Unstructured) { o.SetNamespace("other") }), nil, false},
		"without labels":                  {bad(func(o *unstructured.Unstructured) { o.SetLabels(nil) }), nil, false},
		"a label that is not selected":    {bad(func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"tier": "prod", "old": ""}) }), nil, false},
		"what a condition of people bars": {bad(func(o *unstructured.Unstructured) { o.SetName("robot") }), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			messages, errs := judged(t, v, tc.obj, tc.old)
			g.Expect(errs).To(gomega.BeEmpty())
			if tc.judged {
				g.Expect(messages).NotTo(gomega.BeEmpty())
			} else {
				g.Expect(messages).To(gomega.BeEmpty())
			}
		})
	}
}

// TestRulesThatMustBeEnforced: what the API server can't say is a mistake there.
func TestRulesThatMustBeEnforced(t *testing.T) {
	for spec, wanted := range map[string]string{
		`{validation: {rules: [{field: spec.host, equals: a, admission: Required}]}}`:                                                              "needs spec.admission.validation: true",
		`{admission: {mutation: true}, validation: {rules: [{field: spec.host, equals: a, admission: Required}]}}`:                                 "spec.admission.validation is not set",
		`{admission: {validation: true}, validation: {rules: [{field: spec.host, equals: "{{ .metadata.name }}", admission: Required}]}}`:          "the value is a template",
		`{admission: {validation: true}, validation: {rules: [{field: status.phase, equals: a, admission: Required}]}}`:                            "status.phase is not known to the API server when it judges",
		`{admission: {validation: true}, validation: {rules: [{cel: "self.spec.tls", admission: Required}]}}`:                                      "it is a CEL expression, and values have other types in a policy",
		`{admission: {validation: true}, normalize: {spec: {host: b}}, validation: {rules: [{field: spec.host, equals: a, admission: Required}]}}`: "normalize computes spec.host",
		`{admission: {mutation: true}, mutation: {rules: [{field: spec.host, override: a, admission: Required}]}}`:                                 "overrides never change what is stored",
		`{admission: {}}`: "set validation, mutation or both",
		`{admission: {validation: true, matchConditions: [{name: orkestra-x, expression: "true"}]}}`: "are Orkestra's own",
	} {
		g := gomega.NewWithT(t)
		_, errs := Compile(boxOf(t, spec), Env{CRD: websites(t)})
		g.Expect(errs).To(gomega.HaveLen(1), spec)
		g.Expect(errs.ToAggregate()).To(gomega.MatchError(gomega.ContainSubstring(wanted)), spec)
	}
}
