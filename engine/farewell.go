package engine

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
)

// Farewell is why the resources of a box are let go, as their conditions say it last.
type Farewell struct {
	// Reason of Ready and Reconciling.
	Reason string
	// Message says who kept the resource, and what became of its children.
	Message string
}

// FarewellOf is what the resources of a box say that is deleted.
func FarewellOf(box string, how ReleaseMode) Farewell {
	message := fmt.Sprintf("OperatorBox %q was deleted: nobody keeps this resource and its children any more", box)
	if how == ReleaseChildren {
		message = fmt.Sprintf("OperatorBox %q was deleted, and the children of this resource: nobody keeps it any more", box)
	}
	return Farewell{Reason: v1alpha1.ReasonBoxDeleted, Message: message}
}

// FarewellDrained is what resources say that are let go for an uninstall.
func FarewellDrained() Farewell {
	return Farewell{Reason: v1alpha1.ReasonDrained, Message: "Orkestra was drained: nobody keeps this resource and its children until it goes on"}
}

func farewellNotSelected(box string) Farewell {
	return Farewell{Reason: v1alpha1.ReasonNotSelected, Message: fmt.Sprintf(
		"OperatorBox %q does not select this resource any more, by its namespaces or its selector: nobody keeps it and its children", box)}
}

// bid says on a resource that it is let go, and gives the resource as it is then. It is the last that is written to its status. Where the
// API server takes no such status for good, the resource is let go all the same: nothing may hold it.
func (b *box) bid(ctx context.Context, stored *unstructured.Unstructured, f Farewell) (*unstructured.Unstructured, error) {
	patch, err := b.plan.Load().Status.Unkept(stored, f.Reason, f.Message, metav1.NewTime(b.engine.config.Clock.Now()))
	if err != nil || patch == nil {
		return stored, err
	}
	answer, err := b.client.WriteStatus(ctx, stored, patch)
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
