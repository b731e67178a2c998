package render

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/cmd/orkestra/input"
	"github.com/orkspace/orkestra/cmd/orkestra/validate"
	"github.com/orkspace/orkestra/engine/pipeline"
)

const (
	// maxCycles is how many cycles a resource may take: each gate that opens the next takes one.
	maxCycles = 50
	// noUID stands for the UID that the API server gives.
	noUID = types.UID("00000000-0000-0000-0000-000000000000")
)

// rendering renders one resource after the other.
type rendering struct {
	*validate.Validator

	known   *state
	now     time.Time
	objects []*unstructured.Unstructured // what is printed
	patches []*unstructured.Unstructured // what is printed after that: fields of objects of others
}

// resource renders one resource. ok is false where it, or what is made of it, has a mistake.
func (r *rendering) resource(ctx context.Context, doc input.Document, status bool, notes io.Writer) (ok bool, err error) {
	plan, err := r.planFor(doc)
	if err != nil {
		return false, err
	}
	stored, wrong, err := admitted(ctx, plan, doc)
	if err != nil || len(wrong) > 0 {
		return false, writeLines(notes, wrong, err)
	}
	if plan.Constructor != nil {
		return true, writeLines(notes, []string{fmt.Sprintf("%s %q: it is reconciled by the constructor %s, which is compiled into a manager and is not run here: there is nothing to render",
			stored.GetKind(), stored.GetName(), plan.Constructor.Name)}, nil)
	}
	m := &memory{Validator: r.Validator, plan: plan, known: r.known, ctx: func() context.Context { return ctx }}
	run, cycleErr := m.converge(ctx, stored, r.now)
	result, cycleErr := run.Result(ctx, cycleErr)
	if m.unread != nil {
		return false, m.unread
	}
	desired, _, err := plan.Status.Desired(run.Stored, result, metav1.NewTime(r.now))
	if err != nil {
		return false, err
	}
	r.objects, r.patches = append(r.objects, m.rendered()...), append(r.patches, m.patches...)
	if status {
		shown := run.Stored.DeepCopy()
		unstructured.RemoveNestedField(shown.Object, "metadata", "uid")
		shown.Object["status"] = desired
		r.objects = append(r.objects, shown)
	}
	var lines []string
	subject := fmt.Sprintf("%s %q", stored.GetKind(), stored.GetName())
	for _, c := range []metav1.Condition{result.Ready, result.Reconciling, result.Stalled} {
		lines = append(lines, strings.TrimRight(fmt.Sprintf("%s: %s=%s %s: %s", subject, c.Type, c.Status, c.Reason, c.Message), ": "))
	}
	for _, w := range run.Waits {
		lines = append(lines, fmt.Sprintf("%s: waits: %s", subject, w.Message))
	}
	for _, e := range run.Events {
		lines = append(lines, fmt.Sprintf("%s: event: %s: %s", subject, e.Reason, e.Message))
	}
	return cycleErr == nil, writeLines(notes, lines, nil)
}

// served gives the documents of -r that a box serves. The others are what the cluster has besides, as with --with.
func (r *rendering) served(docs []input.Document, notes io.Writer) (served, others []input.Document, err error) {
	for _, doc := range docs {
		if slices.ContainsFunc(r.Boxes, func(b validate.Box) bool {
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
	for _, doc := range others {
		line := fmt.Sprintf("%s: %s %q: no box in -f serves it; it is taken for what the cluster has", doc.File, doc.Kind(), doc.Name())
		if err := writeLines(notes, []string{line}, nil); err != nil {
			return nil, nil, err
		}
	}
	return served, others, nil
}

func writeLines(w io.Writer, lines []string, err error) error {
	if err != nil || len(lines) == 0 {
		return err
	}
	_, err = io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

// planFor gives the plan of the box that serves a resource.
func (r *rendering) planFor(doc input.Document) (*pipeline.Plan, error) {
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
			return nil, fmt.Errorf("the CRD of box %q is not known: give it by --crd, or --cluster", b.Name)
		}
		served = append(served, kind.GroupKind().String())
	}
	slices.Sort(served)
	return nil, fmt.Errorf("%s: %s %q: no box in -f serves this kind; they serve %s", doc.File, doc.Kind(), doc.Name(), strings.Join(served, ", "))
}

// admitted gives a resource as the API server would store it; wrong says why it would not.
func admitted(ctx context.Context, plan *pipeline.Plan, doc input.Document) (stored *unstructured.Unstructured, wrong []string, err error) {
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
	for _, m := range slices.Concat(doc.Keys(), found.Mistakes(doc)) {
		wrong = append(wrong, fmt.Sprintf("%s:%d: %s %q: %s: %s", doc.File, m.Line, doc.Kind(), doc.Name(), m.Path, m.Message))
	}
	stored = &unstructured.Unstructured{Object: content}
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
	return stored, wrong, nil
}
