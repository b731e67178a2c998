package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/boxspec"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// deletion lets go of a deleted resource: clean-up, then children that the garbage collector won't delete, then the
// finalizers. It needs no other stage, and with no onDelete nothing but the inventory.
type deletion struct {
	cleanup []*declare.Declaration
	ordered bool
	timeout time.Duration
}

func compileDeletion(c *compiler) Stage {
	d := &deletion{cleanup: slices.Concat(declare.Waves(c.declared.OnDelete)...), timeout: boxspec.DefaultDeletionTimeout}
	if spec := c.Spec.Deletion; spec != nil {
		d.ordered = spec.Ordered
		if spec.Timeout != nil {
			d.timeout = spec.Timeout.Duration
			if d.timeout <= 0 {
				c.Fail(field.Invalid(field.NewPath("spec", "deletion", "timeout"), d.timeout.String(), "wanted a duration above zero, such as 5m"))
			}
		}
		if d.ordered {
			d.cleanup = c.declared.OnDelete
		}
	}
	return d
}

// Name implements Stage.
func (*deletion) Name() string { return stage.StepDeletion }

// Run implements Stage.
func (d *deletion) Run(ctx context.Context, r *Run) (stage.Outcome, error) {
	if r.Stored.GetDeletionTimestamp() == nil {
		return stage.Next, nil
	}
	r.Deleting = true
	if !slices.Contains(r.Stored.GetFinalizers(), v1alpha1.Finalizer) {
		r.Released = true
		return stage.Done, nil
	}
	finalizers, err := apply.Finalizers(ctx, r.Stored, r.Marks.Finalizers, r.Ports.Former)
	if err != nil {
		return stage.Hold, err
	}
	// A resource that is being deleted takes no new finalizers.
	r.Marks.Finalizers = slices.DeleteFunc(finalizers, func(f string) bool { return !slices.Contains(r.Stored.GetFinalizers(), f) })
	if r.Stored.GetAnnotations()[v1alpha1.AnnotationSkipCleanup] != v1alpha1.True {
		if finished, err := d.cleanUp(ctx, r); err != nil || !finished {
			return stage.Hold, err
		}
	}
	if gone, err := d.deleteAll(ctx, r); err != nil || !gone {
		return stage.Hold, err
	}
	if err := r.Ports.Marker.Finish(ctx, r.Stored, r.Marks.Finalizers); err != nil {
		return stage.Hold, err
	}
	r.Released = true
	return stage.Done, nil
}

// deleteAll deletes the children that the garbage collector will not delete, the last made first: the others follow when these are
// gone. That may be at once, and then nobody waits for an event that tells what the API server has answered already.
func (d *deletion) deleteAll(ctx context.Context, r *Run) (gone bool, err error) {
	for former := math.MaxInt; ; {
		left, err := r.leftChildren(ctx)
		if err != nil || len(left) == 0 {
			return err == nil, err
		}
		rank := slices.Max(slices.Collect(maps.Keys(left)))
		last := left[rank]
		if rank == former {
			r.Wait("", v1alpha1.ReasonDeleting, fmt.Sprintf("waiting for %s %q to be gone%s", last[0].GetKind(), r.ChildName(last[0]), children.HeldBy(last[0])))
			return false, nil
		}
		if err := d.deleteChildren(ctx, r, last); err != nil {
			return false, err
		}
		r.Living.Changed() // those that were let go must not be let go again
		former = rank
	}
}

// allDone is the mark of a clean-up that is finished as a whole. From then on children are deleted, and what onDelete reads
// of them is no longer there.
const allDone = "*"

// cleanUp runs onDelete. It says whether all of it is finished.
func (d *deletion) cleanUp(ctx context.Context, r *Run) (bool, error) {
	finished := children.DoneMarks(r.Stored)
	// The resource's author can write marks, too.
	maps.DeleteFunc(finished, func(id, _ string) bool { return !r.Plan.marks(id) })
	if _, all := finished[allDone]; all || len(d.cleanup) == 0 {
		return true, nil
	}
	// Jobs that end are what is waited for: they must be among the inputs, in the versions from before the first write.
	r.Living.All()
	waiting, err := d.steps(ctx, r, finished)
	if len(waiting) > 0 || err != nil {
		// What has finished must not run again, whatever becomes of the rest.
		err = cmp.Or(err, r.Remember(ctx, finished))
	}
	if err != nil || len(waiting) == 0 {
		return err == nil, err
	}
	for _, message := range waiting {
		r.Wait("", v1alpha1.ReasonDeleting, message)
	}
	deadline := r.Stored.GetDeletionTimestamp().Add(d.timeout)
	if !r.Now.Before(deadline) {
		return false, fmt.Errorf("onDelete has not finished within %s: %s", d.timeout, waiting[0])
	}
	r.ReconcileAt(deadline)
	return false, nil
}

// marks says whether what the plan declares can have left a mark of this name.
func (p *Plan) marks(id string) bool {
	if cleaned, ok := strings.CutPrefix(id, cleanUpMark); ok {
		return p.declared.Named(cleaned) != nil
	}
	d := p.declared.Of(id)
	return id == allDone || d != nil && d.IsJob()
}

// leftChildren gives the children that the garbage collector will not delete, by rank. Those that are to stay are let go.
func (r *Run) leftChildren(ctx context.Context) (map[int][]*unstructured.Unstructured, error) {
	left := map[int][]*unstructured.Unstructured{}
	for _, child := range slices.Clone(r.Living.All()) {
		switch {
		case r.stays(child):
			if err := r.Ports.Applier.Orphan(ctx, r.Owner, child); err != nil {
				return nil, err
			}
		case r.collected(child):
		default:
			rank := kinds.RankOf(child.GroupVersionKind())
			left[rank] = append(left[rank], child)
		}
	}
	return left, nil
}

// stays says whether a child outlives the resource. What only the clean-up made never does.
func (r *Run) stays(child *unstructured.Unstructured) bool {
	if child.GetAnnotations()[v1alpha1.AnnotationDeletionPolicy] == string(v1alpha1.ChildOrphan) {
		return true
	}
	return r.Orphans() && !r.Declared.OnlyOnDelete(children.IDOf(child))
}

// deleteChildren deletes the children of one rank.
func (d *deletion) deleteChildren(ctx context.Context, r *Run, last []*unstructured.Unstructured) error {
	if len(d.cleanup) > 0 {
		finished := children.DoneMarks(r.Stored)
		finished[allDone] = r.Plan.Revision
		if _, marked := children.DoneMarks(r.Stored)[allDone]; !marked {
			if err := r.Remember(ctx, finished); err != nil {
				return err
			}
		}
	}
	for _, child := range slices.Backward(last) {
		if child.GetDeletionTimestamp() != nil {
			continue
		}
		if err := r.Discard(ctx, child); err != nil {
			return err
		}
	}
	return nil
}

// collected says whether the garbage collector deletes a child with its owner.
func (r *Run) collected(child *unstructured.Unstructured) bool {
	return !r.Plan.CRD.Going && slices.ContainsFunc(child.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID == r.Stored.GetUID() })
}
