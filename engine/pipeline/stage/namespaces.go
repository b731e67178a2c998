package stage

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/value"
)

// Whatever a box does for a resource in a namespace is decided here: MayReach says where templates and names may lead, MayHaveMade which
// objects count as children, and so may be changed, released and deleted. No other file of the pipeline goes by the namespace of an object
// (a rule of `make lint`, in test/tools/house).

// NamespaceKind is the kind that is asked whether resources of other namespaces may reach into it.
var NamespaceKind = corev1.SchemeGroupVersion.WithKind("Namespace")

// Way leads from the resource into a namespace: a declaration, a source of cross, a reference to a Secret, a child that lives there.
type Way struct {
	// What it is, as messages call it: a field of the box, such as "selector.namespace".
	What string
	// Namespace that it leads to; empty: the object is in none.
	Namespace string
	// Literal says that the box names the namespace without a template, which is for the author of the box to decide.
	Literal bool
	// Show says whether messages may quote the namespace.
	Show bool
	// Code is the reason of a refusal where code says the namespace, which the box can't name; empty: a template, or the box, says it.
	Code string
}

// MayReach says whether the box may read and write objects in a namespace for the resource: in the resource's own, in any for a
// cluster-scoped resource, in one that the box names literally, and in one that allows it by annotation. The annotation is an input: a
// change queues the resource. The message is the same for a namespace that does not exist and for one that refuses, or a resource's author
// could find out which namespaces exist; of one that has let the resource in before, it says that it no longer does.
//
// What the account of the box may do is another question, and the API server's.
func (c *Cycle) MayReach(ctx context.Context, way Way) error {
	own := c.Home()
	if own == "" || way.Namespace == own || way.Namespace == "" || way.Literal {
		return nil
	}
	if err := c.Ports.Observer.Observe(ctx, NamespaceKind); err != nil {
		return err
	}
	target := c.Inputs.Get(c.Ports.Observer, NamespaceKind, "", way.Namespace)
	if target == nil && c.Ports.Unread != "" {
		return way.unreachable(c.Absent(Describe(NamespaceKind, "", way.Namespace)), false)
	}
	if target != nil {
		listed := allowed(target.GetAnnotations())
		if slices.Contains(listed, own) || slices.Contains(listed, "*") {
			return nil
		}
		c.misreadAllowance(target, listed)
	}
	named := "what the template yields"
	if way.Show {
		named = fmt.Sprintf("namespace %q", way.Namespace)
	}
	or := ", or write the namespace literally in the box"
	if way.Code != "" {
		or = ""
	}
	if c.hasReached(way.Namespace) {
		return way.unreachable(fmt.Sprintf("%s does not let resources of %q in any more: add %q to its annotation %s again%s",
			named, own, own, v1alpha1.AnnotationAllowFrom, or), true)
	}
	return way.unreachable(fmt.Sprintf("%s does not let resources of %q in: add %q to its annotation %s, if it exists%s",
		named, own, own, v1alpha1.AnnotationAllowFrom, or), false)
}

// MayWrite is MayReach for a child that lives: where the box, or a kept revision of it, names its namespace literally, it may.
func (c *Cycle) MayWrite(ctx context.Context, child *unstructured.Unstructured) error {
	namespace := child.GetNamespace()
	return c.MayReach(ctx, Way{
		What: child.GetKind() + " " + c.ChildName(child), Namespace: namespace, Literal: slices.Contains(c.Plan.Places.Literal, namespace), Show: true,
	})
}

// UnreachableError says that the box may not lead the resource into a namespace.
type UnreachableError struct {
	// Namespace that it is.
	Namespace string
	// Withdrawn says that the namespace has let the resource in before. What is there stays as it is.
	Withdrawn bool

	text string
}

// Error gives one line.
func (e *UnreachableError) Error() string { return e.text }

func (w Way) unreachable(text string, withdrawn bool) error {
	return NewPermanent(cmp.Or(w.Code, v1alpha1.ReasonTemplateError), &UnreachableError{Namespace: w.Namespace, Withdrawn: withdrawn, text: w.What + ": " + text})
}

// Home is the namespace of the resource; empty for a cluster-scoped one.
func (c *Cycle) Home() string { return c.Stored.GetNamespace() }

// AtHome says whether an object is in the namespace of the resource.
func (c *Cycle) AtHome(obj *unstructured.Unstructured) bool { return obj.GetNamespace() == c.Home() }

// hasReached says whether templates have led the resource into a namespace before: it is noted, or a child lives there.
func (c *Cycle) hasReached(namespace string) bool {
	return slices.Contains(strings.Split(value.Annotation(c.Stored, v1alpha1.AnnotationNamespaces), ","), namespace) ||
		slices.Contains(c.namespacesOfChildren(), namespace)
}

// MayHaveMade says whether an object that carries the marks of a resource's child is where the plan, or a kept revision, can have made
// it: everybody who may write objects can write labels, and name any field manager. It can be in the resource's namespace, in one that
// declarations name, and in one that is noted on the resource. Cluster-scoped objects are believed: only who may write them could forge
// the marks, and that takes rights over the whole cluster.
//
// A resource that was marked before there were notes has none, until its next cycle. Until then its children may be anywhere that
// templates can lead to.
func (p *Plan) MayHaveMade(resource, child *unstructured.Unstructured) bool {
	return p.MayHaveMadeIn(resource, child.GetNamespace())
}

// MayHaveMadeIn says so of a child in a namespace.
func (p *Plan) MayHaveMadeIn(resource *unstructured.Unstructured, namespace string) bool {
	if namespace == "" || namespace == resource.GetNamespace() || slices.Contains(p.Places.Literal, namespace) {
		return true
	}
	annotations := resource.GetAnnotations()
	if note, noted := annotations[v1alpha1.AnnotationNamespaces]; noted {
		return slices.Contains(strings.Split(note, ","), namespace)
	}
	return p.Places.Templated && annotations[v1alpha1.AnnotationManagedSince] != ""
}

// Reach notes on the resource to which namespaces templates lead, before the first write there.
func (c *Cycle) Reach(ctx context.Context, objects ...*unstructured.Unstructured) error {
	reached := len(c.Marks.reached)
	for _, obj := range objects {
		if !c.Plan.MayHaveMade(c.Stored, obj) {
			c.Marks.reached = append(c.Marks.reached, obj.GetNamespace())
		}
	}
	if len(c.Marks.reached) == reached {
		return nil
	}
	return c.Mark(ctx)
}

// Leave removes from the note those namespaces in which the resource has no children any more, and this cycle made none. made are the
// namespaces of what this cycle made.
func (c *Cycle) Leave(ctx context.Context, made []string) error {
	note, noted := c.Stored.GetAnnotations()[v1alpha1.AnnotationNamespaces]
	if !noted || note == "" {
		return nil
	}
	if now := c.noteOf(append(c.namespacesOfChildren(), made...)); now != note {
		return c.MarkWith(ctx, v1alpha1.AnnotationNamespaces, now)
	}
	return nil
}

// namespacesNote is the note of the namespaces that templates have led to. noted is false where the plan needs none.
func (c *Cycle) namespacesNote() (note string, noted bool) {
	note, noted = c.Stored.GetAnnotations()[v1alpha1.AnnotationNamespaces]
	if !noted && !c.Plan.Places.Templated && len(c.Marks.reached) == 0 {
		return "", false
	}
	var all []string
	if noted {
		all = strings.Split(note, ",")
	} else {
		all = c.namespacesOfChildren()
	}
	return c.noteOf(slices.Concat(all, c.Marks.reached)), true
}

// namespacesOfChildren are the namespaces of living children.
func (c *Cycle) namespacesOfChildren() []string {
	var all []string
	for _, child := range c.Children.All() {
		all = append(all, child.GetNamespace())
	}
	return all
}

// noteOf writes a note: what needs one, sorted.
func (c *Cycle) noteOf(namespaces []string) string {
	slices.Sort(namespaces)
	return strings.Join(slices.DeleteFunc(slices.Compact(namespaces), func(n string) bool {
		return n == "" || n == c.Stored.GetNamespace() || slices.Contains(c.Plan.Places.Literal, n)
	}), ",")
}
