package pipeline

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// namespaceKind is the kind that is asked whether resources of other namespaces may reach into it.
var namespaceKind = corev1.SchemeGroupVersion.WithKind("Namespace")

// mayReach says whether a template may lead from a resource into a namespace: its own, any for a cluster-scoped resource, and
// one that allows it by annotation (design: security.md). The annotation is an input: a change queues the resource. One that is not
// there and one that does not let in are told the same way, or a resource's author could ask which namespaces there are.
//
// show says whether the message may quote the namespace.
func (r *Run) mayReach(ctx context.Context, what, namespace string, show bool) error {
	own := r.Stored.GetNamespace()
	if own == "" || namespace == own {
		return nil
	}
	if err := r.Ports.Observer.Observe(ctx, namespaceKind); err != nil {
		return err
	}
	target := r.observed(namespaceKind, "", namespace)
	if target == nil && r.Ports.Unread != "" {
		return permanent(v1alpha1.ReasonTemplateError, &unreachableError{text: what + ": " + r.absent(describe(namespaceKind, "", namespace))})
	}
	if target != nil {
		listed := allowed(target.GetAnnotations())
		if slices.Contains(listed, own) || slices.Contains(listed, "*") {
			return nil
		}
		r.misreadAllowance(target, listed)
	}
	named := "what the template yields"
	if show {
		named = fmt.Sprintf("namespace %q", namespace)
	}
	return permanent(v1alpha1.ReasonTemplateError, &unreachableError{text: fmt.Sprintf(
		"%s: %s does not let resources of %q in: add %q to its annotation %s, if it exists, or write the namespace literally in the box",
		what, named, own, own, v1alpha1.AnnotationAllowFrom)})
}

// unreachableError says that a template may not lead into a namespace.
type unreachableError struct{ text string }

func (e *unreachableError) Error() string { return e.text }
