package patches

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply/taken"
	"github.com/orkspace/orkestra/engine/pipeline/check"
	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/value"
)

// Taker takes back what a resource that goes has patched.
type Taker struct{}

// TakeBack takes back everything that a resource has patched: it goes.
func (Taker) TakeBack(ctx context.Context, c *children.Cycle) (done bool, err error) {
	var errs []error
	for _, n := range read(c.Stored) {
		errs = append(errs, takeBack(ctx, c, n))
	}
	err = errors.Join(errs...)
	return err == nil, err
}

// Leave says what could not be taken back, for whatever reason: it stays.
func (Taker) Leave(c *children.Cycle, why error) { c.Warn(v1alpha1.ReasonPatchLeft, why.Error()) }

// Waits names what has to wait where nothing may be written; empty: nothing.
func (Taker) Waits(c *children.Cycle) string {
	if value.Annotation(c.Stored, v1alpha1.AnnotationPatches) == "" {
		return ""
	}
	return "taking back what it has patched"
}

// Undo takes back everything that a resource has patched, outside of its cycles: its box goes, with all that it has made. left says what could not
// be taken back.
func Undo(ctx context.Context, patcher stage.Patcher, plan *stage.Plan, resource *unstructured.Unstructured) (left []string, err error) {
	for _, n := range read(resource) {
		one, err := n.withdraw(ctx, patcher, plan, resource)
		if err != nil {
			return left, err
		}
		if one != "" {
			left = append(left, one)
		}
	}
	return left, nil
}

// takeBack takes back one patch. What can't be taken back is left, and said.
func takeBack(ctx context.Context, c *children.Cycle, n noted) error {
	left, err := n.withdraw(ctx, c.Ports.Patcher, c.Plan, c.Stored)
	if left != "" {
		c.Warn(v1alpha1.ReasonPatchLeft, left)
	}
	return err
}

// withdraw takes back a patch of a resource. left says what could not be taken back; empty: nothing.
func (n noted) withdraw(ctx context.Context, patcher stage.Patcher, plan *stage.Plan, resource *unstructured.Unstructured) (left string, err error) {
	target := n.target()
	if why := n.mayNotReturn(plan); why != "" {
		what := stage.Describe(target.GroupVersionKind(), target.GetNamespace(), target.GetName())
		return fmt.Sprintf("%s: %s stays as it was set, and what was taken of it is not given back: %s", n.ID, what, why), nil
	}
	out, err := patcher.Withdraw(ctx, v1alpha1.PatchManager(resource.GetUID(), n.ID), target, n.Taken)
	switch {
	case meta.IsNoMatchError(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("%s: %w", n.ID, err)
	case len(out.Left) > 0:
		what := stage.Describe(target.GroupVersionKind(), target.GetNamespace(), target.GetName())
		return fmt.Sprintf("%s: %s keeps %s as it was set: %s", n.ID, what, strings.Join(out.Left, ", "), out.Why), nil
	default:
		return "", nil
	}
}

// mayNotReturn says why former values may not be given back; empty: they may. The mark that they come from may have been forged, so they pass the
// guards of what is set.
func (n noted) mayNotReturn(plan *stage.Plan) string {
	if n.Taken == nil {
		return ""
	}
	obj := n.target()
	if err := taken.Put(obj, n.Taken.Fields); err != nil {
		return err.Error()
	}
	if err := check.RenderedMarks(obj); err != nil {
		return err.Error()
	}
	return check.GrantsRights(obj, false, check.Leave{Account: !plan.Account.IsManager(), Flag: plan.MayGrant})
}

// Marks gives the annotations that stay on a resource which is let go while its patches stay: those that say what was taken, which would be lost.
func Marks(resource *unstructured.Unstructured) map[string]string {
	if !slices.ContainsFunc(read(resource), func(n noted) bool { return n.Taken != nil }) {
		return nil
	}
	return map[string]string{v1alpha1.AnnotationPatches: value.Annotation(resource, v1alpha1.AnnotationPatches)}
}
