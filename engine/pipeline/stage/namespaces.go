package stage

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// NamespaceKind is the kind that is asked whether resources of other namespaces may reach into it.
var NamespaceKind = corev1.SchemeGroupVersion.WithKind("Namespace")

// MayReach says whether a template may lead from a resource into a namespace: its own, any for a cluster-scoped resource, and
// one that allows it by annotation. The annotation is an input: a change queues the resource. The message is the same for a namespace that
// does not exist and for one that refuses, or a resource's author could find out which namespaces exist.
//
// show says whether the message may quote the namespace.
func (c *Cycle) MayReach(ctx context.Context, what, namespace string, show bool) error {
	own := c.Stored.GetNamespace()
	if own == "" || namespace == own {
		return nil
	}
	if err := c.Ports.Observer.Observe(ctx, NamespaceKind); err != nil {
		return err
	}
	target := c.Inputs.Get(c.Ports.Observer, NamespaceKind, "", namespace)
	if target == nil && c.Ports.Unread != "" {
		return NewPermanent(v1alpha1.ReasonTemplateError, &UnreachableError{text: what + ": " + c.Absent(Describe(NamespaceKind, "", namespace))})
	}
	if target != nil {
		listed := allowed(target.GetAnnotations())
		if slices.Contains(listed, own) || slices.Contains(listed, "*") {
			return nil
		}
		c.misreadAllowance(target, listed)
	}
	named := "what the template yields"
	if show {
		named = fmt.Sprintf("namespace %q", namespace)
	}
	return NewPermanent(v1alpha1.ReasonTemplateError, &UnreachableError{text: fmt.Sprintf(
		"%s: %s does not let resources of %q in: add %q to its annotation %s, if it exists, or write the namespace literally in the box",
		what, named, own, own, v1alpha1.AnnotationAllowFrom)})
}

// UnreachableError says that a template may not lead into a namespace.
type UnreachableError struct{ text string }

// Error gives one line.
func (e *UnreachableError) Error() string { return e.text }
