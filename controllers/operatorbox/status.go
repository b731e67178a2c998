package operatorbox

import (
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
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/words"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// recorder shows on boxes what was found.
type recorder struct{ Ports }

// record shows on a box, and in its CRDHealth, what was found. Nothing is sent where nothing differs, and nothing by a follower.
func (r *recorder) record(ctx context.Context, s *scope) (stop bool, err error) {
	if s.silent {
		return true, nil
	}
	r.Reports.Set(s.box.Name, s.report())
	err = r.write(ctx, s)
	if s.deleted {
		err = client.IgnoreNotFound(err) // somebody took the finalizer off
	}
	return false, err
}

func (r *recorder) write(ctx context.Context, s *scope) error {
	if !r.Engine.Leading() {
		return nil
	}
	next := s.box.DeepCopy()
	if err := r.fill(ctx, next, s); err != nil {
		return err
	}
	// After a restart, the status of the former process holds while caches fill: Ready would turn False for a moment otherwise.
	if wait := r.Engine.Settling(); wait > 0 && restarts(s.box, next) {
		s.requeueAfter = wait
		return nil
	}
	if equality.Semantic.DeepEqual(s.box.Status, next.Status) {
		return nil
	}
	// The whole status is written: a merge patch leaves out counts of zero, which the schema requires beside those that are not.
	if err := r.Client.Status().Update(ctx, next, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return fmt.Errorf("writing the status of OperatorBox %q: %w", s.box.Name, err)
	}
	r.announce(ctx, s.box, next)
	if !s.deleted {
		r.warn(s.box)
	}
	return nil
}

// misread says in the status that the value of the box's annotation for clean-up is not understood.
func (*recorder) misread(_ context.Context, s *scope) (stop bool, err error) {
	if text := pipeline.Misread(s.box.Annotations, v1alpha1.AnnotationCleanup); text != "" {
		s.note(text)
	}
	return false, nil
}

// warn says it by an event, unless the status has said it before. A box is told of only when its status is written, or it goes: one that the cache has
// not seen yet would be told of twice.
func (r *recorder) warn(box *v1alpha1.OperatorBox) {
	text := pipeline.Misread(box.Annotations, v1alpha1.AnnotationCleanup)
	c := meta.FindStatusCondition(box.Status.Conditions, v1alpha1.ConditionCompiled)
	if text == "" || r.Events == nil || c != nil && strings.Contains(c.Message, text) {
		return
	}
	r.Events.Eventf(box, nil, corev1.EventTypeWarning, v1alpha1.ReasonAnnotationIgnored, "Reconcile", "%s", words.Cut(text, words.MaxNote))
}

// restarts says whether a box ran with this spec, and is only starting again.
func restarts(before, after *v1alpha1.OperatorBox) bool {
	was := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.ConditionReady)
	is := meta.FindStatusCondition(after.Status.Conditions, v1alpha1.ConditionReady)
	return was != nil && was.Status == metav1.ConditionTrue && was.ObservedGeneration == before.Generation && is.Reason == v1alpha1.ReasonStarting
}

// failures are the reasons that a box may leave behind without an edit, and that are no step on its way.
var failures = map[string]bool{v1alpha1.ReasonConstructorFailed: true}

// announce tells that a box came to run, or why it does not. That caches are filling is neither: the next status says what came of it, and a start
// would be told twice.
func (r *recorder) announce(ctx context.Context, before, after *v1alpha1.OperatorBox) {
	ready := meta.FindStatusCondition(after.Status.Conditions, v1alpha1.ConditionReady)
	was := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || was != nil && was.Reason == ready.Reason && was.Message == ready.Message || ready.Message == health.Filling {
		return
	}
	kind := corev1.EventTypeNormal
	if failures[ready.Reason] || meta.IsStatusConditionTrue(after.Status.Conditions, v1alpha1.ConditionStalled) {
		kind = corev1.EventTypeWarning
	}
	ctrl.LoggerFrom(ctx).Info("Box changed", "reason", ready.Reason, "message", ready.Message)
	if r.Events != nil {
		r.Events.Eventf(after, nil, kind, ready.Reason, "Reconcile", "%s", words.Cut(ready.Message, words.MaxNote))
	}
}

// fill writes what the steps and the engine found to the status of a box.
func (r *recorder) fill(ctx context.Context, box *v1alpha1.OperatorBox, s *scope) error {
	status := &box.Status
	status.ObservedGeneration = box.Generation
	status.CRD.Name = s.crdName
	status.CRD.Established = s.crdReason == v1alpha1.ReasonEstablished
	if s.crd != nil {
		status.CRD.Version, status.CRD.Kind = s.crd.Kind.Version, s.crd.Kind.Kind
	}
	if s.plan != nil {
		status.RequiredRules = s.plan.Required()
	}
	report, runs := r.Engine.Report(box.Name)
	// A revision that can go on stays named while nothing runs: after a restart, it is found by this name.
	if !couldGoOn[s.reason] {
		status.Revision, status.RevisionHash = "", ""
	}
	if runs && !r.cleanupOnly(box.Name) {
		status.Revision, status.RevisionHash = report.Revision, r.hashOf(box.Name, report.Revision)
	}
	if err := r.fillCounts(ctx, box); err != nil {
		return err
	}
	// Kinds of which no child is left, and namespaces in which no resource is marked, need not be watched any more.
	kinds, namespaces := r.Engine.Unneeded(box.Name)
	status.ManagedKinds = slices.DeleteFunc(status.ManagedKinds, func(k v1alpha1.GroupVersionKind) bool {
		return slices.Contains(kinds, schema.GroupVersionKind(k))
	})
	if s.plan != nil && namespaces {
		status.WatchedNamespaces = s.plan.Selection.Namespaces()
	}
	s.withheld = access.Missing{Account: s.account.Account, Box: box.Name, AsManager: s.account.IsManager(), Rights: r.Engine.Withheld(box.Name)}
	status.Admission = nil
	if s.enforced != nil {
		status.Admission = s.enforced.Status
	} else {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionAdmissionEnforced)
	}
	conditions := s.conditions(box, report, runs)
	if c, known := r.policies(); c != nil {
		conditions = append(conditions, *c)
	} else if known {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionPoliciesInstalled)
	}
	for _, c := range conditions {
		c.ObservedGeneration = box.Generation
		c.Message = words.Cut(c.Message, words.MaxMessage)
		meta.SetStatusCondition(&status.Conditions, c)
	}
	return nil
}

// policies is the condition of the policies that the manager relies on.
func (r *recorder) policies() (condition *metav1.Condition, known bool) {
	if r.Policies == nil {
		return nil, true
	}
	return r.Policies.Shown()
}

func (r *recorder) cleanupOnly(name string) bool {
	plan := r.Engine.Plan(name)
	return plan != nil && plan.CleanupOnly
}

// fillCounts copies the counts that CRDHealth shows, so that both objects say the same.
func (r *recorder) fillCounts(ctx context.Context, box *v1alpha1.OperatorBox) error {
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

// hashOf is the full hash of the revision that a box runs, of which the name has the beginning. It is empty where the box runs another
// revision by now.
func (r *recorder) hashOf(box, name string) string {
	if running := r.Engine.Plan(box); running != nil && running.Revision == name {
		return running.RevisionHash
	}
	return ""
}
