// Package release lets go of resources: it takes Orkestra's marks (finalizer, labels, annotations) off them, and writes to the status of
// each why it is not reconciled any more.
package release

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/pipeline/patches"
)

// Mode says how the resources of a box that is being deleted are let go.
type Mode int

// The modes of a release.
const (
	// Marks takes Orkestra's marks off the resources. Their children stay.
	Marks Mode = iota
	// Children deletes the children of the box first.
	Children
	// Resources deletes the resources and lets each of them finish.
	Resources
)

// Cause is why resources are let go, as the last status that is written to them says.
type Cause struct {
	// Reason of Ready and Reconciling.
	Reason string
	// Message says who kept the resource, and what became of its children.
	Message string

	// patchesUndone says that the patches of the resource were taken back, so that nothing of them need stay noted.
	patchesUndone bool
}

// BoxDeleted is the cause for the resources of a box that is deleted.
func BoxDeleted(box string, how Mode) Cause {
	message := fmt.Sprintf("OperatorBox %q was deleted: nobody keeps this resource and its children any more", box)
	if how == Children {
		message = fmt.Sprintf("OperatorBox %q was deleted, and the children of this resource: nobody keeps it any more", box)
	}
	return Cause{Reason: v1alpha1.ReasonBoxDeleted, Message: message}
}

// Drained is the cause for all resources before Orkestra is uninstalled (orkestra drain).
func Drained() Cause {
	return Cause{Reason: v1alpha1.ReasonDrained, Message: "Orkestra was drained: nobody keeps this resource and its children until it goes on"}
}

// NotSelected is the cause for a resource that its box does not select any more.
func NotSelected(box string) Cause {
	return Cause{Reason: v1alpha1.ReasonNotSelected, Message: fmt.Sprintf(
		"OperatorBox %q does not select this resource any more, by its namespaces or its selector: nobody keeps it and its children", box)}
}

// Releaser lets go of the resources of one box.
type Releaser struct {
	// Box is its name, and Plan gives the plan that it runs.
	Box  string
	Plan func() *pipeline.Plan
	// Client writes the last status of a resource, and Writer takes its marks off.
	Client *apply.Client
	Writer *apply.Writer
	// FormerFinalizers gives the finalizers that the kept revisions of the box name.
	FormerFinalizers apply.FormerFinalizers
	// Clock tells the time.
	Clock clock.PassiveClock
}

// Release writes the cause to a resource, and then takes the marks off: in this order, since nothing holds the resource afterwards. It
// gives the resource as it was last written, also with an error; nil: nothing was written.
func (r *Releaser) Release(ctx context.Context, resource *unstructured.Unstructured, cause Cause) (*unstructured.Unstructured, error) {
	if r.Plan().AccountProblem.Reason != "" {
		// Nothing is written for a box that can't act as its account. What holds the resource goes; the other marks stay.
		return nil, r.Writer.Finish(ctx, resource, []string{v1alpha1.Finalizer})
	}
	written, err := r.tell(ctx, resource, cause)
	if err != nil {
		return nil, err
	}
	return written, r.unmark(ctx, written, !cause.patchesUndone)
}

// tell writes the last status of a resource, which says that it is let go, and gives the resource as it is then. Where the API server
// refuses that status for good, the resource is let go without it: nobody could ever delete a resource that keeps our finalizer.
func (r *Releaser) tell(ctx context.Context, stored *unstructured.Unstructured, cause Cause) (*unstructured.Unstructured, error) {
	patch, err := r.Plan().Status.ReleasePatch(stored, cause.Reason, cause.Message, metav1.NewTime(r.Clock.Now()))
	if err != nil || patch == nil {
		return stored, err
	}
	answer, err := r.Client.WriteStatus(ctx, stored, patch)
	switch {
	case err == nil:
		return answer, nil
	case apply.IsGone(err, stored), apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsNotFound(err), lostVersion(err):
		log.FromContext(ctx).Info("Resource is let go without a last status", "resource", stored.GetName(), "reason", err.Error())
		return stored, nil
	default:
		return nil, fmt.Errorf("writing the last status of %s %q: %w", stored.GetKind(), stored.GetName(), err)
	}
}

// unmark takes the marks off a resource. Where the resource was applied in a version that its CRD no longer has, the API server refuses
// every further apply. Then only the finalizers are taken off, by a patch: they are what holds the resource. What its patches have taken stays noted
// while they stay, for the box that takes them back.
func (r *Releaser) unmark(ctx context.Context, obj *unstructured.Unstructured, patchesStay bool) error {
	finalizers, err := apply.Finalizers(ctx, obj, r.Plan().Removable(), r.FormerFinalizers)
	if err != nil {
		return err
	}
	var stay map[string]string
	if patchesStay {
		stay = patches.Marks(obj)
	}
	err = r.Writer.Release(ctx, obj, finalizers, stay)
	if !lostVersion(err) {
		return err
	}
	return r.Writer.Finish(ctx, obj, finalizers)
}

// lostVersion says whether the API server refuses a write because the resource was applied in a version that its CRD has lost. The error
// has no reason of its own that could be checked, so its text has to do.
func lostVersion(err error) bool {
	return err != nil && strings.Contains(err.Error(), "request to convert CR to an invalid group/version")
}
