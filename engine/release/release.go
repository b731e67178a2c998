// Package release lets go of resources: it takes the marks of Orkestra off them, and says on each why nobody keeps it any more.
package release

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/pipeline"
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

// Farewell is why resources are let go, as their conditions say it last.
type Farewell struct {
	// Reason of Ready and Reconciling.
	Reason string
	// Message says who kept the resource, and what became of its children.
	Message string
}

// BoxDeleted is what the resources of a box say that is deleted.
func BoxDeleted(box string, how Mode) Farewell {
	message := fmt.Sprintf("OperatorBox %q was deleted: nobody keeps this resource and its children any more", box)
	if how == Children {
		message = fmt.Sprintf("OperatorBox %q was deleted, and the children of this resource: nobody keeps it any more", box)
	}
	return Farewell{Reason: v1alpha1.ReasonBoxDeleted, Message: message}
}

// Drained is what resources say that are let go for an uninstall.
func Drained() Farewell {
	return Farewell{Reason: v1alpha1.ReasonDrained, Message: "Orkestra was drained: nobody keeps this resource and its children until it goes on"}
}

// NotSelected is what resources say that left the selection of their box.
func NotSelected(box string) Farewell {
	return Farewell{Reason: v1alpha1.ReasonNotSelected, Message: fmt.Sprintf(
		"OperatorBox %q does not select this resource any more, by its namespaces or its selector: nobody keeps it and its children", box)}
}

// Held says whether a resource carries Orkestra's finalizer.
func Held(obj *unstructured.Unstructured) bool {
	return slices.Contains(obj.GetFinalizers(), v1alpha1.Finalizer)
}

// Releaser lets go of the resources of one box.
type Releaser struct {
	// Box is its name, and Plan gives the plan that it runs.
	Box  string
	Plan func() *pipeline.Plan
	// Client writes the last status of a resource, and Writer takes its marks off.
	Client *apply.Client
	Writer *apply.Writer
	// Former gives the finalizers that the kept revisions of the box name.
	Former apply.Former
	// Clock tells the time.
	Clock clock.PassiveClock
}

// Release takes the marks off a resource after it has said why. What it gives is the resource as it was last written, also with
// an error; nil: nothing was written.
func (r *Releaser) Release(ctx context.Context, resource *unstructured.Unstructured, f Farewell) (*unstructured.Unstructured, error) {
	told, err := r.tell(ctx, resource, f)
	if err != nil {
		return nil, err
	}
	return told, r.unmark(ctx, told)
}

// tell says on a resource that it is let go, and gives the resource as it is then. It is the last that is written to its status.
// Where the API server takes no such status for good, the resource is let go all the same: nothing may hold it.
func (r *Releaser) tell(ctx context.Context, stored *unstructured.Unstructured, f Farewell) (*unstructured.Unstructured, error) {
	patch, err := r.Plan().Status.Unkept(stored, f.Reason, f.Message, metav1.NewTime(r.Clock.Now()))
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

// unmark takes the marks off a resource. The API server refuses every apply to one that was applied in a version that its CRD
// has lost; then the finalizers alone go, which is what holds it.
func (r *Releaser) unmark(ctx context.Context, obj *unstructured.Unstructured) error {
	finalizers, err := apply.Finalizers(ctx, obj, r.Plan().Finalizers, r.Former)
	if err != nil {
		return err
	}
	err = r.Writer.Release(ctx, obj, finalizers)
	if !lostVersion(err) {
		return err
	}
	return r.Writer.Finish(ctx, obj, finalizers)
}

// lostVersion says whether the API server refuses a write because the resource was applied in a version that its CRD has lost.
func lostVersion(err error) bool {
	return err != nil && strings.Contains(err.Error(), "request to convert CR to an invalid group/version")
}
