package pipeline

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// prune deletes every child of the resource and this box that no declaration stands for any more, and counts those of former
// boxes. It runs only in cycles without error: what failed to render must not be taken for removed.
type prune struct{}

// Pruned is the action of a child that no declaration stands for.
const Pruned apply.Action = "pruned"

// conflictInterval is the time to the next try where a child could not be deleted because it has changed.
const conflictInterval = time.Second

func compilePrune(*compiler) Stage { return prune{} }

// Name implements Stage.
func (prune) Name() string { return stage.StepPrune }

// Run implements Stage.
func (prune) Run(ctx context.Context, r *Run) (stage.Outcome, error) {
	r.stands.complete = true
	back := r.mayGoBack(ctx)
	for _, child := range r.children.All() {
		if child.GetDeletionTimestamp() != nil || r.covers(child) {
			continue
		}
		if child.GetLabels()[v1alpha1.LabelBox] != r.Plan.Box {
			// A former box made it. Whether it is still wanted is not for this one to say.
			r.LeftBehind++
			continue
		}
		if back {
			continue
		}
		if err := r.discard(ctx, child); err != nil {
			return stage.Hold, fmt.Errorf("%s: %w", idOf(child), err)
		}
	}
	if back {
		return stage.Next, nil
	}
	var made []string
	for key := range r.stands.rendered {
		made = append(made, key.namespace)
	}
	if err := r.Leave(ctx, made); err != nil {
		return stage.Hold, err
	}
	return stage.Next, r.forget(ctx)
}

// mayGoBack says whether the resource may still be rolled back from what this cycle makes of it: at a generation that has not
// succeeded yet, something is waited for, a child has failed, or one has not settled that may fail. What is deleted now could be made again then,
// but what it held would be lost.
func (r *Run) mayGoBack(ctx context.Context) bool {
	if r.Plan.Rollback == nil || r.Succeeded {
		return false
	}
	if len(r.Waits) > 0 {
		return true
	}
	left, err := r.Plan.outcome.Blockers(ctx, r.Cycle, r.children)
	if err != nil {
		return true // it ends the cycle when its result is put together
	}
	return len(left) > 0 && r.Plan.outcome.Ready == v1alpha1.ReadyCurrent ||
		slices.ContainsFunc(left, func(b stage.Blocker) bool { return b.Weight == stage.ChildFailed })
}

// discard deletes a child, or lets it go where its declaration said so.
func (r *Run) discard(ctx context.Context, child *unstructured.Unstructured) error {
	var err error
	if child.GetAnnotations()[v1alpha1.AnnotationDeletionPolicy] == string(v1alpha1.ChildOrphan) {
		err = r.Ports.Applier.Orphan(ctx, r.Owner, child)
	} else {
		err = r.Ports.Applier.Delete(ctx, child)
	}
	if apierrors.IsConflict(err) {
		// It has changed since it was read. Its event is on the way, and the next cycle decides by what it is then. Should there be
		// no event, because something between us and the API server has made the conflict up, nothing else would bring the cycle back.
		r.ReconcileAt(r.Now.Add(conflictInterval))
		return nil
	}
	if err == nil {
		r.note(child, Pruned)
	}
	return err
}
