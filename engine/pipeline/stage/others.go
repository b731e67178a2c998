package stage

import (
	"context"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/value"
)

// What is noted on objects of others: our finalizer where something would be left behind without it, and the annotations of what has to be
// remembered. One that has either has the label that names the box, too. All others stay as they are.

// Holds says whether a resource carries marks of the box, so that it has to be let go. Of an object of others, somebody may have taken the
// label off and left the finalizer: that is then the business of any box that sees it, or nobody could delete the object.
func (p *Plan) Holds(resource *unstructured.Unstructured) bool {
	held := slices.Contains(resource.GetFinalizers(), v1alpha1.Finalizer)
	if !p.CRD.OfOthers {
		return held
	}
	by, named := resource.GetLabels()[v1alpha1.LabelServedBy]
	return by == p.Box || held && !named
}

// HeldBy names the other box whose finalizer is on an object of others; empty: there is none. A label without the finalizer says nothing:
// controllers copy labels to what they make.
func (p *Plan) HeldBy(resource *unstructured.Unstructured) string {
	by := value.Label(resource, v1alpha1.LabelServedBy)
	if !p.CRD.OfOthers || by == p.Box || !slices.Contains(resource.GetFinalizers(), v1alpha1.Finalizer) {
		return ""
	}
	return by
}

// Removable are the finalizers that the box may take off a resource: those of the plan, and Orkestra's, which a former plan may have put on an
// object of others.
func (p *Plan) Removable() []string {
	if slices.Contains(p.Finalizers, v1alpha1.Finalizer) {
		return p.Finalizers
	}
	return append(slices.Clone(p.Finalizers), v1alpha1.Finalizer)
}

// markedOfOthers says whether an object of others has what the plan puts on all of them. What is noted on some is not among it.
func (p *Plan) markedOfOthers(resource *unstructured.Unstructured) bool {
	if len(p.Finalizers) == 0 || p.HeldBy(resource) != "" {
		return true
	}
	return apply.Marks{Finalizers: p.Finalizers, Labels: p.servedBy()}.Carried(resource)
}

func (p *Plan) servedBy() map[string]string {
	return map[string]string{v1alpha1.LabelServedBy: p.Box}
}

// withoutCopied gives an object of others without annotations of ours that this box did not write: those that a controller has copied from the
// object that it made this one for, as from a Deployment to its ReplicaSets, and those of another box. They say nothing about this object.
func (p *Plan) withoutCopied(resource *unstructured.Unstructured) *unstructured.Unstructured {
	if !p.CRD.OfOthers || p.Holds(resource) || !slices.ContainsFunc(slices.Collect(maps.Keys(resource.GetAnnotations())), IsOurMark) {
		return resource
	}
	seen := &unstructured.Unstructured{Object: maps.Clone(resource.Object)}
	metadata, _ := seen.Object["metadata"].(map[string]any)
	seen.Object["metadata"] = maps.Clone(metadata)
	annotations := resource.GetAnnotations() // a copy
	maps.DeleteFunc(annotations, func(key, value string) bool { return IsOurMark(key) && !notesTaken(resource, key, value) })
	seen.SetAnnotations(annotations)
	return seen
}

// notesTaken says whether an annotation notes what patches of this very object have taken of others. It outlives the box, and the one that comes
// after it gives that back: the note names the object by its UID.
func notesTaken(resource *unstructured.Unstructured, key, value string) bool {
	return key == v1alpha1.AnnotationPatches && resource.GetUID() != "" && strings.Contains(value, string(resource.GetUID()))
}

// ofOthers gives those of the marks of a resource that an object of others must carry.
func (m *Marks) ofOthers(p *Plan, stored *unstructured.Unstructured, marks apply.Marks) apply.Marks {
	annotations := marks.Annotations
	delete(annotations, v1alpha1.AnnotationManagedBy)
	delete(annotations, v1alpha1.AnnotationManagedSince)
	if !p.NotesActive {
		delete(annotations, v1alpha1.AnnotationActiveSince)
		delete(annotations, v1alpha1.AnnotationHookGeneration)
	}
	maps.DeleteFunc(annotations, func(_, value string) bool { return value == "" || value == "{}" })
	needless := m.Needless(stored)
	if needless && (p.Holds(stored) || m.Inherited) && !m.LetGo {
		marks.Finalizers = append(slices.Clone(marks.Finalizers), v1alpha1.Finalizer) // until nothing is left behind
	}
	marks.Labels = nil
	if len(marks.Finalizers)+len(annotations) > 0 {
		marks.Labels = p.servedBy()
	}
	// What it has of ours and does not need goes.
	for key := range stored.GetAnnotations() {
		_, wanted := annotations[key]
		marks.Fewer = marks.Fewer || IsOurMark(key) && !wanted
	}
	marks.Fewer = marks.Fewer || marks.Labels == nil || needless && m.LetGo
	return marks
}

// Needless says whether an object carries our finalizer, and nothing that the plan makes has a need for it.
func (m *Marks) Needless(stored *unstructured.Unstructured) bool {
	return !slices.Contains(m.Finalizers, v1alpha1.Finalizer) && slices.Contains(stored.GetFinalizers(), v1alpha1.Finalizer)
}

// TakeHold puts our finalizer on an object of others for something that is about to be made and that the garbage collector would not delete with
// it, where the plan could not know of that. Lighten takes it off again.
func TakeHold(ctx context.Context, c *Cycle) error {
	if !c.Plan.CRD.OfOthers || c.Deleting || slices.Contains(c.Marks.Finalizers, v1alpha1.Finalizer) {
		return nil
	}
	c.Marks.Finalizers = append(slices.Clone(c.Marks.Finalizers), v1alpha1.Finalizer)
	return c.Mark(ctx)
}

// Unmark takes all marks off an object of others that leaves the selection, and the finalizers of the box.
func Unmark(ctx context.Context, c *Cycle) error {
	stored := c.Stored
	if c.Plan.AccountProblem.Reason == "" { // without its account, only what holds the object is taken off
		answer, err := c.Ports.Marker.Mark(ctx, stored, apply.Marks{Fewer: true})
		if err != nil {
			return err
		}
		stored = answer
	}
	return c.Ports.Marker.Finish(ctx, stored, c.Marks.Finalizers)
}
