package operatorbox

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/words"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/status"
)

// conditions are all conditions of a box. Ready is their summary.
func (s *scope) conditions(box *v1alpha1.OperatorBox, report health.Report, runs bool) []metav1.Condition {
	out := []metav1.Condition{
		s.crdCondition(), s.compiledCondition(box, runs && report.Revision != ""), s.permissionsCondition(),
	}
	if s.plan != nil {
		out = append(out, statusWritable(s.plan))
	}
	if s.enforced != nil {
		out = append(out, s.enforced.Condition)
	}
	return append(out, s.summary(report, runs)...)
}

func (s *scope) crdCondition() metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionCRDEstablished, Status: metav1.ConditionFalse, Reason: s.crdReason, Message: s.crdMessage}
	if s.crdReason == v1alpha1.ReasonEstablished {
		c.Status = metav1.ConditionTrue
	}
	if c.Reason == "" {
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, v1alpha1.ReasonStopped, "not looked at"
	}
	return c
}

// unchecked says why a spec is not compiled, by the reason for which the box does not run.
var unchecked = map[string]string{
	v1alpha1.ReasonCRDClaimed:          "the spec is not checked while another box runs the CRD",
	v1alpha1.ReasonCRDRefused:          "the spec is not checked while crd.definition is refused",
	v1alpha1.ReasonCRDNotOwned:         "the spec is not checked while the CRD is not the box's own",
	v1alpha1.ReasonCRDVersionNotServed: "the spec is checked when the version that the box asks for is served",
	v1alpha1.ReasonDeletionBlocked:     "the spec is no longer checked: the box is being deleted",
	v1alpha1.ReasonDraining:            "the spec is not checked while the manager is being drained",
	v1alpha1.ReasonDrained:             "the spec is not checked while the manager is drained",
	v1alpha1.ReasonStuck:               "the spec is checked when what ran before has stopped",
}

func (s *scope) compiledCondition(box *v1alpha1.OperatorBox, runs bool) metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionCompiled}
	switch {
	case len(s.errors) > 0:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, reasonOf(s.errors), words.Mistakes(s.errors)
	case s.plan != nil:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, v1alpha1.ReasonCompiled, strings.Join(append([]string{specIsValid}, s.plan.Notes...), noteSeparator)
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, cmp.Or(s.reason, v1alpha1.ReasonStopped), cmp.Or(unchecked[s.reason], "the spec is checked against the CRD's schema when the CRD is there")
	}
	if runs && box.Status.Revision != "" && (s.plan == nil || s.plan.Revision != box.Status.Revision) {
		c.Message += noteSeparator + fmt.Sprintf("revision %s goes on", box.Status.Revision)
	}
	if len(s.notes) > 0 {
		c.Message += noteSeparator + strings.Join(slices.Compact(s.notes), noteSeparator)
	}
	return c
}

func (s *scope) permissionsCondition() metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionPermissionsGranted}
	switch {
	case s.account.problem.Reason != "":
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, s.account.problem.Reason, s.account.problem.Message
	case len(s.missing) > 0:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1alpha1.ReasonForbidden, access.Sentence(s.missing...)
	case len(s.withheld.Rights) > 0:
		c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonForbidden
		c.Message = s.grant() + "; what reads it waits, and stays as it is"
	case s.plan != nil:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, v1alpha1.ReasonGranted, "no right is missing"
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, cmp.Or(s.reason, v1alpha1.ReasonStopped), "rights are checked when the spec compiles"
	}
	return c
}

// secrets is what the API server calls them in rights.
const secrets = "secrets"

// grant says which rights are withheld, and how they are granted. What a Go hook reads of Secrets is in no rule of the box, so that nothing prints it.
func (s *scope) grant() string {
	code := s.box.Spec.Reconciler
	if code == nil || code.Hooks == nil || code.Hooks.Webhook != nil || !slices.ContainsFunc(s.withheld.Rights, func(r access.Right) bool { return r.Resource == secrets }) {
		return access.Sentence(s.withheld)
	}
	return access.Lacks(s.withheld) + "; which Secrets its hook reads is in no rule of the box: grant it to the account yourself, best by resourceNames"
}

func statusWritable(plan *pipeline.Plan) metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionStatusWritable, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonWritable, Message: "results are written to the resources' status"}
	switch unwritten := plan.Status.Unwritten(plan.CRD.Name, plan.CRD.Kind.Version); {
	case plan.Constructor != nil:
		c.Message = "the status of the resources is that of the constructor's reconciler"
	case plan.CRD.OfOthers:
		c.Message = "the status of objects of others gets the fields that spec.status.fields declares, and nothing else"
	case unwritten != nil:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, unwritten.Reason, unwritten.Message
	}
	return c
}

// couldGoOn are the reasons for which a box can't run its spec, and goes on with what it ran before where that is kept. Its status
// keeps the name of that revision meanwhile: nothing else says after a restart which one it was.
var couldGoOn = map[string]bool{
	v1alpha1.ReasonCompileFailed: true, v1alpha1.ReasonForbidden: true, v1alpha1.ReasonCRDVersionNotServed: true,
	v1alpha1.ReasonUnknownFunction: true, v1alpha1.ReasonStuck: true,
}

// summary is Ready, Reconciling and Stalled, by kstatus.
func (s *scope) summary(report health.Report, runs bool) []metav1.Condition {
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonRunning, Message: "the sub-controller runs"}
	reconciling := status.Settled()
	stalled := status.NotStalled()
	switch {
	case s.reason != "":
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, s.reason, s.message
		if health.Stalls(s.reason) {
			stalled = status.StalledBy(s.reason, s.message)
		} else if s.reason != v1alpha1.ReasonSuspended && s.reason != v1alpha1.ReasonDrained {
			reconciling = status.Progressing(s.reason, s.message)
		}
	case !runs || report.Phase != health.Running:
		reason, message := cmp.Or(report.Reason, v1alpha1.ReasonStarting), cmp.Or(report.Message, health.Filling)
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, reason, message
		reconciling = status.Progressing(reason, message)
	case report.Stuck != "":
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, v1alpha1.ReasonStuck, report.Stuck
		stalled = status.StalledBy(v1alpha1.ReasonStuck, report.Stuck)
	case report.Message != "":
		ready.Message += "; " + report.Message
	case report.Awaits != "":
		ready.Message += "; new resources wait: " + report.Awaits
	}
	if report.Leaving != "" && reconciling.Status == metav1.ConditionFalse && stalled.Status == metav1.ConditionFalse {
		reconciling = status.Progressing(v1alpha1.ReasonNotSelected, report.Leaving)
	}
	return []metav1.Condition{ready, reconciling, stalled}
}
