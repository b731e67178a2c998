package pipeline

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// MayHaveMade says whether an object that carries the marks of a resource's child is where the plan, or a kept revision, can have made
// it: everybody who may write objects can write labels, and name any field manager. It can be in the resource's namespace, in one that
// declarations name, and in one that is noted on the resource. What needs no namespace only those can write who may write everywhere.
//
// A resource that was marked before there were notes has none, until its next cycle. Until then its children may be anywhere that
// templates can lead to.
func (p *Plan) MayHaveMade(resource, child *unstructured.Unstructured) bool {
	namespace := child.GetNamespace()
	if namespace == "" || namespace == resource.GetNamespace() || slices.Contains(p.places.Literal, namespace) {
		return true
	}
	annotations := resource.GetAnnotations()
	if note, noted := annotations[v1alpha1.AnnotationNamespaces]; noted {
		return slices.Contains(strings.Split(note, ","), namespace)
	}
	return p.places.Templated && annotations[v1alpha1.AnnotationManagedSince] != ""
}

// reach notes on the resource to which namespaces templates lead, before the first write there.
func (r *Run) reach(ctx context.Context, objects ...*unstructured.Unstructured) error {
	reached := r.reached
	for _, obj := range objects {
		if !r.Plan.MayHaveMade(r.Stored, obj) {
			r.reached = append(r.reached, obj.GetNamespace())
		}
	}
	if len(r.reached) == len(reached) {
		return nil
	}
	return r.mark(ctx)
}

// elsewhere is the note of the namespaces that templates have led to. noted is false where the plan needs none.
func (r *Run) elsewhere() (note string, noted bool) {
	note, noted = r.Stored.GetAnnotations()[v1alpha1.AnnotationNamespaces]
	if !noted && !r.Plan.places.Templated && len(r.reached) == 0 {
		return "", false
	}
	var all []string
	if noted {
		all = strings.Split(note, ",")
	} else {
		all = r.childrenElsewhere()
	}
	return r.noteOf(slices.Concat(all, r.reached)), true
}

// childrenElsewhere are the namespaces of living children.
func (r *Run) childrenElsewhere() []string {
	var all []string
	for _, child := range r.children.all() {
		all = append(all, child.GetNamespace())
	}
	return all
}

// noteOf writes a note: what needs one, sorted.
func (r *Run) noteOf(namespaces []string) string {
	slices.Sort(namespaces)
	return strings.Join(slices.DeleteFunc(slices.Compact(namespaces), func(n string) bool {
		return n == "" || n == r.Stored.GetNamespace() || slices.Contains(r.Plan.places.Literal, n)
	}), ",")
}

// leave takes namespaces out of the note in which the resource has no child any more, and is to have none.
func (r *Run) leave(ctx context.Context) error {
	note, noted := r.Stored.GetAnnotations()[v1alpha1.AnnotationNamespaces]
	if !noted || note == "" {
		return nil
	}
	left := r.childrenElsewhere()
	for key := range r.stands.rendered {
		left = append(left, key.namespace)
	}
	if now := r.noteOf(left); now != note {
		r.newMarks[v1alpha1.AnnotationNamespaces] = now
		return r.mark(ctx)
	}
	return nil
}
