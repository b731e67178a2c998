package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/hooks"
	"github.com/orkspace/orkestra/engine/pipeline/overview"
	"github.com/orkspace/orkestra/engine/pipeline/settle"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// constructed says how a resource stands whose box has a constructor: its children are what it controls, of the kinds that the code lists. Its
// status is the reconciler's, and need not say whether it is ready.
func (i *Inspector) constructed(ctx context.Context, res *Resource, code *hooks.Constructor, live *unstructured.Unstructured) {
	res.Notes = append(res.Notes, "It is reconciled by the constructor "+code.Name+", which makes its children and writes its status")
	for _, kind := range code.Kinds {
		all, err := i.List(ctx, kind, live.GetNamespace())
		if err != nil && !meta.IsNoMatchError(err) {
			res.Notes = append(res.Notes, fmt.Sprintf("Children of kind %s are not known: %s", kind.Kind, Message(err)))
		}
		for _, child := range all {
			if owner := metav1.GetControllerOf(child); owner == nil || owner.UID != live.GetUID() {
				continue
			}
			res.Declarations = append(res.Declarations, controlled(child))
		}
	}
	slices.SortStableFunc(res.Declarations, func(a, b Declaration) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	i.vouch(ctx, res)
}

// controlled is how an object stands that the reconciler has made.
func controlled(child *unstructured.Unstructured) Declaration {
	created := child.GetCreationTimestamp()
	d := Declaration{
		Declaration: pipeline.StepConstructor, APIVersion: child.GetAPIVersion(), Kind: child.GetKind(), Name: child.GetName(), Created: &created, State: overview.StateReady, child: child,
	}
	words := &declare.Declaration{}
	words.Quoted = true
	weight, why := settle.Why(words, child)
	d.Reason = why
	switch {
	case child.GetDeletionTimestamp() != nil:
		d.State = overview.StateTerminating
	case weight == stage.ChildFailed && why != "":
		d.State = overview.StateFailed
	case why != "":
		d.State = overview.StateProgressing
	}
	return d
}

// vouch says what is known of a resource beside its status, which the box does not write: the health of the box names resources that fail, and says
// whether the reconciler is at work at all. Without a condition Ready nobody knows whether the resource is ready: that its reconciler has returned without
// an error is not written down for each resource, and need not mean it.
func (i *Inspector) vouch(ctx context.Context, res *Resource) {
	health, err := i.health(ctx, res.Box)
	failing := failingOf(health, res)
	unseen, started := res.Reason == reasonUnseen, meta.FindStatusCondition(health.Status.Conditions, v1alpha1.ConditionStarted)
	switch {
	case err != nil && unseen:
		res.unknown(reasonUnseen, "its status has no condition Ready, and the health of the box is not known: "+Message(err))
	case err != nil:
		res.Notes = append(res.Notes, "Whether its reconciler fails is not known: the health of the box could not be read: "+Message(err))
	case failing != nil:
		res.fails(failing)
	case !unseen && !res.Ready: // its status says why
	case started == nil || started.Status != metav1.ConditionTrue:
		res.unknown(reasonNotRunning, "the reconciler of the box is not at work"+saidOf(started)+", and what the status says may be of the time before it")
	case unseen && health.Status.Resources.Total == 0: // each of which a reconcile has ended counts
		res.unknown(reasonUnseen, "its status has no condition Ready. The box runs, and no reconcile of any resource has ended yet: its reconciler may be at its first call")
	case unseen:
		res.unknown(reasonUnseen, "its reconciler writes no condition Ready. The box runs, and its health does not name it among "+several(health))
	}
}

// failingOf is what the health of a box says of a resource that fails; nil: it names it not.
func failingOf(health *v1alpha1.CRDHealth, res *Resource) *v1alpha1.FailingResource {
	for n := range health.Status.Failing {
		if f := &health.Status.Failing[n]; f.Namespace == res.Namespace && f.Name == res.Name {
			return f
		}
	}
	return nil
}

// fails takes over what the health of the box says of a resource that fails, as its status would say it.
func (r *Resource) fails(f *v1alpha1.FailingResource) {
	r.Ready, r.Failed = false, f.ConsecutiveFailures > 0
	r.Reason, r.Message = cmp.Or(f.Reason, v1alpha1.ReasonReconcileError), strings.TrimPrefix(f.Step+": "+f.Message, ": ")
}

// saidOf is what a condition says, behind a colon.
func saidOf(c *metav1.Condition) string {
	if c == nil {
		return ""
	}
	return ": " + strings.TrimSuffix(c.Reason+": "+c.Message, ": ")
}

// several says how many of the resources that fail the health of a box names.
func several(health *v1alpha1.CRDHealth) string {
	named, all := len(health.Status.Failing), int(health.Status.Resources.Failing)
	if all > named {
		return fmt.Sprintf("the %d that it lists of %d that fail", named, all)
	}
	return "those that fail"
}
