package center

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/inspect"
	"github.com/orkspace/orkestra/engine/pipeline/overview"
	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/view"
)

// Resource gives one resource of a box. The namespace is empty for a kind that has none.
func (c *Center) Resource(ctx context.Context, boxName, namespace, name string) (*api.Resource, error) {
	box, err := c.boxNamed(ctx, boxName)
	if err != nil {
		return nil, err
	}
	inspector, err := c.Inspecting.Inspector(ctx, c.Clock.Now())
	if err != nil {
		return nil, err
	}
	live, err := c.live(ctx, box, namespace, name)
	if err != nil {
		return nil, err
	}
	found, err := inspector.ResourceIn(ctx, box, live)
	if err != nil {
		return nil, err
	}
	out := resourceOf(found, live, box)
	out.History = c.Cycles(ctx, boxName, namespace, name)
	about := AboutResource(found)
	if out.Events, out.EventsNote, err = c.Events(ctx, namespace, about); err != nil {
		out.EventsNote = "Events are not known: " + err.Error()
	}
	if out.Cause != nil && awaitsChild[found.Reason] {
		out.Cause.Warnings = about.warnings(out.Events)
	}
	out.Snapshots = c.snapshots(ctx, box, live)
	return out, nil
}

// live reads a resource of a box.
func (c *Center) live(ctx context.Context, box *v1alpha1.OperatorBox, namespace, name string) (*unstructured.Unstructured, error) {
	kind, err := KindOf(box)
	if err != nil {
		return nil, err
	}
	live, err := c.Inspecting.Objects.Get(ctx, kind, namespace, name)
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what was read
	}
	if live == nil {
		return nil, fmt.Errorf("reading %s %q: %w", kind.Kind, name, apierrors.NewNotFound(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, name))
	}
	return live, nil
}

// resourceOf is what the page shows of what the inspector has found.
func resourceOf(found *inspect.Resource, live *unstructured.Unstructured, box *v1alpha1.OperatorBox) *api.Resource {
	out := &api.Resource{
		Row: view.Row(live), APIVersion: found.APIVersion, Kind: found.Kind, Box: found.Box, Revision: found.Revision, Headline: found.Headline(),
		Declarations: make([]api.Declaration, 0, len(found.Declarations)), Provided: found.Provided, Conditions: view.ResourceConditions(live),
		YAML: view.YAML(live), Notes: found.Notes,
	}
	for _, d := range found.Declarations {
		one := api.Declaration{
			Declaration: d.Declaration, Group: d.Group, Path: d.Path, APIVersion: d.APIVersion, Kind: d.Kind, Name: d.Name, State: string(d.State), Reason: d.Reason,
			Gate: api.Gate{State: d.Gate.State, Field: d.Gate.Field, Wanted: d.Gate.Wanted, Actual: d.Gate.Actual},
		}
		if child := d.Child(); child != nil {
			one.Created, one.Namespace, one.YAML = &d.Created.Time, child.GetNamespace(), view.YAML(child)
		}
		out.Declarations = append(out.Declarations, one)
	}
	if out.Cause = causeOf(found, out.Declarations); out.Cause != nil {
		out.Cause.Reason = found.Reason
		out.Cause.Todo, out.Cause.Page = view.Advice(found.Reason, found.Message)
		if found.Reason == v1alpha1.ReasonForbidden {
			out.Cause.Todo = grant(box)
		}
	}
	return out
}

// causeOf is what keeps a resource from having all that is declared: an error of its reconcile, else the first declaration that does not go on, the worst
// state first. That a child is not there and nothing keeps it from being made explains nothing: the resource itself says what it waits for.
func causeOf(found *inspect.Resource, declarations []api.Declaration) *api.Cause {
	if found.Unselected || found.Ready && found.Reason == "" {
		return nil
	}
	for _, d := range declarations {
		if found.Failed && d.Reason != "" && strings.HasSuffix(found.Message, ": "+d.Reason) {
			return causeIn(d) // it says itself what the reconcile has failed by
		}
	}
	if found.Reason != v1alpha1.ReasonReconcileError {
		states := []overview.State{overview.StateError, overview.StateFailed, overview.StateWaiting, overview.StateTerminating, overview.StateProgressing}
		if found.Failed {
			states = states[:2] // what waits or is not there is so since the reconcile has not come to it
		}
		for _, state := range states {
			for _, d := range declarations {
				if d.State == string(state) {
					return causeIn(d)
				}
			}
		}
	}
	return &api.Cause{Message: found.Said()}
}

// causeIn is a declaration that does not go on.
func causeIn(d api.Declaration) *api.Cause {
	return &api.Cause{Declaration: d.Declaration, Path: d.Path, Field: d.Gate.Field, Wanted: d.Gate.Wanted, Actual: d.Gate.Actual, Message: d.Declaration + ": " + d.Reason}
}

// NoHistory is a history without a reconcile, and why there is none.
func NoHistory(note string) api.History { return api.History{Note: note, Cycles: []api.Cycle{}} }
