package act

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/engine/boxspec"
	"github.com/orkspace/orkestra/engine/revision"
	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/view"
)

// boxAction is what can be done to a box.
type boxAction struct {
	// verb is that of RBAC.
	verb string
	// unfit says why it can't be done to a box as it is; empty: it can.
	unfit func(*v1alpha1.OperatorBox) string
	// reason is that of its event, done what it says, and soon what a manager makes of it then.
	reason, done, soon string
}

// boxOrder is the order in which actions on a box are shown.
var boxOrder = []api.ActionName{api.Resume, api.Suspend, api.GoBack}

var boxActions = map[api.ActionName]boxAction{
	api.Suspend: {verb: verbSuspend, reason: v1alpha1.ReasonSuspendRequested, done: "It is suspended: its resources and children stay as they are; deletions are still served", unfit: func(box *v1alpha1.OperatorBox) string {
		if box.Spec.Suspend {
			return "it is suspended already"
		}
		return goes(box)
	}},
	api.Resume: {verb: verbSuspend, reason: v1alpha1.ReasonResumeRequested, done: "It goes on", soon: ": its resources are reconciled", unfit: func(box *v1alpha1.OperatorBox) string {
		if !box.Spec.Suspend {
			return "it is not suspended"
		}
		return goes(box)
	}},
	api.GoBack: {verb: verbRollback, reason: v1alpha1.ReasonWentBack, done: "It goes back to the former revision", unfit: goes},
}

func goes(box *v1alpha1.OperatorBox) string {
	if box.DeletionTimestamp != nil {
		return "it is being deleted"
	}
	return ""
}

// box gives one that the person may read; the error of one that is not there is NotFound.
func (h *Hand) box(ctx context.Context, name string) (*v1alpha1.OperatorBox, error) {
	box := &v1alpha1.OperatorBox{}
	if err := h.Own.Get(ctx, types.NamespacedName{Name: name}, box); err != nil {
		return nil, fmt.Errorf("reading OperatorBox %q: %w", name, err)
	}
	return box, nil
}

// BoxActions gives those that fit a box as it is now.
func (h *Hand) BoxActions(ctx context.Context, name string) (*api.BoxActions, error) {
	box, err := h.box(ctx, name)
	if err != nil {
		return nil, err
	}
	out := &api.BoxActions{UID: string(box.UID), Actions: []api.Action{}}
	for _, action := range boxOrder {
		a := boxActions[action]
		if a.unfit(box) != "" {
			continue
		}
		why, err := said(h.mayWrite(ctx, a.verb, box, box))
		if err != nil {
			return nil, err
		}
		out.Actions = append(out.Actions, api.Action{Name: action, May: why == "", Why: why})
	}
	return out, nil
}

// mayWrite says why the spec of a box is not written for the person; nil: it is.
func (h *Hand) mayWrite(ctx context.Context, verb string, before, after *v1alpha1.OperatorBox) error {
	if err := h.allowed(ctx, h.overSpec(verb, before, after)...); err != nil {
		return err
	}
	if by := managed(before); by != "" {
		return conflict("OperatorBox %q: %s", before.Name, by)
	}
	return nil
}

// FormerSpecs gives the revisions to which a person may have a box go back: they hold what it has said, and who may bring that back may read it.
func (h *Hand) FormerSpecs(ctx context.Context, name string) (*api.FormerSpecs, error) {
	box, err := h.box(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := h.allowed(ctx, h.overSpec(verbRollback, box, box)...); err != nil {
		return nil, err
	}
	all, err := h.Revisions.List(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("reading the revisions of OperatorBox %q: %w", name, err)
	}
	return &api.FormerSpecs{Revisions: view.Revisions(all, box.Status.Revision)}, nil
}

// Return says what going back to a revision would write.
func (h *Hand) Return(ctx context.Context, name, to string) (*api.Return, error) {
	live, err := h.liveBox(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := h.allowed(ctx, h.overSpec(verbRollback, live, live)...); err != nil {
		return nil, err
	}
	after, err := h.gone(ctx, live, to)
	if err != nil {
		return nil, err
	}
	before, err := boxspec.Data(live)
	if err != nil {
		return nil, err
	}
	wanted, err := boxspec.Data(after)
	if err != nil {
		return nil, err
	}
	differ, err := view.Difference("today", to, before, wanted)
	if err != nil {
		return nil, err
	}
	out := &api.Return{Box: name, Revision: to, UID: string(live.UID), Generation: live.Generation, Changes: differ.Changes, More: differ.More}
	patch, err := client.MergeFrom(live).Data(after)
	if err != nil {
		return nil, fmt.Errorf("comparing OperatorBox %q with its revision %q: %w", name, to, err)
	}
	text, err := yaml.JSONToYAML(patch)
	if err != nil {
		return nil, fmt.Errorf("comparing OperatorBox %q with its revision %q: %w", name, to, err)
	}
	out.Patch = string(text)
	refused := h.mayGoBack(ctx, live, after)
	out.Why, err = said(refused)
	return out, err
}

// liveBox gives a box that the person may read, as it is now.
func (h *Hand) liveBox(ctx context.Context, name string) (*v1alpha1.OperatorBox, error) {
	if _, err := h.box(ctx, name); err != nil {
		return nil, err
	}
	live := &v1alpha1.OperatorBox{}
	if err := h.Boxes.Get(ctx, types.NamespacedName{Name: name}, live); err != nil {
		return nil, fmt.Errorf("reading OperatorBox %q: %w", name, err)
	}
	return live, nil
}

// gone gives a box with the spec of a revision. Whether it is suspended stays as it is: that is another action.
func (h *Hand) gone(ctx context.Context, live *v1alpha1.OperatorBox, to string) (*v1alpha1.OperatorBox, error) {
	spec, err := h.Revisions.Read(ctx, live.Name, revision.Ref{Name: to})
	if none, ok := errors.AsType[revision.Error](err); ok {
		return nil, conflict("OperatorBox %q: %s", live.Name, none)
	}
	if err != nil {
		return nil, err
	}
	after := live.DeepCopy()
	after.Spec = *spec
	after.Spec.Suspend = live.Spec.Suspend
	return after, nil
}

// mayGoBack says why a box does not get a former spec; nil: it does. As whom a box acts, and what it serves, is never changed for others: whoever
// does that has to be asked by the API server itself.
func (h *Hand) mayGoBack(ctx context.Context, live, after *v1alpha1.OperatorBox) error {
	if err := h.mayWrite(ctx, verbRollback, live, after); err != nil {
		return err
	}
	var was, is v1alpha1.ServiceAccountReference
	if ref := live.Spec.ServiceAccountRef; ref != nil {
		is = *ref
	}
	if ref := after.Spec.ServiceAccountRef; ref != nil {
		was = *ref
	}
	if was != is {
		return conflict("OperatorBox %q: the revision acts as another account (spec.serviceAccountRef): change the box by kubectl", live.Name)
	}
	if crds.NameOf(live) != crds.NameOf(after) {
		return conflict("OperatorBox %q: the revision serves another CRD (spec.crd): change the box by kubectl", live.Name)
	}
	if boxspec.Revision(live) == boxspec.Revision(after) {
		return conflict("OperatorBox %q: its spec is that of the revision already", live.Name)
	}
	return nil
}

// ActOnBox does something to a box.
func (h *Hand) ActOnBox(ctx context.Context, name string, action api.ActionName, order api.Order) (*api.Done, error) {
	a, known := boxActions[action]
	if !known {
		return nil, noSuchAction(action, api.Suspend, api.Resume, api.GoBack)
	}
	if back := action == api.GoBack; back != (order.Revision != "") || back != (order.Generation != 0) {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the action %s: %v; other actions have neither", action, errNoOrder))
	}
	var written *v1alpha1.OperatorBox
	// A status that was written in between is a conflict, too.
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		live, err := h.liveBox(ctx, name)
		if err != nil {
			return final{err}
		}
		after, err := h.changed(ctx, live, action, order)
		if err != nil {
			return final{err}
		}
		written = after
		return h.Boxes.Patch(ctx, after, client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{}), client.FieldOwner(v1alpha1.FieldManagerCenter))
	})
	if ended, ok := errors.AsType[final](err); ok {
		return nil, ended.error
	}
	if err != nil {
		return nil, fmt.Errorf("patching OperatorBox %q: %w", name, err)
	}
	h.tell(written, a.reason, action, a.done+a.soon)
	return &api.Done{Action: action, Message: h.outcome(ctx, a.done, a.soon)}, nil
}

// final is an error that trying again does not mend, though it may be a conflict.
type final struct{ error }

// changed gives a box as an action leaves it, where the person may do it.
func (h *Hand) changed(ctx context.Context, live *v1alpha1.OperatorBox, action api.ActionName, order api.Order) (*v1alpha1.OperatorBox, error) {
	a := boxActions[action]
	after := live.DeepCopy()
	if action != api.GoBack {
		after.Spec.Suspend = action == api.Suspend
		if err := h.mayWrite(ctx, a.verb, live, after); err != nil {
			return nil, err
		}
	}
	if string(live.UID) != order.UID {
		return nil, errReplaced("OperatorBox", live.Name)
	}
	if why := a.unfit(live); why != "" {
		return nil, conflict("OperatorBox %q: %s", live.Name, why)
	}
	if action == api.GoBack {
		var err error
		if after, err = h.back(ctx, live, order); err != nil {
			return nil, err
		}
	}
	named, err := h.lastAction(action, h.Clock.Now())
	if err != nil || named == "" {
		return after, err
	}
	if after.Annotations == nil {
		after.Annotations = map[string]string{}
	}
	after.Annotations[v1alpha1.AnnotationLastAction] = named
	return after, nil
}

// back gives a box with the spec of the revision that was ordered. What was shown beforehand has to be what is written.
func (h *Hand) back(ctx context.Context, live *v1alpha1.OperatorBox, order api.Order) (*v1alpha1.OperatorBox, error) {
	// Who may not is not told which revisions there are.
	if err := h.allowed(ctx, h.overSpec(verbRollback, live, live)...); err != nil {
		return nil, err
	}
	if live.Generation != order.Generation {
		return nil, conflict("OperatorBox %q has changed since the difference was shown: look at it again", live.Name)
	}
	after, err := h.gone(ctx, live, order.Revision)
	if err != nil {
		return nil, err
	}
	return after, h.mayGoBack(ctx, live, after)
}
