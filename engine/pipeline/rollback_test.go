package pipeline

import (
	"testing"
	"time"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
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
			for _, rule := range p.Rules {
				if rule.Resources[0] == "controllerrevisions" {
					snapshots = rule.Verbs
				}
			}
			if tc.want != nil {
				g.Expect(snapshots).To(gomega.ConsistOf("get", "list", "watch", "create", "delete"))
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

func markOf(m *RolledBack) *unstructured.Unstructured {
	resource := &unstructured.Unstructured{Object: map[string]any{}}
	resource.SetGeneration(m.Generation)
	return resource
}

func TestMarkStandsUntilSomethingChanges(t *testing.T) {
	g := gomega.NewWithT(t)
	m := &RolledBack{Generation: 4, Revision: "a", ReconcileAt: "x", Snapshot: "s"}
	resource := markOf(m)
	resource.SetAnnotations(map[string]string{v1alpha1.AnnotationReconcileAt: "x"})
	g.Expect(m.Stands(&Plan{Plan: stage.Plan{Revision: "a"}}, resource)).To(gomega.BeTrue())
	g.Expect(m.Stands(&Plan{Plan: stage.Plan{Revision: "b"}}, resource)).To(gomega.BeFalse())
	resource.SetAnnotations(nil)
	g.Expect(m.Stands(&Plan{Plan: stage.Plan{Revision: "a"}}, resource)).To(gomega.BeFalse())
	resource.SetAnnotations(map[string]string{v1alpha1.AnnotationReconcileAt: "x"})
	resource.SetGeneration(5)
	g.Expect(m.Stands(&Plan{Plan: stage.Plan{Revision: "a"}}, resource)).To(gomega.BeFalse())
}

func TestRetriesBecomeRare(t *testing.T) {
	g := gomega.NewWithT(t)
	since := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	for name, tc := range map[string]struct {
		class  Class
		count  int
		resync time.Duration
		want   time.Duration
	}{
		"refused, first":                  {Refused, 1, time.Minute, time.Minute},
		"refused, second":                 {Refused, 2, time.Minute, 2 * time.Minute},
		"permanent, fourth":               {Permanent, 4, time.Minute, 8 * time.Minute},
		"refused, at most":                {Refused, 1000, time.Minute, maxRetryDelay},
		"refused, a longer resync":        {Refused, 1000, time.Hour, time.Hour},
		"transient, first":                {Transient, 1, 24 * time.Hour, 10 * time.Second},
		"transient, third":                {Transient, 3, 24 * time.Hour, 40 * time.Second},
		"transient, at most":              {Transient, 1000, 24 * time.Hour, maxRetryDelay},
		"transient, a shorter resync":     {Transient, 1, time.Second, time.Second},
		"permission, what may be granted": {Permission, 1, time.Hour, 10 * time.Second},
		"panic":                           {Panic, 2, time.Hour, 20 * time.Second},
	} {
		mark := &RolledBack{Since: since, Count: tc.count, Class: tc.class}
		g.Expect(mark.Retry(tc.resync).Sub(since.Time)).To(gomega.Equal(tc.want), name)
	}
	g.Expect((&RolledBack{Since: since, Held: true}).Retry(time.Minute)).To(gomega.BeZero())

	mark := &RolledBack{Since: since, Count: 1, Class: Refused}
	g.Expect(mark.MustRetry(time.Minute, since.Add(59*time.Second))).To(gomega.BeFalse())
	g.Expect(mark.MustRetry(time.Minute, since.Add(time.Minute))).To(gomega.BeTrue())
	g.Expect(mark.MustRetry(time.Minute, since.Add(-time.Hour))).To(gomega.BeTrue(), "the clock was set back")
	g.Expect((&RolledBack{Since: since, Held: true}).MustRetry(time.Minute, since.Add(-time.Hour))).To(gomega.BeFalse())
}

func TestBrokenMarksAreNone(t *testing.T) {
	for _, text := range []string{"", "{", "[]", `"x"`, "{}", `{"snapshot": "a"}`, `{"generation": "4", "snapshot": "a", "revision": "b"}`} {
		resource := &unstructured.Unstructured{Object: map[string]any{}}
		resource.SetAnnotations(map[string]string{v1alpha1.AnnotationRolledBack: text})
		gomega.NewWithT(t).Expect(BackOf(resource)).To(gomega.BeNil(), text)
		gomega.NewWithT(t).Expect(BackOf(resource).Why()).To(gomega.BeEmpty())
	}
}
