package operatorbox

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/engine/health"
)

// claimer sees to it that one box runs a CRD, and that another takes over when that is gone.
type claimer struct{ Ports }

// take claims the CRD of a box. A box whose CRD another box has waits for that, and runs nothing.
func (c *claimer) take(ctx context.Context, s *scope) (stop bool, err error) {
	holder, err := c.Claims.Take(ctx, s.box, s.crdName)
	if err != nil || holder == s.box.Name {
		return false, err
	}
	if err := c.Engine.Remove(s.box.Name); err != nil {
		return false, err
	}
	s.crd = nil // the status must not say that the box works in a version of it
	s.notReady(health.Stopped, v1alpha1.ReasonCRDClaimed,
		fmt.Sprintf("box %q is for %s already; delete that box, or let this one name another CRD", holder, s.crdName))
	return true, nil
}

// freeOthers gives up what the box holds beside its CRD. From here on the status names the CRD that the box serves: nobody takes the box
// for one that waits for another.
func (c *claimer) freeOthers(ctx context.Context, s *scope) (stop bool, err error) {
	if s.stuck {
		return false, nil // what does not end is still at work on the resources of the CRD that it served
	}
	return false, c.offer(ctx, c.Claims.Keep(s.box.Name, s.crdName))
}

// offer has the boxes reconciled that wait for CRDs which no box holds any more.
func (c *claimer) offer(ctx context.Context, freed []string) error {
	for _, crd := range freed {
		waiting, err := c.claimants(ctx, crd)
		if err != nil {
			return err
		}
		for i := range waiting {
			c.Boxes.Mark(waiting[i].Name, true)
		}
	}
	return nil
}

// claimants are the boxes that serve, or wait for, a CRD.
func (c *claimer) claimants(ctx context.Context, crd string) ([]v1alpha1.OperatorBox, error) {
	var boxes v1alpha1.OperatorBoxList
	if err := c.Client.List(ctx, &boxes, crds.Named(crd)); err != nil {
		return nil, fmt.Errorf("listing boxes: %w", err)
	}
	return slices.DeleteFunc(boxes.Items, func(b v1alpha1.OperatorBox) bool { return crds.NameOf(&b) != crd }), nil
}

// handOver tells those who wait for the CRD of a box which kinds of children it leaves behind, so that they watch them and
// count what they do not take over.
func (c *claimer) handOver(ctx context.Context, box *v1alpha1.OperatorBox, crd string) error {
	if !c.Claims.Holds(box.Name, crd) {
		return nil
	}
	waiting, err := c.claimants(ctx, crd)
	if err != nil {
		return err
	}
	for i := range waiting {
		next := &waiting[i]
		base := next.DeepCopy()
		for _, kind := range box.Status.ManagedKinds {
			if !slices.Contains(next.Status.ManagedKinds, kind) {
				next.Status.ManagedKinds = append(next.Status.ManagedKinds, kind)
			}
		}
		if next.DeletionTimestamp != nil || len(next.Status.ManagedKinds) == len(base.Status.ManagedKinds) {
			continue
		}
		patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
		err := c.Client.Status().Patch(ctx, next, patch, client.FieldOwner(v1alpha1.FieldManager))
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("handing the kinds of OperatorBox %q over to %q: %w", box.Name, next.Name, err)
		}
	}
	return nil
}
