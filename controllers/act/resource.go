package act

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/center"
	"github.com/orkspace/orkestra/engine/rollback"
	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/person"
)

// resourceAction is what can be done to a resource.
type resourceAction struct {
	// verb is that of RBAC.
	verb string
	// unfit says why it can't be done to a resource as it is; empty: it can.
	unfit func(*unstructured.Unstructured) string
	// serves says that it comes to nothing while the box is suspended.
	serves bool
	// annotations that it sets; nil removes one.
	annotations func(now time.Time) map[string]any
	// reason is that of its event, and done what it says, and what comes of it.
	reason, done string
}

// resourceOrder is the order in which actions on a resource are shown.
var resourceOrder = []api.ActionName{api.Reconcile, api.Release, api.Resume, api.Pause}

var resourceActions = map[api.ActionName]resourceAction{
	api.Reconcile: {verb: verbReconcile, reason: v1alpha1.ReasonReconcileRequested, serves: true, done: "It is marked for a reconcile, which the manager does at once", unfit: func(r *unstructured.Unstructured) string {
		switch {
		case isPaused(r):
			return "it is paused, so that nothing is made or corrected: resume it"
		case rollback.MarkOf(r) != nil:
			return "it is rolled back, and a reconcile would try again what has failed: release it"
		default:
			return ""
		}
	}, annotations: reconcileAt},
	api.Release: {verb: verbRollback, reason: v1alpha1.ReasonReleased, serves: true, done: "It is released: its spec is tried again", unfit: func(r *unstructured.Unstructured) string {
		switch {
		case rollback.MarkOf(r) == nil:
			return "it is not rolled back"
		case isPaused(r):
			return "it is paused, so that nothing is tried: resume it"
		default:
			return ""
		}
	}, annotations: reconcileAt},
	api.Pause: {verb: verbPause, reason: v1alpha1.ReasonPaused, done: "It is paused: nothing is made or corrected until it is resumed; a deletion is still served", unfit: func(r *unstructured.Unstructured) string {
		switch {
		case isPaused(r):
			return "it is paused already"
		case r.GetDeletionTimestamp() != nil:
			return "it is being deleted, which nothing pauses"
		default:
			return ""
		}
	}, annotations: func(time.Time) map[string]any { return map[string]any{v1alpha1.AnnotationPaused: v1alpha1.True} }},
	api.Resume: {verb: verbPause, reason: v1alpha1.ReasonResumed, done: "It goes on", unfit: func(r *unstructured.Unstructured) string {
		if !isPaused(r) {
			return "it is not paused"
		}
		return ""
	}, annotations: func(time.Time) map[string]any { return map[string]any{v1alpha1.AnnotationPaused: nil} }},
}

func isPaused(r *unstructured.Unstructured) bool {
	return r.GetAnnotations()[v1alpha1.AnnotationPaused] == v1alpha1.True
}

func reconcileAt(now time.Time) map[string]any {
	return map[string]any{v1alpha1.AnnotationReconcileAt: now.UTC().Format(time.RFC3339Nano)}
}

// target is a resource, and what there is to know of it.
type target struct {
	box  *v1alpha1.OperatorBox
	kind schema.GroupVersionKind
	of   schema.GroupResource
	live *unstructured.Unstructured
}

// unfitFor says why an action can't be done to a resource as it and its box are; empty: it can.
func (a resourceAction) unfitFor(t target) string {
	if a.serves && t.box.Spec.Suspend {
		return fmt.Sprintf("its box %q is suspended, so that nothing is made or corrected: resume the box", t.box.Name)
	}
	return a.unfit(t.live)
}

// rights are those that an action takes.
func (h *Hand) rights(t target, a resourceAction) []person.Right {
	return h.overObject(a.verb, t.of, t.live.GetNamespace(), t.live.GetName())
}

// target finds a resource of a box, as far as the person may read both.
func (h *Hand) target(ctx context.Context, boxName, namespace, name string) (t target, err error) {
	if t.box, err = h.box(ctx, boxName); err != nil {
		return t, err
	}
	if t.kind, err = center.KindOf(t.box); err != nil {
		return t, err
	}
	if t.of, err = h.ResourceOf(t.kind); err != nil {
		return t, err
	}
	if t.live, err = h.Resource(ctx, t.kind, namespace, name); err != nil {
		return t, err
	}
	if t.live == nil {
		return t, fmt.Errorf("reading %s %q: %w", t.kind.Kind, name, apierrors.NewNotFound(t.of, name))
	}
	return t, nil
}

// ResourceActions gives those that fit a resource as it is now.
func (h *Hand) ResourceActions(ctx context.Context, boxName, namespace, name string) (*api.ResourceActions, error) {
	t, err := h.target(ctx, boxName, namespace, name)
	if err != nil {
		return nil, err
	}
	out := &api.ResourceActions{UID: string(t.live.GetUID()), Actions: []api.Action{}}
	for _, action := range resourceOrder {
		a := resourceActions[action]
		if a.unfitFor(t) != "" {
			continue
		}
		why, err := said(h.allowed(ctx, h.rights(t, a)...))
		if err != nil {
			return nil, err
		}
		out.Actions = append(out.Actions, api.Action{Name: action, May: why == "", Why: why})
	}
	return out, nil
}

// ActOnResource does something to a resource.
func (h *Hand) ActOnResource(ctx context.Context, boxName, namespace, name string, action api.ActionName, order api.Order) (*api.Done, error) {
	a, known := resourceActions[action]
	if !known {
		return nil, noSuchAction(action, slices.Clone(resourceOrder)...)
	}
	t, err := h.target(ctx, boxName, namespace, name)
	if err != nil {
		return nil, err
	}
	if err := h.allowed(ctx, h.rights(t, a)...); err != nil {
		return nil, err
	}
	if string(t.live.GetUID()) != order.UID {
		return nil, errReplaced(t.kind.Kind, name)
	}
	if why := a.unfitFor(t); why != "" {
		return nil, conflict("%s %q: %s", t.kind.Kind, name, why)
	}
	if err := h.annotate(ctx, t, action, a.annotations(h.Clock.Now())); err != nil {
		return nil, err
	}
	h.tell(t.live, a.reason, action, a.done)
	return &api.Done{Action: action, Message: a.done}, nil
}

// annotate writes annotations to a resource, and the name of the person with them. The patch names the UID: one of the same name that was made since is
// another resource.
func (h *Hand) annotate(ctx context.Context, t target, action api.ActionName, annotations map[string]any) error {
	written := maps.Clone(annotations)
	named, err := h.lastAction(action, h.Clock.Now())
	if err != nil {
		return err
	}
	if named != "" {
		written[v1alpha1.AnnotationLastAction] = named
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": t.live.GetUID(), "annotations": written}})
	if err != nil {
		return fmt.Errorf("writing the patch of %s %q: %w", t.kind.Kind, t.live.GetName(), err)
	}
	writer, err := h.Writer(t.box)
	if err != nil {
		return err
	}
	changed := &unstructured.Unstructured{}
	changed.SetGroupVersionKind(t.kind)
	changed.SetNamespace(t.live.GetNamespace())
	changed.SetName(t.live.GetName())
	err = writer.Patch(ctx, changed, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(v1alpha1.FieldManagerCenter))
	var refused apierrors.APIStatus
	if h.For != nil && errors.As(err, &refused) && apierrors.IsForbidden(err) {
		// It is not the person who is refused.
		return conflict("The box %q may not do this itself, so that the manager can't do it for you: %s", t.box.Name, refused.Status().Message)
	}
	if err != nil {
		return fmt.Errorf("patching %s %q: %w", t.kind.Kind, t.live.GetName(), err)
	}
	return nil
}
