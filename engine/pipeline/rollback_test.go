package pipeline

import (
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/pipeline/declare"
)

func TestRollbackCompiles(t *testing.T) {
	for name, tc := range map[string]struct {
		box  string
		want *Rollback
	}{
		"none":             {`{}`, nil},
		"on error":         {`{rollBackOnError: true, failureThreshold: 7}`, &Rollback{OnError: true, Failures: 7}},
		"default trigger":  {`{rollback: {}}`, &Rollback{OnDegrade: true}},
		"empty trigger":    {`{rollback: {trigger: {}}, failureThreshold: 7}`, &Rollback{Failures: 7}},
		"trigger":          {`{rollback: {trigger: {consecutiveFailures: 2, within: 10m}}}`, &Rollback{Failures: 2, Within: 10 * time.Minute}},
		"groups":           {`{rollback: {onRollback: {configmaps: [{name: a}]}}}`, &Rollback{OnDegrade: true, OwnGroups: true}},
		"groups of nobody": {`{rollback: {onRollback: {configmaps: []}}}`, &Rollback{OnDegrade: true}},
	} {
		t.Run(name, func(t *testing.T) {
			p := planOf(t, tc.box)
			g := gomega.NewWithT(t)
			g.Expect(p.Rollback).To(gomega.Equal(tc.want))
			var snapshots []string
			for _, rule := range p.Required() {
				if rule.Resources[0] == "controllerrevisions" {
					snapshots = rule.Verbs
				}
			}
			if tc.want != nil {
				g.Expect(snapshots).To(gomega.ConsistOf("list", "watch"))
			} else {
				g.Expect(snapshots).To(gomega.BeNil())
			}
		})
	}
}

func TestRollbackMistakes(t *testing.T) {
	for name, tc := range map[string]struct{ box, want string }{
		"both forms": {
			`{rollBackOnError: true, rollback: {}}`, "spec.rollBackOnError: Forbidden: rollBackOnError and rollback are two ways back"},
		"no time": {
			`{rollback: {trigger: {within: 0s}}}`, `spec.rollback.trigger.within: Invalid value: "0s": wanted a duration above zero, such as 10m`},
		"no failures": {
			`{rollback: {trigger: {consecutiveFailures: 0}}}`, `spec.rollback.trigger.consecutiveFailures: Invalid value: 0: wanted a number of failures, 1 or more`},
		"unknown path of the snapshot": {
			`{rollback: {onRollback: {configmaps: [{name: a, data: {a: "{{ .previous.spec.imag }}"}}]}}}`,
			`spec.rollback.onRollback.configmaps[0].data.a: Invalid value: "{{ .previous.spec.imag }}": column 4: previous.spec.imag: no such field in the CRD's schema, did you mean "image"?`},
		"unknown part of the snapshot": {
			`{rollback: {onRollback: {configmaps: [{name: a, data: {a: "{{ .previous.sepc.image }}"}}]}}}`, `did you mean "spec"?`},
		"the snapshot elsewhere": {
			`{onReconcile: {configmaps: [{name: a, data: {a: "{{ .previous.spec.image }}"}}]}}`, ".previous: there is one only inside onRollback"},
		"two of one id": {
			`{rollback: {onRollback: {configmaps: [{name: a}, {name: a}]}}}`, "spec.rollback.onRollback.configmaps[1]: Duplicate value"},
		"what was read for the spec that failed": {
			`{external: [{name: quota, url: "https://example.com"}], rollback: {onRollback: {configmaps: [{name: a, data: {a: "{{ .external.quota.body }}"}}]}}}`,
			"external is not available here"},
		"unknown short field": {
			`{rollback: {onRollback: {configmaps: [{name: a, dta: {}}]}}}`, `did you mean "data"?`},
		"no workload for a default": {
			`{rollback: {onRollback: {services: [{name: a}]}}}`, "this box declares no workload"},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := Compile(boxOf(t, tc.box), Env{CRD: websites(t)})
			gomega.NewWithT(t).Expect(messages(errs)).To(gomega.ContainElement(gomega.ContainSubstring(tc.want)))
		})
	}
}

func TestIDsMayBeThoseOfOtherGroups(t *testing.T) {
	g := gomega.NewWithT(t)
	p := planOf(t, `
onReconcile: {configmaps: [{name: a}]}
rollback: {onRollback: {configmaps: [{name: a, data: {a: "{{ .children.own.data.a }}"}}, {id: own, name: b}]}}
`)
	g.Expect(p.declared.Named("configmaps/a").Phase).To(gomega.Equal(declare.OnReconcile))
	g.Expect(p.declared.Of("own")).To(gomega.BeNil(), "no cycle but a rollback stands for it")
	g.Expect(p.declared.Named("own").Phase).To(gomega.Equal(declare.OnRollback))
	g.Expect(p.declared.Named("own").OwnerReference).To(gomega.BeTrue())
	g.Expect(p.declared.Named("own").Once).To(gomega.BeFalse())
}
