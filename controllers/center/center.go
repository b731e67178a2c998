// Package center answers what the Control Center asks, for one person: from what that person may read, wherever it comes from. `orkestra ui` and the
// manager use the same code.
package center

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/inspect"
	"github.com/orkspace/orkestra/controllers/validation"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/identity"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/status"
	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/rows"
	"github.com/orkspace/orkestra/engine/web/view"
)

// Rows are those of a box's resources.
type Rows struct {
	*rows.Table

	// Notes say what the rows do not.
	Notes []string
	// May says whether the person sees what is in a namespace; nil: all of it.
	May func(namespace string) bool
}

// Ports are what is read for one person.
type Ports struct {
	// Own reads OperatorBoxes and CRDHealths, as far as the person may. An error is one of the API server's kind.
	Own client.Reader
	// Inspecting says how resources stand, from what the person may read.
	Inspecting *inspect.Session
	// Revisions of a box.
	Revisions func(ctx context.Context, box string) ([]appsv1.ControllerRevision, error)
	// Events about some objects of a namespace, the newest first, and a sentence where there may be more.
	Events func(ctx context.Context, namespace string, about About) (events []api.Event, note string, err error)
	// Granted says whether the account of a box has a right; the zero account is the manager. The error says why that is not known.
	Granted func(ctx context.Context, account identity.Account, box string, right access.Right) (bool, error)
	// Steps are what those of a box's reconciles did, in no order, and since when or why not that is known.
	Steps func(box string) api.Steps
	// Rows of a box.
	Rows func(ctx context.Context, box *v1alpha1.OperatorBox) (Rows, error)
	// Find gives the resources of a box that match a text in lower case, of those that the person may list, and sentences on what was not searched.
	Find func(ctx context.Context, box *v1alpha1.OperatorBox, text string) (found []rows.Match, notes []string, err error)
	// Cycles are the last reconciles of a resource of a box, as far as the person may know of them.
	Cycles func(ctx context.Context, box, namespace, name string) api.History
	// Hour is the last one of a box; nil: nobody remembers it.
	Hour func(box string) *api.Hour
	// Checking is what boxes are checked with that somebody has written, but for the boxes. Its cluster reads as the person may.
	Checking validation.Options
	// Manager says whether one is at work.
	Manager func(ctx context.Context) api.Manager
	// Person is who asks.
	Person api.Person
	// Clock tells the time.
	Clock clock.PassiveClock
}

// Center answers one person.
type Center struct{ Ports }

// Fleet gives all boxes that the person may read.
func (c *Center) Fleet(ctx context.Context) (*api.Fleet, error) {
	var boxes v1alpha1.OperatorBoxList
	if err := c.Own.List(ctx, &boxes); err != nil {
		return nil, fmt.Errorf("listing OperatorBoxes: %w", err)
	}
	healths, err := c.healths(ctx)
	out := &api.Fleet{Manager: c.Manager(ctx), Person: c.Person, Policies: view.Policies(boxes.Items), Boxes: make([]api.Box, 0, len(boxes.Items))}
	if err != nil {
		out.Notes = append(out.Notes, "How boxes fare is not known: "+err.Error())
	}
	for i := range boxes.Items {
		health := healthOf(healths, boxes.Items[i].Name)
		one := view.Box(&boxes.Items[i], health)
		if hour := c.hour(health); hour != nil {
			one.Hour = &api.Hour{Since: hour.Since, From: hour.From, To: hour.To, Failing: hour.Failing} // a fleet has hundreds of boxes
		}
		out.Boxes = append(out.Boxes, one)
	}
	return out, nil
}

func (c *Center) healths(ctx context.Context) ([]v1alpha1.CRDHealth, error) {
	var list v1alpha1.CRDHealthList
	if err := c.Own.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("listing CRDHealths: %w", err)
	}
	return list.Items, nil
}

func healthOf(all []v1alpha1.CRDHealth, box string) *v1alpha1.CRDHealth {
	for i := range all {
		if all[i].Name == box {
			return &all[i]
		}
	}
	return nil
}

// hour is the last one of a box whose health the person may read: it says the same of earlier.
func (c *Center) hour(health *v1alpha1.CRDHealth) *api.Hour {
	if health == nil {
		return nil
	}
	return c.Hour(health.Name)
}

// steps are what those of a box did whose health the person may read: failures name resources, as it does.
func (c *Center) steps(health *v1alpha1.CRDHealth) api.Steps {
	if health == nil {
		return api.Steps{Note: "How the box fares is not known, or may not be read", Steps: []api.Step{}}
	}
	return c.Steps(health.Name)
}

// boxNamed gives a box; the error of one that is not there is NotFound.
func (c *Center) boxNamed(ctx context.Context, name string) (*v1alpha1.OperatorBox, error) {
	box := &v1alpha1.OperatorBox{}
	if err := c.Own.Get(ctx, types.NamespacedName{Name: name}, box); err != nil {
		return nil, fmt.Errorf("reading OperatorBox %q: %w", name, err)
	}
	box.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("OperatorBox"))
	return box, nil
}

// Box gives one box.
func (c *Center) Box(ctx context.Context, name string) (*api.BoxDetail, error) {
	box, err := c.boxNamed(ctx, name)
	if err != nil {
		return nil, err
	}
	healths, err := c.healths(ctx)
	out := view.Detail(box, healthOf(healths, name), healths)
	advise(out, box)
	out.Hour, out.Cycle = c.hour(healthOf(healths, name)), c.steps(healthOf(healths, name))
	note := func(what string, err error) {
		if err != nil {
			out.Notes = append(out.Notes, what+" not known: "+err.Error())
		}
	}
	note("How the box fares is", err)
	note("What the box declares is", c.declared(ctx, box, out)) // also which steps there are
	revisions, err := c.Revisions(ctx, name)
	note("What the box has said before is", err)
	out.Revisions = view.Revisions(revisions, out.Revision)
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(box)
	if err != nil {
		return nil, fmt.Errorf("reading OperatorBox %q: %w", name, err)
	}
	out.YAML = view.YAML(&unstructured.Unstructured{Object: fields})
	return out, nil
}

// declared adds what the revision of the box that runs declares.
func (c *Center) declared(ctx context.Context, box *v1alpha1.OperatorBox, out *api.BoxDetail) error {
	plan, err := c.Plan(ctx, box)
	if err != nil {
		return err
	}
	for _, d := range plan.Declared() {
		out.Declarations = append(out.Declarations, view.BoxDeclaration(d))
	}
	out.Cycle.Steps = view.Steps(plan.Outline().Steps, out.Cycle.Steps)
	return nil
}

// Plan is that of the revision of a box that runs.
func (c *Center) Plan(ctx context.Context, box *v1alpha1.OperatorBox) (*pipeline.Plan, error) {
	inspector, err := c.Inspecting.Inspector(ctx, c.Clock.Now())
	if err != nil {
		return nil, err
	}
	return inspector.Plan(ctx, box)
}

// Page gives a page of the resources of a box.
func (c *Center) Page(ctx context.Context, name string, q rows.Query) (*api.Rows, error) {
	box, err := c.boxNamed(ctx, name)
	if err != nil {
		return nil, err
	}
	all, err := c.Rows(ctx, box)
	if err != nil {
		return nil, err
	}
	page := all.Page(q, all.May)
	page.Notes = append(page.Notes, all.Notes...)
	return page, nil
}

// Unserved is the error of asking for the resources of a box that serves none, a conflict: the box is there, and its conditions say why.
func Unserved(box *v1alpha1.OperatorBox, why string) error {
	if ready := meta.FindStatusCondition(box.Status.Conditions, v1alpha1.ConditionReady); ready != nil && ready.Status != metav1.ConditionTrue {
		why = ready.Reason + ": " + ready.Message
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusConflict, Reason: metav1.StatusReasonConflict,
		Message: fmt.Sprintf("OperatorBox %q serves no resources: %s", box.Name, why),
	}}
}

// KindOf is the kind of a box's resources. The error is that of Unserved where it has none.
func KindOf(box *v1alpha1.OperatorBox) (schema.GroupVersionKind, error) {
	crd := box.Status.CRD
	_, group, found := strings.Cut(crd.Name, ".")
	if crd.Kind == "" || !found {
		return schema.GroupVersionKind{}, Unserved(box, "no manager has looked for its CRD yet")
	}
	return schema.GroupVersionKind{Group: group, Version: crd.Version, Kind: crd.Kind}, nil
}

// Unwritten says why the status of a box's resources has no conditions, so that nobody can tell from it how they fare; nil: it has them, or is for others
// to write.
func Unwritten(plan *pipeline.Plan) *status.Unwritten {
	if plan.Constructor != nil || plan.Status == nil {
		return nil
	}
	unwritten := plan.Status.Unwritten(plan.CRD.Name, plan.CRD.Kind.Version)
	if unwritten == nil || !unwritten.Conditions {
		return nil
	}
	return unwritten
}

// NotesOn are what the rows of a box do not say.
func NotesOn(plan *pipeline.Plan) []string {
	if plan.CRD.OfOthers {
		return []string{"These objects belong to others, and their own conditions are shown. Open one to see what the box makes of it"}
	}
	if plan.Constructor != nil {
		return []string{"The status of these resources is written by the box's constructor"}
	}
	if unwritten := Unwritten(plan); unwritten != nil {
		return []string{"How these resources fare is not in their status: " + unwritten.Message}
	}
	return nil
}
