// Package view makes what the API answers of what stands in objects. It reads no cluster: what is not handed in is not known.
package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/web/api"
)

// Box is one line of the fleet. health is nil where nobody has said yet how the box fares.
func Box(box *v1alpha1.OperatorBox, health *v1alpha1.CRDHealth) api.Box {
	out := api.Box{
		Name: box.Name, CRD: crdOf(box), Kind: box.Status.CRD.Kind, Created: box.CreationTimestamp.Time,
		State: api.Unknown, Revision: box.Status.Revision, Suspended: box.Spec.Suspend,
	}
	out.Since = troubledSince(box.Status.Conditions)
	if health == nil {
		out.Reason, out.Message = inTrouble(box.Status.Conditions)
		return out
	}
	if out.Since == nil {
		out.Since = troubledSince(health.Status.Conditions)
	}
	s := &health.Status
	out.State = cmp.Or(api.State(s.State), api.Unknown)
	out.StartedAt = timeOf(s.StartedAt)
	out.Resources = api.Counts{Total: s.Resources.Total, Ready: s.Resources.Ready, Waiting: s.Resources.Waiting, Failing: s.Resources.Failing}
	out.ConsecutiveFailures, out.FailureThreshold = s.ConsecutiveFailures, s.FailureThreshold
	out.SuccessCount, out.FailureCount = s.SuccessCount, s.FailureCount
	out.LastReconcile, out.LastFailure = timeOf(s.LastReconcile), failureOf(s.LastFailure)
	out.Worst = worstOf(s.Failing)
	out.Workers, out.QueueDepth = s.Workers, s.QueueDepth
	out.Revision = cmp.Or(s.Revision, out.Revision)
	if out.Reason, out.Message = inTrouble(box.Status.Conditions); out.Reason == "" {
		out.Reason, out.Message = inTrouble(s.Conditions)
	}
	if out.State == api.Healthy && out.Reason == "" {
		out.Reason, out.Message = beside(box, s)
	}
	out.Alerts = alerts(out, s, box.Status.Conditions)
	return out
}

// crdOf is the name of the CRD: the one that is served, else the one that the spec asks for.
func crdOf(box *v1alpha1.OperatorBox) string { return cmp.Or(box.Status.CRD.Name, box.Spec.CRD.Name) }

// inTrouble gives why the condition Ready is not True, in one line; nothing where it is.
func inTrouble(conditions []metav1.Condition) (reason, message string) {
	ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Status == metav1.ConditionTrue {
		return "", ""
	}
	return ready.Reason, oneLine(ready.Message)
}

// troubledSince is since when the condition Ready is not True; nil where it is.
func troubledSince(conditions []metav1.Condition) *time.Time {
	ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Status == metav1.ConditionTrue {
		return nil
	}
	return timeOf(&ready.LastTransitionTime)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// beside says of a box that is Healthy what there is to know nevertheless, as its health does: a dependency that is not met, a spec that can't run, a
// right that is missing. That some resources fail is told by their number.
func beside(box *v1alpha1.OperatorBox, s *v1alpha1.CRDHealthStatus) (reason, message string) {
	if more := health.Beside(s); more != "" {
		return "", oneLine(more)
	}
	for _, kind := range []string{v1alpha1.ConditionPermissionsGranted, v1alpha1.ConditionStatusWritable} {
		if c := meta.FindStatusCondition(box.Status.Conditions, kind); c != nil && c.Status == metav1.ConditionFalse {
			return c.Reason, oneLine(c.Message)
		}
	}
	return "", ""
}

// alertOf is an alert of the chart with its page.
func alertOf(name, page string) api.Alert {
	return api.Alert{Name: name, Runbook: runbooks + page + ".md"}
}

// alerts are those whose conditions hold for such a box. Each alert waits for some minutes before it fires: this does not.
func alerts(box api.Box, s *v1alpha1.CRDHealthStatus, conditions []metav1.Condition) []api.Alert {
	var out []api.Alert
	add := func(holds bool, name, page string) {
		if holds {
			out = append(out, alertOf(name, page))
		}
	}
	add(box.State == api.Degraded, "OrkestraBoxDegraded", "box-degraded")
	add(box.State == api.Pending || box.State == api.Starting || box.State == api.Stopped, "OrkestraBoxNotRunning", "box-not-running")
	add(box.Resources.Failing > 0, "OrkestraResourcesFailing", "resources-failing")
	add(s.Rollback != nil && s.Rollback.Active, "OrkestraRollbackHeld", "rollback-held")
	if policiesMissing(conditions) != nil {
		out = append(out, missingPolicies())
	}
	return out
}

func missingPolicies() api.Alert { return alertOf("OrkestraPoliciesMissing", "policies-missing") }

// policiesMissing is the condition that says of admission policies that they are not in force; nil: they are, or nobody relies on any.
func policiesMissing(conditions []metav1.Condition) *metav1.Condition {
	c := meta.FindStatusCondition(conditions, v1alpha1.ConditionPoliciesInstalled)
	if c == nil || c.Status != metav1.ConditionFalse {
		return nil
	}
	return c
}

// Policies says of the whole fleet which admission policies are not in force that the manager relies on; nil: all are, as far as boxes say it. The
// manager writes the same on each box: what one says for the longest time counts.
func Policies(boxes []v1alpha1.OperatorBox) *api.Policies {
	var first *metav1.Condition
	for i := range boxes {
		if c := policiesMissing(boxes[i].Status.Conditions); c != nil && (first == nil || c.LastTransitionTime.Before(&first.LastTransitionTime)) {
			first = c
		}
	}
	if first == nil {
		return nil
	}
	return &api.Policies{Reason: first.Reason, Message: oneLine(first.Message), Since: timeOf(&first.LastTransitionTime), Alert: missingPolicies()}
}

// Detail is the page of a box. all are the healths of the fleet. What only a plan or the kept revisions tell is for the caller to add.
func Detail(box *v1alpha1.OperatorBox, health *v1alpha1.CRDHealth, all []v1alpha1.CRDHealth) *api.BoxDetail {
	out := &api.BoxDetail{
		Box: Box(box, health), Conditions: Conditions(box.Status.Conditions), HealthConditions: []api.Condition{}, Failing: []api.FailingResource{},
		Declarations: []api.BoxDeclaration{}, Revisions: []api.Revision{}, Dependents: dependents(box.Name, all),
	}
	for _, kind := range box.Status.ManagedKinds {
		out.ManagedKinds = append(out.ManagedKinds, metav1.GroupVersion{Group: kind.Group, Version: kind.Version}.String()+" "+kind.Kind)
	}
	if health == nil {
		return out
	}
	s := &health.Status
	out.HealthConditions = Conditions(s.Conditions)
	for _, f := range s.Failing {
		out.Failing = append(out.Failing, api.FailingResource{
			Reference: reference(f.ResourceReference), ConsecutiveFailures: f.ConsecutiveFailures, Reason: f.Reason, Step: f.Step, Message: f.Message, Since: f.Since.Time,
		})
	}
	for _, r := range s.Overdue {
		out.Overdue = append(out.Overdue, reference(r))
	}
	for _, d := range s.Dependencies {
		out.DependsOn = append(out.DependsOn, api.Dependency{Box: d.Name, Condition: d.Condition, Met: d.Met})
	}
	if r := s.Rollback; r != nil {
		out.Rollback = &api.Rollback{Active: r.Active, Count: r.Count, Since: timeOf(r.Since), Reason: r.Reason}
	}
	if k := s.LastKnownGood; k != nil {
		out.LastKnownGood = &api.KnownGood{Revision: k.Revision, Time: k.Time.Time}
	}
	if a := s.Autoscale; a != nil {
		out.Autoscale = &api.Autoscale{Active: a.Active, Since: timeOf(a.Since), Reason: a.Reason}
	}
	return out
}

// dependents are the boxes that wait for one, by name.
func dependents(name string, all []v1alpha1.CRDHealth) []api.Dependency {
	var out []api.Dependency
	for n := range all {
		for _, d := range all[n].Status.Dependencies {
			if d.Name == name {
				out = append(out, api.Dependency{Box: all[n].Name, Condition: d.Condition, Met: d.Met})
			}
		}
	}
	slices.SortFunc(out, func(a, b api.Dependency) int { return strings.Compare(a.Box, b.Box) })
	return out
}

// Conditions are those of an object.
func Conditions(all []metav1.Condition) []api.Condition {
	out := make([]api.Condition, 0, len(all))
	for _, c := range all {
		out = append(out, api.Condition{
			Type: c.Type, Status: string(c.Status), Reason: c.Reason, Message: c.Message, Since: timeOf(&c.LastTransitionTime), ObservedGeneration: c.ObservedGeneration,
		})
	}
	return out
}

func failureOf(f *v1alpha1.Failure) *api.Failure {
	if f == nil {
		return nil
	}
	return &api.Failure{Time: f.Time.Time, Resource: reference(f.Resource), Step: f.Step, Message: f.Message}
}

// worstOf gives the first of the failing resources, which CRDHealth has in this order. The last failure may be of one that is well again.
func worstOf(failing []v1alpha1.FailingResource) *api.Failure {
	if len(failing) == 0 {
		return nil
	}
	f := failing[0]
	return &api.Failure{Time: f.Since.Time, Resource: reference(f.ResourceReference), Step: f.Step, Message: f.Message}
}

func reference(r v1alpha1.ResourceReference) api.Reference {
	return api.Reference{Namespace: r.Namespace, Name: r.Name}
}

func timeOf(t *metav1.Time) *time.Time {
	if t == nil || t.IsZero() {
		return nil
	}
	return &t.Time
}
