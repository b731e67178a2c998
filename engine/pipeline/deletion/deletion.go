// Package deletion is how a resource goes: its clean-up, then the children that the garbage collector will not delete, then its
// finalizers.
package deletion

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
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// deletion cleans up after a deleted resource and removes its finalizers. It needs no other stage to have run, so that a resource whose
// spec is wrong can be deleted too.
type deletion struct {
	cleanup []*declare.Declaration
	ordered bool
	timeout time.Duration
}

// Compile compiles spec.deletion and the clean-up that onDelete declares.
func Compile(b *compile.Box, declared *declare.Set) stage.Stage[*children.Cycle] {
	d := &deletion{cleanup: slices.Concat(declare.Waves(declared.OnDelete)...), timeout: boxspec.DefaultDeletionTimeout}
	if spec := b.Spec.Deletion; spec != nil {
		d.ordered = spec.Ordered
		if spec.Timeout != nil {
			d.timeout = spec.Timeout.Duration
			if d.timeout <= 0 {
				b.Fail(field.Invalid(field.NewPath("spec", "deletion", "timeout"), d.timeout.String(), "wanted a duration above zero, such as 5m"))
			}
		}
		if d.ordered {
			d.cleanup = declared.OnDelete
		}
	}
	return d
}

// Name implements Stage.
func (*deletion) Name() string { return stage.StepDeletion }

// Run implements Stage.
func (d *deletion) Run(ctx context.Context, c *children.Cycle) (stage.Outcome, error) {
	if c.Stored.GetDeletionTimestamp() == nil {
		return stage.Next, nil
	}
	c.Deleting = true
	if !slices.Contains(c.Stored.GetFinalizers(), v1alpha1.Finalizer) {
		c.Released = true
		return stage.Done, nil
	}
	finalizers, err := apply.Finalizers(ctx, c.Stored, c.Marks.Finalizers, c.Ports.FormerFinalizers)
	if err != nil {
		return stage.Hold, err
	}
	// A resource that is being deleted takes no new finalizers.
	c.Marks.Finalizers = slices.DeleteFunc(finalizers, func(f string) bool { return !slices.Contains(c.Stored.GetFinalizers(), f) })
	if c.Stored.GetAnnotations()[v1alpha1.AnnotationSkipCleanup] != v1alpha1.True {
		if finished, err := d.cleanUp(ctx, c); err != nil || !finished {
			return stage.Hold, err
		}
	}
	if gone, err := d.deleteAll(ctx, c); err != nil || !gone {
		return stage.Hold, err
	}
	if err := c.Ports.Marker.Finish(ctx, c.Stored, c.Marks.Finalizers); err != nil {
		return stage.Hold, err
	}
	c.Released = true
	return stage.Done, nil
}

// deleteAll deletes the children that the garbage collector will not delete, rank by rank, the highest first. The next rank follows when
// those are gone. Children without finalizers are gone at once, so the loop goes on without waiting for their events.
func (d *deletion) deleteAll(ctx context.Context, c *children.Cycle) (gone bool, err error) {
	for former := math.MaxInt; ; {
		left, err := leftChildren(ctx, c)
		if err != nil || len(left) == 0 {
			return err == nil, err
		}
		rank := slices.Max(slices.Collect(maps.Keys(left)))
		highest := left[rank]
		if rank == former {
			c.Wait("", v1alpha1.ReasonDeleting, fmt.Sprintf("waiting for %s %q to be gone%s", highest[0].GetKind(), c.ChildName(highest[0]), children.HeldBy(highest[0])))
			return false, nil
		}
		if err := d.deleteChildren(ctx, c, highest); err != nil {
			return false, err
		}
		c.Living.Changed() // read again: orphaned children are no longer ours, and must not be orphaned twice
		former = rank
	}
}

// allDone is the mark of a clean-up that is finished as a whole. From then on children are deleted, and what onDelete reads
// of them is no longer there.
const allDone = "*"

// cleanUp runs onDelete. It says whether all of it is finished.
func (d *deletion) cleanUp(ctx context.Context, c *children.Cycle) (bool, error) {
	finished := children.DoneMarks(c.Stored)
	// The resource's author can write marks, too.
	maps.DeleteFunc(finished, func(id, _ string) bool { return !marks(c.Declared, id) })
	if _, all := finished[allDone]; all || len(d.cleanup) == 0 {
		return true, nil
	}
	// Jobs that end are what is waited for: they must be among the inputs, in the versions from before the first write.
	c.Living.All()
	waiting, err := d.runDeclarations(ctx, c, finished)
	if len(waiting) > 0 || err != nil {
		// What has finished must not run again, whatever becomes of the rest.
		err = cmp.Or(err, c.Remember(ctx, finished))
	}
	if err != nil || len(waiting) == 0 {
		return err == nil, err
	}
	for _, message := range waiting {
		c.Wait("", v1alpha1.ReasonDeleting, message)
	}
	deadline := c.Stored.GetDeletionTimestamp().Add(d.timeout)
	if !c.Now.Before(deadline) {
		return false, fmt.Errorf("onDelete has not finished within %s: %s", d.timeout, waiting[0])
	}
	c.ReconcileAt(deadline)
	return false, nil
}

// marks says whether what a box declares can have left a mark of this name.
func marks(declared *declare.Set, id string) bool {
	if cleaned, ok := strings.CutPrefix(id, cleanUpMark); ok {
		return declared.Named(cleaned) != nil
	}
	d := declared.Of(id)
	return id == allDone || d != nil && d.IsJob()
}

// leftChildren gives the children that the garbage collector will not delete, by rank. Those that are to stay are orphaned.
func leftChildren(ctx context.Context, c *children.Cycle) (map[int][]*unstructured.Unstructured, error) {
	left := map[int][]*unstructured.Unstructured{}
	for _, child := range slices.Clone(c.Living.All()) {
		switch {
		case stays(c, child):
			if err := c.Ports.Applier.Orphan(ctx, c.Owner, child); err != nil {
				return nil, err
			}
		case collected(c, child):
		default:
			rank := kinds.RankOf(child.GroupVersionKind())
			left[rank] = append(left[rank], child)
		}
	}
	return left, nil
}

// stays says whether a child outlives the resource. What only the clean-up made never does.
func stays(c *children.Cycle, child *unstructured.Unstructured) bool {
	if child.GetAnnotations()[v1alpha1.AnnotationDeletionPolicy] == string(v1alpha1.ChildOrphan) {
		return true
	}
	return c.Orphans() && !c.Declared.OnlyOnDelete(children.IDOf(child))
}

// deleteChildren deletes the children of one rank.
func (d *deletion) deleteChildren(ctx context.Context, c *children.Cycle, ofRank []*unstructured.Unstructured) error {
	if len(d.cleanup) > 0 {
		// The clean-up must not run again when what it reads of the children is gone.
		finished := children.DoneMarks(c.Stored)
		finished[allDone] = c.Plan.Revision
		if _, marked := children.DoneMarks(c.Stored)[allDone]; !marked {
			if err := c.Remember(ctx, finished); err != nil {
				return err
			}
		}
	}
	for _, child := range slices.Backward(ofRank) {
		if child.GetDeletionTimestamp() != nil {
			continue
		}
		if err := c.Discard(ctx, child); err != nil {
			return err
		}
	}
	return nil
}

// collected says whether the garbage collector deletes a child with its owner.
func collected(c *children.Cycle, child *unstructured.Unstructured) bool {
	return !c.Plan.CRD.Going && slices.ContainsFunc(child.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID == c.Stored.GetUID() })
}
