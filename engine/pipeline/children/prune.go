package children

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/outcome"
	"github.com/orkspace/orkestra/engine/pipeline/settle"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// conflictInterval is the time to the next try where a child could not be deleted because it has changed.
const conflictInterval = time.Second

// prune deletes every child of the resource and this box that no declaration stands for any more, and counts those of former
// boxes. It runs only in cycles without error: what failed to render must not be taken for removed, and what could not be written may use what
// is not declared any more. What is deleted nevertheless says PruneAfterError.
type prune struct{ outcome *outcome.Plan }

// NewPrune gives the stage. shown is what the box shows of its resources, by which it is told whether one may still go back.
func NewPrune(shown *outcome.Plan) stage.Stage[*Cycle] { return prune{outcome: shown} }

// Name implements Stage.
func (prune) Name() string { return stage.StepPrune }

// Run implements Stage.
func (p prune) Run(ctx context.Context, c *Cycle) (stage.Outcome, error) {
	c.applied.complete = true
	keep := p.mayGoBack(ctx, c)
	ours, formers := undeclared(c)
	c.LeftBehind += formers
	if keep {
		return stage.Next, nil
	}
	if err := discardUndeclared(ctx, c, ours); err != nil {
		return stage.Hold, err
	}
	if err := c.Leave(ctx, c.applied.namespaces()); err != nil {
		return stage.Hold, err
	}
	return stage.Next, c.Jobs.forget(ctx)
}

// undeclared gives the children of this box that no declaration stands for, also those that are being deleted, and counts those of former
// boxes. Whether these are still wanted is not for this box to say.
func undeclared(c *Cycle) (ours []*unstructured.Unstructured, formers int32) {
	for _, child := range c.Living.All() {
		switch {
		case c.covers(child):
		case child.GetLabels()[v1alpha1.LabelBox] == c.Plan.Box:
			ours = append(ours, child)
		case child.GetDeletionTimestamp() == nil:
			formers++
		}
	}
	return ours, formers
}

// discardUndeclared deletes children that no declaration stands for. In reverse, those that come next follow when the ones before them are
// gone. What has no finalizer is gone at once, so the loop goes on without waiting for events.
func discardUndeclared(ctx context.Context, c *Cycle, going []*unstructured.Unstructured) error {
	for asked := map[types.UID]bool{}; len(going) > 0; going, _ = undeclared(c) {
		next := declare.NextToGo(c.Declared, going, IDOf)
		rest := slices.DeleteFunc(slices.Clone(next), func(child *unstructured.Unstructured) bool {
			return asked[child.GetUID()] || child.GetDeletionTimestamp() != nil
		})
		rest, err := c.rolling.goInTurn(ctx, rest)
		if err != nil {
			return err
		}
		for _, child := range rest {
			asked[child.GetUID()], c.rolling.going[child.GetUID()] = true, true
			if err := c.Discard(ctx, child); err != nil {
				return fmt.Errorf("%s: %w", IDOf(child), err)
			}
		}
		if len(rest) > 0 {
			continue
		}
		if at := slices.IndexFunc(going, func(child *unstructured.Unstructured) bool { return !slices.Contains(next, child) }); at >= 0 {
			first, later := settle.InTheWay(next), going[at]
			c.Wait("", v1alpha1.ReasonChildTerminating, fmt.Sprintf("waiting for %s %q to be gone, before %s %q is deleted%s",
				first.GetKind(), c.ChildName(first), later.GetKind(), c.ChildName(later), settle.HeldBy(first)))
		}
		return nil
	}
	return nil
}

// PruneAfterError deletes, in a cycle that has ended with an error, what has left a rollout and is out of service: the items that are declared wait
// for it to go, and would wait until the error is mended. Nothing else goes: what could not be written may use what is in service.
func PruneAfterError(ctx context.Context, c *Cycle) error {
	if c.applied.complete || c.Plan.Rollback != nil && !c.Succeeded {
		return nil // it is pruned already, or may go back
	}
	// Where none was expanded, the children are not read: a step before them would be tried again whenever one of them changes.
	rolled := slices.DeleteFunc(slices.Clone(c.Declared.Live), func(d *declare.Declaration) bool { return d.Rollout == nil || !c.applied.expanded[d] })
	if len(rolled) == 0 {
		return nil
	}
	ours, _ := undeclared(c)
	next := declare.NextToGo(c.Declared, ours, IDOf)
	for _, d := range rolled {
		leaving := slices.DeleteFunc(slices.Clone(next), func(child *unstructured.Unstructured) bool {
			return c.Declared.Of(IDOf(child)) != d || c.applied.mayBeMeant(child, c.Declared)
		})
		broken, err := c.rolling.outOfService(ctx, d, leaving)
		if err != nil {
			return err
		}
		for _, child := range broken {
			if err := c.Discard(ctx, child); err != nil {
				return fmt.Errorf("%s: %w", IDOf(child), err)
			}
		}
	}
	return nil
}

// mayGoBack says whether the resource may still be rolled back from what this cycle makes of it: at a generation that has not
// succeeded yet, something is waited for, a child has failed, or one has not settled that may fail. What is deleted now could be made again
// then, but what it held would be lost.
func (p prune) mayGoBack(ctx context.Context, c *Cycle) bool {
	if c.Plan.Rollback == nil || c.Succeeded {
		return false
	}
	if len(c.Waits) > 0 {
		return true
	}
	left, err := p.outcome.Blockers(ctx, c.Cycle, c.Living)
	if err != nil {
		return true // it ends the cycle when its result is put together
	}
	return len(left) > 0 && p.outcome.Ready == v1alpha1.ReadyCurrent ||
		slices.ContainsFunc(left, func(b stage.Blocker) bool { return b.Weight == stage.ChildFailed })
}

// Prunable says whether a child is about to be pruned.
func (c *Cycle) Prunable(child *unstructured.Unstructured) bool {
	return c.applied.complete && child.GetDeletionTimestamp() == nil && !c.covers(child)
}

// Discard deletes a child, or lets it go where its declaration said so.
func (c *Cycle) Discard(ctx context.Context, child *unstructured.Unstructured) error {
	var err error
	if child.GetAnnotations()[v1alpha1.AnnotationDeletionPolicy] == string(v1alpha1.ChildOrphan) {
		err = c.Ports.Applier.Orphan(ctx, c.Owner, child)
	} else {
		err = c.Ports.Applier.Delete(ctx, child)
	}
	if apierrors.IsConflict(err) {
		// It has changed since it was read. Its event is on the way, and the next cycle decides by what it is then. Should there be
		// no event, because something between us and the API server has made the conflict up, nothing else would bring the cycle back.
		c.ReconcileAt(c.Now.Add(conflictInterval))
		return nil
	}
	if err == nil {
		c.Wrote(child, stage.Pruned)
	}
	return err
}
