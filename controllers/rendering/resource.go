package rendering

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/controllers/input"
	"github.com/orkspace/orkestra/controllers/validation"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

const (
	// maxCycles is how many cycles a resource may take: each gate that opens the next takes one.
	maxCycles = 50
	// noUID stands for the UID that the API server gives.
	noUID = types.UID("00000000-0000-0000-0000-000000000000")
)

// Words say where what is missing can be given, as who asks knows it.
type Words struct {
	// Boxes is where boxes stand, such as -f.
	Boxes string
	// GiveCRD is how a CRD can be given, such as "by --crd, or --cluster".
	GiveCRD string
	// GiveRest is how else can be given what a cluster has, such as "by --with".
	GiveRest string
	// Unread ends what is said of an object that was not read because no cluster is asked.
	Unread string
}

// Rendering renders one resource after the other with the boxes that a Validator has compiled.
type Rendering struct {
	*validation.Validator

	// Words are those of who asks.
	Words Words
	// Known is what else a cluster has.
	Known *State
	// Now is the moment of which it speaks.
	Now time.Time
	// GoesOn says that what the cluster refuses to show is taken for what is not known. Otherwise it ends the rendering of a resource with an error.
	GoesOn bool
}

// Rendered is what the cluster would get for one resource.
type Rendered struct {
	// Stored is the resource as the API server would store it.
	Stored *unstructured.Unstructured
	// Mistakes are why it would not. Nothing else is known then.
	Mistakes []input.Mistake
	// Constructor names what reconciles it in place of declarations; empty: it is rendered. Nothing else is known then.
	Constructor string
	// Objects are its children, by the order of kinds inside a group, namespace and name.
	Objects []*unstructured.Unstructured
	// Patches hold the fields that are set of objects of others.
	Patches []*unstructured.Unstructured
	// Shown is the resource with the status that it would show.
	Shown *unstructured.Unstructured
	// Conditions are Ready, Reconciling and Stalled of that status.
	Conditions []metav1.Condition
	// Waits say what it waits for.
	Waits []string
	// Events are those that it would have.
	Events []stage.Event
	// Unread says why something could not be read in the cluster; nil: all could.
	Unread error
	// Err is the error that ended the reconcile; nil: none did.
	Err error
}

// Resource renders one resource. The error is that no box here serves it, or that something could not be read.
func (r *Rendering) Resource(ctx context.Context, doc input.Document) (*Rendered, error) {
	plan, err := r.planFor(doc)
	if err != nil {
		return nil, err
	}
	out := &Rendered{}
	if out.Stored, out.Mistakes, err = admitted(ctx, plan, doc); err != nil || len(out.Mistakes) > 0 {
		return out, err
	}
	if plan.Constructor != nil {
		out.Constructor = plan.Constructor.Name
		return out, nil
	}
	m := &memory{Rendering: r, plan: plan, ctx: func() context.Context { return ctx }, unread: r.unread()}
	run, cycleErr := m.converge(ctx, out.Stored, r.Now)
	if out.Unread = m.refused; out.Unread != nil {
		if !r.GoesOn {
			return nil, out.Unread
		}
		// Once more: of everything that was not found it is said that it could not be read.
		m = &memory{Rendering: r, plan: plan, ctx: m.ctx, unread: "could not be read: " + out.Unread.Error()}
		run, cycleErr = m.converge(ctx, out.Stored, r.Now)
	}
	result, cycleErr := run.Result(ctx, cycleErr)
	desired, _, err := plan.Status.Desired(run.Stored, result, metav1.NewTime(r.Now))
	if err != nil {
		return nil, fmt.Errorf("making the status: %w", err)
	}
	out.Shown = run.Stored.DeepCopy()
	unstructured.RemoveNestedField(out.Shown.Object, "metadata", "uid")
	out.Shown.Object["status"] = desired
	out.Objects, out.Patches, out.Err = m.rendered(), m.patches, cycleErr
	out.Conditions = []metav1.Condition{result.Ready, result.Reconciling, result.Stalled}
	for _, w := range run.Waits {
		out.Waits = append(out.Waits, w.Message)
	}
	out.Events = run.Events
	return out, nil
}

func (r *Rendering) unread() string {
	if r.Cluster == nil {
		return r.Words.Unread
	}
	return ""
}

// Served parts documents into those that a box serves and others, which are what the cluster has besides.
func (r *Rendering) Served(docs []input.Document) (served, others []input.Document, err error) {
	for _, doc := range docs {
		if slices.ContainsFunc(r.Boxes, func(b validation.Box) bool {
			return b.Plan.CRD.Kind.Empty() || b.Plan.CRD.Kind.Group == doc.Group() && b.Plan.CRD.Kind.Kind == doc.Kind()
		}) {
			served = append(served, doc)
			continue
		}
		others = append(others, doc)
	}
	if len(served) == 0 {
		_, err := r.planFor(docs[0])
		return nil, nil, err
	}
	return served, others, nil
}

// planFor gives the plan of the box that serves a resource.
func (r *Rendering) planFor(doc input.Document) (*pipeline.Plan, error) {
	group := doc.Group()
	var served []string
	for _, b := range r.Boxes {
		kind := b.Plan.CRD.Kind
		if kind.Group == group && kind.Kind == doc.Kind() {
			if kind.GroupVersion().String() != doc.APIVersion() {
				return nil, fmt.Errorf("%s: apiVersion: %q: the box %q works in %q; write the resource in that version", doc.File, doc.APIVersion(), b.Name, kind.GroupVersion())
			}
			return b.Plan, nil
		}
		if kind.Empty() {
			return nil, fmt.Errorf("the CRD of box %q is not known: give it %s", b.Name, r.Words.GiveCRD)
		}
		served = append(served, kind.GroupKind().String())
	}
	slices.Sort(served)
	return nil, fmt.Errorf("%s: %s %q: no box in %s serves this kind; they serve %s", doc.File, doc.Kind(), doc.Name(), r.Words.Boxes, strings.Join(served, ", "))
}

// admitted gives a resource as the API server would store it; wrong says why it would not.
func admitted(ctx context.Context, plan *pipeline.Plan, doc input.Document) (stored *unstructured.Unstructured, wrong []input.Mistake, err error) {
	content := runtime.DeepCopyJSON(doc.Content)
	found := input.NewFindings(doc.Content)
	found.Add(input.FromSchema, input.Metadata(content)...)
	if plan.CRD.Schema != nil {
		schema, err := input.NewSchema(plan.CRD.Schema)
		if err != nil {
			return nil, nil, fmt.Errorf("reading the schema of %s: %w", plan.CRD.Name, err)
		}
		schema.Admit(ctx, content, found)
	}
	wrong = slices.Concat(doc.Keys(), found.Mistakes(doc))
	stored = &unstructured.Unstructured{Object: content}
	if len(wrong) > 0 {
		return stored, wrong, nil
	}
	if stored.GetNamespace() == "" && plan.CRD.Namespaced {
		stored.SetNamespace(metav1.NamespaceDefault)
	}
	if !plan.CRD.Namespaced {
		stored.SetNamespace("")
	}
	if stored.GetUID() == "" {
		stored.SetUID(noUID)
	}
	if stored.GetGeneration() == 0 {
		stored.SetGeneration(1)
	}
	stored.SetDeletionTimestamp(nil)
	return stored, nil, nil
}
