package operatorbox

import (
	"cmp"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/words"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/hook"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

func TestSummary(t *testing.T) {
	type states struct{ ready, reconciling, stalled metav1.ConditionStatus }
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	running, leaving := health.Report{Phase: health.Running}, health.Report{Phase: health.Running, Leaving: "1 that left the selection"}
	cases := map[string]struct {
		scope  scope
		report health.Report
		runs   bool
		want   states
		reason string
		under  string // the reason of Reconciling, where something else is under way than Ready says
	}{
		"runs":                      {report: running, runs: true, want: states{yes, no, no}, reason: v1alpha1.ReasonRunning},
		"no sub-controller yet":     {want: states{no, yes, no}, reason: v1alpha1.ReasonStarting},
		"caches are filling":        {report: health.Report{Phase: health.Starting, Message: "m"}, runs: true, want: states{no, yes, no}, reason: v1alpha1.ReasonStarting},
		"suspended":                 {scope: scope{reason: v1alpha1.ReasonSuspended}, want: states{no, no, no}, reason: v1alpha1.ReasonSuspended},
		"the CRD is missing":        {scope: scope{reason: v1alpha1.ReasonCRDMissing}, want: states{no, yes, no}, reason: v1alpha1.ReasonCRDMissing},
		"mistakes while it goes on": {scope: scope{reason: v1alpha1.ReasonCompileFailed}, report: running, runs: true, want: states{no, no, yes}, reason: v1alpha1.ReasonCompileFailed},
		"the CRD is claimed":        {scope: scope{reason: v1alpha1.ReasonCRDClaimed}, want: states{no, no, yes}, reason: v1alpha1.ReasonCRDClaimed},
		"a right is missing":        {scope: scope{reason: v1alpha1.ReasonForbidden}, report: running, runs: true, want: states{no, no, yes}, reason: v1alpha1.ReasonForbidden},
		"nothing is reconciled":     {report: health.Report{Phase: health.Running, Stuck: "m"}, runs: true, want: states{no, no, yes}, reason: v1alpha1.ReasonStuck},

		"objects left the selection":              {report: leaving, runs: true, want: states{yes, yes, no}, reason: v1alpha1.ReasonRunning, under: v1alpha1.ReasonNotSelected},
		"objects left, and it is suspended":       {scope: scope{reason: v1alpha1.ReasonSuspended}, report: leaving, runs: true, want: states{no, yes, no}, reason: v1alpha1.ReasonSuspended, under: v1alpha1.ReasonNotSelected},
		"objects left, and the CRD is missing":    {scope: scope{reason: v1alpha1.ReasonCRDMissing}, report: leaving, runs: true, want: states{no, yes, no}, reason: v1alpha1.ReasonCRDMissing},
		"objects left, and there are mistakes":    {scope: scope{reason: v1alpha1.ReasonCompileFailed}, report: leaving, runs: true, want: states{no, no, yes}, reason: v1alpha1.ReasonCompileFailed},
		"objects left, and nothing is reconciled": {report: health.Report{Phase: health.Running, Stuck: "m", Leaving: "l"}, runs: true, want: states{no, no, yes}, reason: v1alpha1.ReasonStuck},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got := tc.scope.summary(tc.report, tc.runs)
			g.Expect(got).To(HaveLen(3))
			g.Expect([]string{got[0].Type, got[1].Type, got[2].Type}).To(Equal([]string{"Ready", "Reconciling", "Stalled"}))
			g.Expect(states{got[0].Status, got[1].Status, got[2].Status}).To(Equal(tc.want))
			g.Expect(got[0].Reason).To(Equal(tc.reason))
			if tc.want.reconciling == yes {
				g.Expect(got[1].Reason).To(Equal(cmp.Or(tc.under, tc.reason)))
			}
			if tc.under == v1alpha1.ReasonNotSelected {
				g.Expect(got[1].Message).To(Equal(leaving.Leaving))
			}
		})
	}
}

func TestConditions(t *testing.T) {
	box := &v1alpha1.OperatorBox{}
	box.Status.Revision = "website-1"
	mistake := field.ErrorList{field.Required(field.NewPath("spec", "a"), "say it")}
	unknownFunction := &field.Error{Type: field.ErrorTypeNotFound, Field: "spec.reconciler.hooks.function", BadValue: "a.F", Detail: hook.NotCompiledIn}
	lost := access.Missing{Rights: []access.Right{{Verb: "get", Resource: "pods"}}}
	cases := map[string]struct {
		got    metav1.Condition
		status metav1.ConditionStatus
		reason string
		text   string
	}{
		"CRD: not looked at":                   {(&scope{}).crdCondition(), metav1.ConditionUnknown, v1alpha1.ReasonStopped, "not looked at"},
		"CRD: missing":                         {(&scope{located: located{crdReason: "CRDMissing", crdMessage: "m"}}).crdCondition(), metav1.ConditionFalse, "CRDMissing", "m"},
		"CRD: there":                           {(&scope{located: located{crd: &pipeline.CRD{}, crdReason: "Established"}}).crdCondition(), metav1.ConditionTrue, "Established", ""},
		"compiled: no CRD":                     {(&scope{reason: "CRDMissing"}).compiledCondition(box, false), metav1.ConditionUnknown, "CRDMissing", "the spec is checked against the CRD's schema when the CRD is there"},
		"compiled: yes":                        {(&scope{plan: &pipeline.Plan{Plan: stage.Plan{Revision: "website-1"}}}).compiledCondition(box, true), metav1.ConditionTrue, v1alpha1.ReasonCompiled, "the spec is valid"},
		"compiled: with notes":                 {(&scope{plan: &pipeline.Plan{Plan: stage.Plan{Revision: "website-1"}, Notes: []string{"n"}}, notes: []string{"m"}}).compiledCondition(box, true), metav1.ConditionTrue, v1alpha1.ReasonCompiled, "the spec is valid; n; m"},
		"compiled: may not run":                {(&scope{plan: &pipeline.Plan{Plan: stage.Plan{Revision: "website-2"}}}).compiledCondition(box, true), metav1.ConditionTrue, v1alpha1.ReasonCompiled, "the spec is valid; revision website-1 goes on"},
		"compiled: refused":                    {(&scope{errors: mistake, notes: []string{"why"}}).compiledCondition(box, false), metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "spec.a: Required value: say it; why"},
		"compiled: no":                         {(&scope{errors: mistake}).compiledCondition(box, false), metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "spec.a: Required value: say it"},
		"compiled: no function":                {(&scope{errors: field.ErrorList{unknownFunction}}).compiledCondition(box, false), metav1.ConditionFalse, v1alpha1.ReasonUnknownFunction, unknownFunction.Error()},
		"compiled: no function, and a mistake": {(&scope{errors: append(field.ErrorList{unknownFunction}, mistake...)}).compiledCondition(box, false), metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, words.Mistakes(append(field.ErrorList{unknownFunction}, mistake...))},
		"compiled: no, it runs":                {(&scope{errors: mistake}).compiledCondition(box, true), metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "spec.a: Required value: say it; revision website-1 goes on"},
		"rights: all":                          {(&scope{plan: &pipeline.Plan{}}).permissionsCondition(), metav1.ConditionTrue, v1alpha1.ReasonGranted, "no right is missing"},
		"rights: not asked":                    {(&scope{}).permissionsCondition(), metav1.ConditionUnknown, v1alpha1.ReasonStopped, "rights are checked when the spec compiles"},
		"rights: missing":                      {(&scope{plan: &pipeline.Plan{}, missing: []access.Missing{lost}}).permissionsCondition(), metav1.ConditionFalse, v1alpha1.ReasonForbidden, access.Sentence(lost)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(tc.got.Status).To(Equal(tc.status))
			g.Expect(tc.got.Reason).To(Equal(tc.reason))
			g.Expect(tc.got.Message).To(Equal(tc.text))
		})
	}
}

func TestNotedAdded(t *testing.T) {
	g := NewWithT(t)
	box := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
	note := addedOnCreate + "configmaps/a) do not run for resources that are Active already"
	box.Status.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionCompiled, Reason: v1alpha1.ReasonCompiled, ObservedGeneration: 2, Message: specIsValid + noteSeparator + note,
	}}
	g.Expect(addedInStatus(box)).To(Equal([]string{note}))
	box.Generation = 3
	g.Expect(addedInStatus(box)).To(BeEmpty(), "the note is of another spec")
}
