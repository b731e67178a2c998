package controllers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/status"
)

// maxConditionMessage is what the API server accepts in a condition (Kubernetes convention).
const maxConditionMessage = 32768

// maxNote is what the API server accepts as the text of an event, in bytes; a character has at most four.
const maxNote = 1024 / 4

// writeStatus shows on a box what was found. Nothing is sent where nothing differs, and nothing by a follower.
func (r *OperatorBoxReconciler) writeStatus(ctx context.Context, box *v1alpha1.OperatorBox, v *view) error {
	if !r.Engine.Leading() {
		return nil
	}
	next := box.DeepCopy()
	if err := r.fill(ctx, next, v); err != nil {
		return err
	}
	if wait := r.Engine.Settling(); wait > 0 && restarts(box, next) {
		v.again = wait
		return nil
	}
	if equality.Semantic.DeepEqual(box.Status, next.Status) {
		return nil
	}
	// The whole status is written: a merge patch leaves out counts of zero, which the schema requires beside those that are not.
	if err := r.Client.Status().Update(ctx, next, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return fmt.Errorf("writing the status of OperatorBox %q: %w", box.Name, err)
	}
	r.announce(ctx, box, next)
	return nil
}

// restarts says whether a box ran with this spec, and is only starting again.
func restarts(before, after *v1alpha1.OperatorBox) bool {
	was := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.ConditionReady)
	is := meta.FindStatusCondition(after.Status.Conditions, v1alpha1.ConditionReady)
	return was != nil && was.Status == metav1.ConditionTrue && was.ObservedGeneration == before.Generation && is.Reason == v1alpha1.ReasonStarting
}

// announce tells that a box came to run, or why it does not.
func (r *OperatorBoxReconciler) announce(ctx context.Context, before, after *v1alpha1.OperatorBox) {
	ready := meta.FindStatusCondition(after.Status.Conditions, v1alpha1.ConditionReady)
	was := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || was != nil && was.Reason == ready.Reason && was.Message == ready.Message {
		return
	}
	kind := corev1.EventTypeNormal
	if meta.IsStatusConditionTrue(after.Status.Conditions, v1alpha1.ConditionStalled) {
		kind = corev1.EventTypeWarning
	}
	ctrl.LoggerFrom(ctx).Info("Box changed", "reason", ready.Reason, "message", ready.Message)
	if r.Events != nil {
		r.Events.Eventf(after, nil, kind, ready.Reason, "Reconcile", "%s", cut(ready.Message, maxNote))
	}
}

func (r *OperatorBoxReconciler) fill(ctx context.Context, box *v1alpha1.OperatorBox, v *view) error {
	s := &box.Status
	s.ObservedGeneration = box.Generation
	s.CRD.Name = v.crdName
	s.CRD.Established = v.crdReason == v1alpha1.ReasonEstablished
	if v.crd != nil {
		s.CRD.Version, s.CRD.Kind = v.crd.Kind.Version, v.crd.Kind.Kind
	}
	if v.plan != nil {
		s.RequiredRules = v.plan.Rules
	}
	report, runs := r.Engine.Report(box.Name)
	if !couldGoOn[v.reason] {
		s.Revision, s.RevisionHash = "", ""
	}
	if runs && !r.cleanupOnly(box.Name) {
		s.Revision, s.RevisionHash = report.Revision, r.hashOf(box.Name, report.Revision)
	}
	if err := r.fillCounts(ctx, box); err != nil {
		return err
	}
	s.ManagedKinds = slices.DeleteFunc(s.ManagedKinds, func(k v1alpha1.GroupVersionKind) bool {
		return slices.Contains(r.Engine.Unused(box.Name), schema.GroupVersionKind(k))
	})
	if v.plan != nil && r.Engine.Narrow(box.Name) {
		s.WatchedNamespaces = v.plan.Selection.Namespaces()
	}
	for _, c := range v.conditions(box, report, runs) {
		c.ObservedGeneration = box.Generation
		c.Message = cut(c.Message, maxConditionMessage)
		meta.SetStatusCondition(&s.Conditions, c)
	}
	return nil
}

func (r *OperatorBoxReconciler) cleanupOnly(name string) bool {
	plan := r.Engine.Plan(name)
	return plan != nil && plan.CleanupOnly
}

// fillCounts copies the counts that CRDHealth shows, so that both objects say the same.
func (r *OperatorBoxReconciler) fillCounts(ctx context.Context, box *v1alpha1.OperatorBox) error {
	known := &v1alpha1.CRDHealth{}
	err := r.Client.Get(ctx, types.NamespacedName{Name: box.Name}, known)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading CRDHealth %q: %w", box.Name, err)
	}
	box.Status.Resources = known.Status.Resources
	return nil
}

// conditions are all conditions of a box. Ready is their summary.
func (v *view) conditions(box *v1alpha1.OperatorBox, report health.Report, runs bool) []metav1.Condition {
	out := []metav1.Condition{
		v.crdCondition(), v.compiledCondition(box, runs && report.Revision != ""), v.permissionsCondition(),
	}
	if v.plan != nil {
		out = append(out, statusWritable(v.plan))
	}
	return append(out, v.summary(report, runs)...)
}

func (v *view) crdCondition() metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionCRDEstablished, Status: metav1.ConditionFalse, Reason: v.crdReason, Message: v.crdMessage}
	if v.crdReason == v1alpha1.ReasonEstablished {
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
}

func (v *view) compiledCondition(box *v1alpha1.OperatorBox, runs bool) metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionCompiled}
	switch {
	case len(v.errors) > 0:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, mistakes(v.errors)
	case v.plan != nil:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, v1alpha1.ReasonCompiled, strings.Join(append([]string{specIsValid}, v.plan.Notes...), noteSeparator)
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, cmp.Or(v.reason, v1alpha1.ReasonStopped), cmp.Or(unchecked[v.reason], "the spec is checked against the CRD's schema when the CRD is there")
	}
	if runs && box.Status.Revision != "" && (v.plan == nil || v.plan.Revision != box.Status.Revision) {
		c.Message += noteSeparator + fmt.Sprintf("revision %s goes on", box.Status.Revision)
	}
	if len(v.notes) > 0 {
		c.Message += noteSeparator + strings.Join(slices.Compact(v.notes), noteSeparator)
	}
	return c
}

func (v *view) permissionsCondition() metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionPermissionsGranted}
	switch {
	case len(v.missing) > 0:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1alpha1.ReasonForbidden, access.Sentence(v.missing)
	case v.plan != nil:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, v1alpha1.ReasonGranted, "no right is missing"
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, cmp.Or(v.reason, v1alpha1.ReasonStopped), "rights are checked when the spec compiles"
	}
	return c
}

func statusWritable(plan *pipeline.Plan) metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionStatusWritable, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonWritable, Message: "results are written to the resources' status"}
	switch missing := plan.Status.Missing(); {
	case !plan.CRD.HasStatus:
		c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonNoStatusSubresource
		c.Message = fmt.Sprintf("version %s of %s has no status subresource: results are in events and in CRDHealth only", plan.CRD.Kind.Version, plan.CRD.Name)
	case missing != "":
		c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonStatusFieldsUnknown
		c.Message = fmt.Sprintf("the schema of %s does not know %s: they are left out of the resources' status", plan.CRD.Name, missing)
	}
	return c
}

// couldGoOn are the reasons for which a box can't run its spec, and goes on with what it ran before where that is kept. Its status
// names that all the time: nothing else knows it.
var couldGoOn = map[string]bool{
	v1alpha1.ReasonCompileFailed: true, v1alpha1.ReasonForbidden: true, v1alpha1.ReasonCRDVersionNotServed: true,
}

// stalling are the reasons that only an edit mends.
var stalling = map[string]bool{
	v1alpha1.ReasonCompileFailed: true, v1alpha1.ReasonCRDClaimed: true, v1alpha1.ReasonCRDNotOwned: true,
	v1alpha1.ReasonCRDRefused: true, v1alpha1.ReasonForbidden: true, v1alpha1.ReasonCRDVersionNotServed: true,
}

// summary is Ready, Reconciling and Stalled, by kstatus.
func (v *view) summary(report health.Report, runs bool) []metav1.Condition {
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonRunning, Message: "the sub-controller runs"}
	reconciling := status.Settled()
	stalled := status.NotStalled()
	switch {
	case v.reason != "":
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, v.reason, v.message
		if stalling[v.reason] {
			stalled = status.StalledBy(v.reason, v.message)
		} else if v.reason != v1alpha1.ReasonSuspended && v.reason != v1alpha1.ReasonDrained {
			reconciling = status.Progressing(v.reason, v.message)
		}
	case !runs || report.Phase != health.Running:
		message := cmp.Or(report.Message, "caches are filling")
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, v1alpha1.ReasonStarting, message
		reconciling = status.Progressing(v1alpha1.ReasonStarting, message)
	case report.Stuck != "":
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, v1alpha1.ReasonStuck, report.Stuck
		stalled = status.StalledBy(v1alpha1.ReasonStuck, report.Stuck)
	case report.Awaits != "":
		ready.Message += "; new resources wait: " + report.Awaits
	}
	return []metav1.Condition{ready, reconciling, stalled}
}

// mistakes gives every error on one line, each with its path.
func mistakes(errs field.ErrorList) string {
	texts := make([]string, 0, len(errs))
	for _, e := range errs {
		text := e.Error()
		if e.Type == field.ErrorTypeForbidden {
			text = e.Field + ": " + e.Detail // "Forbidden" would sound as if a right were missing
		}
		texts = append(texts, text)
	}
	slices.Sort(texts)
	if len(texts) == 1 {
		return texts[0]
	}
	return fmt.Sprintf("%d mistakes: %s", len(texts), strings.Join(slices.Compact(texts), "; "))
}

func cut(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
