package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/compiler"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/pipeline/overview"
	"github.com/orkspace/orkestra/engine/pipeline/providers"
)

// Resource is how a resource stands.
type Resource struct {
	// APIVersion, Kind, Namespace and Name of the resource.
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	// Created is when it was made.
	Created metav1.Time `json:"created"`
	// Ready says whether it is ready, and its status speaks of its newest generation.
	Ready bool `json:"ready"`
	// Unknown says that nobody knows whether it is. Ready is false then.
	Unknown bool `json:"unknown,omitempty"`
	// Unselected says that it is an object of others that the box does not select. Ready is false then, and nothing is wrong.
	Unselected bool `json:"unselected,omitempty"`
	// Failed says that its last reconcile has failed: what is not there may be so since that has not come to it.
	Failed bool `json:"-"`
	// Reason and Message say in one line why it is not, or why that is not known.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Box that holds it, and Revision of the box that its declarations are of.
	Box      string `json:"box,omitempty"`
	Revision string `json:"revision,omitempty"`
	// Notes are what else there is to know.
	Notes []string `json:"notes,omitempty"`
	// Declarations of the box, and children of none.
	Declarations []Declaration `json:"declarations"`
	// Provided is what providers have made, by what is noted on the resource.
	Provided []string `json:"provided,omitempty"`

	object *unstructured.Unstructured
}

// Declaration is how a declaration stands.
type Declaration struct {
	// Declaration names it as messages do; Group and Path say where it stands in the box.
	Declaration string `json:"declaration"`
	Group       string `json:"group,omitempty"`
	Path        string `json:"path,omitempty"`
	// APIVersion, Kind and Name are those of its child. Without a name there is none.
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name,omitempty"`
	// Created is when the child was made.
	Created *metav1.Time `json:"created,omitempty"`
	// State in one word, and Reason on one line.
	State  overview.State `json:"state"`
	Reason string         `json:"reason,omitempty"`
	// Gate is what the conditions say.
	Gate Gate `json:"gate"`
	// Patch says that it is a patch: the object is that of somebody else, and no child.
	Patch bool `json:"patch,omitempty"`

	patch string // the id of the patch
	kept  bool   // of a patch that may not act: what it has set stays
	child *unstructured.Unstructured
}

// Gate is what the conditions of a declaration say.
type Gate struct {
	// State is "open", "closed" or "unknown"; empty where none is asked: for a child of no declaration, or of a resource that is
	// being deleted.
	State string `json:"state,omitempty"`
	// Field, Wanted and Actual are those of the first condition that does not hold.
	Field  string `json:"field,omitempty"`
	Wanted string `json:"wanted,omitempty"`
	Actual string `json:"actual,omitempty"`
}

// Resource says how a resource stands. The error says why nothing can be said.
func (i *Inspector) Resource(ctx context.Context, t Target) (*Resource, error) {
	live, err := i.Objects.Get(ctx, t.Kind, t.Namespace, t.Name)
	if err != nil {
		return nil, err
	}
	if live == nil {
		return nil, absent(t)
	}
	boxes, err := i.boxesOf(ctx, t, live)
	if marked := live.GetAnnotations()[v1alpha1.AnnotationManagedBy]; marked != "" && apierrors.IsForbidden(err) {
		res := resourceOf(live, marked)
		res.notKnown(err)
		patched(ctx, i, res, false)
		return res, nil
	}
	if err != nil {
		return nil, err
	}
	return selecting(ctx, i, boxes, live)
}

// resourceOf is what a resource says of itself.
func resourceOf(live *unstructured.Unstructured, box string) *Resource {
	res := &Resource{
		APIVersion: live.GetAPIVersion(), Kind: live.GetKind(), Namespace: live.GetNamespace(), Name: live.GetName(),
		Created: live.GetCreationTimestamp(), Box: box, Declarations: []Declaration{}, Provided: providers.Made(live), object: live,
	}
	res.conditions(live)
	if live.GetDeletionTimestamp() == nil && live.GetAnnotations()[v1alpha1.AnnotationPaused] == v1alpha1.True {
		res.Notes = append(res.Notes, "It is paused by the annotation "+v1alpha1.AnnotationPaused+": nothing is made or corrected")
	}
	return res
}

// notKnown notes why nothing can be said of the declarations. Whether the resource is ready stands in its own status.
func (r *Resource) notKnown(err error) {
	r.Notes = append(r.Notes, "What the box declares is not known: "+oneLine(err.Error()))
}

// notServed says that the box is not ready. It is why nothing is known of a resource whose own status does not say how it stands: nothing runs, or what
// does is not the box as it is now. A box that is Degraded does run, and comes to each resource; and one that has taken the resource up tells more itself.
func (r *Resource) notServed(box *v1alpha1.OperatorBox, ready *metav1.Condition, noPlan bool) {
	said := ready.Reason + ": " + oneLine(ready.Message)
	taken := r.object.GetAnnotations()[v1alpha1.AnnotationManagedBy] == box.Name
	if r.Reason == reasonUnseen && (noPlan || !taken && ready.Reason != v1alpha1.ReasonDegraded) {
		how := "is not ready"
		if noPlan {
			how = "does not run"
		}
		r.Reason, r.Message = reasonNotRunning, fmt.Sprintf("OperatorBox %q %s: %s", box.Name, how, said)
		return
	}
	r.Notes = append(r.Notes, fmt.Sprintf("OperatorBox %q is not ready: %s", box.Name, said))
}

func absent(t Target) error {
	if t.Namespace == "" {
		return fmt.Errorf("%s %q not found", t.CRD, t.Name)
	}
	return fmt.Errorf("%s %q not found in namespace %q", t.CRD, t.Name, t.Namespace)
}

// boxesOf gives the boxes over the kind of a resource, with the one that serves it first.
func (i *Inspector) boxesOf(ctx context.Context, t Target, live *unstructured.Unstructured) ([]*v1alpha1.OperatorBox, error) {
	if all := over(i, t.CRD, live); len(all) > 0 {
		return all, nil
	}
	marked := live.GetAnnotations()[v1alpha1.AnnotationManagedBy]
	owner := live.GetLabels()[v1alpha1.LabelOwner]
	switch {
	case marked != "" && i.boxesErr != nil:
		box, err := i.Compiler.Box(ctx, marked) // the caller may not list boxes, but may be allowed to read this one by its name
		return []*v1alpha1.OperatorBox{box}, err
	case i.boxesErr != nil:
		return nil, fmt.Errorf("%s %q: no box has come to it yet, and whether one serves %s is not known: %w", t.Kind.Kind, t.Name, t.CRD, i.boxesErr)
	case marked != "":
		return nil, fmt.Errorf("%s %q: OperatorBox %q, which held it, is gone: nobody keeps the resource and its children. "+
			"Make a box for %s, or delete the resource", t.Kind.Kind, t.Name, marked, t.CRD)
	case owner != "":
		return nil, fmt.Errorf("%s %q is no resource of a box, but a child: it was made by the box %q for %q; ask for that",
			t.Kind.Kind, t.Name, live.GetLabels()[v1alpha1.LabelBox], owner)
	default:
		return nil, fmt.Errorf("%s %q: no OperatorBox serves %s", t.Kind.Kind, t.Name, t.CRD)
	}
}

// ResourceIn says how an object stands that is a resource of a box.
func (i *Inspector) ResourceIn(ctx context.Context, box *v1alpha1.OperatorBox, live *unstructured.Unstructured) (*Resource, error) {
	res := resourceOf(live, box.Name)
	plan, err := i.planOf(ctx, box, live)
	if ready := meta.FindStatusCondition(box.Status.Conditions, v1alpha1.ConditionReady); ready != nil && ready.Status != metav1.ConditionTrue {
		res.notServed(box, ready, err != nil)
	}
	if err != nil {
		if marked := live.GetAnnotations()[v1alpha1.AnnotationManagedBy]; marked != box.Name && crds.OthersName(box) != "" && !pipeline.Selects(compiler.ElderOf(box), live) {
			res.unselected(box) // its spec says so, whatever else is wrong with it
			return res, nil
		}
		res.notKnown(err)
		patched(ctx, i, res, false)
		return res, nil
	}
	res.Revision = plan.Revision
	if live.GroupVersionKind() != plan.CRD.Kind {
		// The plan reads the resource in its own version.
		if live, err = i.Objects.Get(ctx, plan.CRD.Kind, res.Namespace, res.Name); err != nil || live == nil {
			return nil, errors.Join(err, fmt.Errorf("%s %q has just been deleted", res.Kind, res.Name))
		}
		res.APIVersion, res.object = live.GetAPIVersion(), live
	}
	if !selects(plan, live) {
		defer res.unselected(box)
	}
	if plan.Constructor != nil {
		i.constructed(ctx, res, plan.Constructor, live)
		i.overdue(ctx, res, box)
		return res, nil
	}
	if res.Ready && !plan.CRD.OfOthers && live.GetAnnotations()[v1alpha1.AnnotationManagedBy] != box.Name {
		res.Ready, res.Reason, res.Message = false, reasonUnseen, "the box has not come to it yet: its condition Ready is of somebody else"
	}
	r := i.newReader(ctx, plan, live)
	for _, s := range r.overview(i.begin(r, res)) {
		res.Declarations = append(res.Declarations, declarationOf(s))
	}
	patched(ctx, i, res, true)
	if plan.CRD.OfOthers && res.Reason == reasonUnseen {
		i.byDeclarations(ctx, res)
	}
	res.refused()
	if !plan.CRD.OfOthers {
		i.begun(ctx, res, box)
		i.later(ctx, res, box)
	}
	i.overdue(ctx, res, box)
	res.notMade()
	res.notChanged()
	res.Notes = append(res.Notes, r.notes...)
	return res, nil
}

func declarationOf(s overview.Status) Declaration {
	apiVersion, kind := s.Kind.ToAPIVersionAndKind()
	d := Declaration{
		Declaration: s.Declaration, Group: s.Group, Path: s.Path, APIVersion: apiVersion, Kind: kind, Name: s.Name, State: s.State, Reason: s.Reason, child: s.Child, Patch: s.Patch != "", patch: s.Patch, kept: s.Kept,
		Gate: Gate{State: "closed", Field: s.Gate.Field, Wanted: s.Gate.Wanted, Actual: s.Gate.Actual},
	}
	switch {
	case s.Gate.Known && !s.Gate.Open && s.Gate.Field == "":
		d.Gate.State = "" // a child that no gate is asked for
	case s.Gate.Open:
		d.Gate.State = "open"
	case !s.Gate.Known:
		d.Gate.State = "unknown"
	}
	if s.Child != nil {
		created := s.Child.GetCreationTimestamp()
		d.Created = &created
	}
	return d
}

// byDeclarations says of an object of others, whose status is not the box's, whether all is there that the box declares for it. What another box has
// made and left is none of that. What fails, the health of the box names.
func (i *Inspector) byDeclarations(ctx context.Context, r *Resource) {
	r.Ready, r.Reason, r.Message = true, "", ""
	for _, d := range r.Declarations {
		switch {
		case d.State == overview.StateReady, d.State == overview.StateCompleted, d.State == overview.StateOff:
		case d.child != nil && d.State == overview.StateUndeclared && d.child.GetLabels()[v1alpha1.LabelBox] != r.Box:
			r.Notes = append(r.Notes, fmt.Sprintf("%s %s is left as it is: OperatorBox %q made it, and %q does not declare it", d.Kind, d.Name, d.child.GetLabels()[v1alpha1.LabelBox], r.Box))
		default:
			if r.Ready {
				r.Ready, r.Reason, r.Message = false, string(d.State), strings.TrimSuffix(d.Declaration+": "+d.Reason, ": ")
			}
		}
	}
	health, _ := i.health(ctx, r.Box) // what may not be read names nothing
	if f := failingOf(health, r); f != nil {
		r.fails(f)
	}
}

// Message is the API server's own message in an error, in one line.
func Message(err error) string { return oneLine(message(err)) }

// message is the API server's own message in an error, without the context that callers have added.
func message(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Message
	}
	return err.Error()
}

// UID of the resource.
func (r *Resource) UID() types.UID { return r.object.GetUID() }

// Child is the living child; nil: there is none.
func (d Declaration) Child() *unstructured.Unstructured { return d.child }

// Resources says how the resources of a box stand: those of a namespace, or of all where it is empty. Objects of others that the box does not
// select are none of them.
func (i *Inspector) Resources(ctx context.Context, box *v1alpha1.OperatorBox, namespace string) ([]*Resource, error) {
	picked, err := crdOf(ctx, i.Compiler, box)
	if err != nil {
		return nil, err
	}
	if !picked.Namespaced {
		namespace = ""
	}
	all, err := i.List(ctx, picked.Kind, namespace)
	if err != nil {
		return nil, err
	}
	out := make([]*Resource, 0, len(all))
	for _, live := range all {
		res, err := i.ResourceIn(ctx, box, live)
		if err != nil {
			return out, err
		}
		if !res.beside() {
			out = append(out, res)
		}
	}
	return out, nil
}

// ResourceOf says how an object stands that is a resource of a box; nil: it is none.
func (i *Inspector) ResourceOf(ctx context.Context, live *unstructured.Unstructured) (*Resource, error) {
	kind := live.GroupVersionKind()
	for n := range i.boxes {
		if _, group, _ := strings.Cut(crds.NameOf(&i.boxes[n]), "."); i.boxes[n].Status.CRD.Kind == kind.Kind && group == kind.Group {
			res, err := selecting(ctx, i, over(i, crds.NameOf(&i.boxes[n]), live), live)
			if err != nil || res.beside() {
				return nil, err
			}
			return res, nil
		}
	}
	return nil, nil //nolint:nilnil // no resource is a legal answer
}

// List gives the objects of a kind in a namespace, or in all where it is empty, by namespace and name.
func (s *Session) List(ctx context.Context, kind schema.GroupVersionKind, namespace string) ([]*unstructured.Unstructured, error) {
	all, err := s.Objects.List(ctx, kind, namespace, labels.Everything())
	slices.SortFunc(all, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return all, err
}
