// Package deletion is how a resource goes: its clean-up, then the children that the garbage collector will not delete, then its
// finalizers.
package deletion

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/boxspec"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/settle"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/value"
)

// deletion cleans up after a deleted resource and removes its finalizers. It needs no other stage to have run, so that a resource whose
// spec is wrong can be deleted too.
type deletion struct {
	cleanup []*declare.Declaration
	ordered bool
	timeout time.Duration
	code    Code
	takers  []Taker
}

// Taker takes back what a resource has made that is no child.
type Taker interface {
	// TakeBack takes it back, and says whether that is done.
	TakeBack(ctx context.Context, c *children.Cycle) (done bool, err error)
	// Leave says what is left, and why it could not be taken back, when people have asked for the resource to go all the same.
	Leave(c *children.Cycle, why error)
	// Waits names what has to wait where nothing may be written; empty: nothing.
	Waits(c *children.Cycle) string
}

// Code is code of the user's own.
type Code interface {
	// Cleans says whether it has something to do for a resource that goes.
	Cleans() bool
	// Delete does that, and says whether it is done.
	Delete(ctx context.Context, c *children.Cycle) (done bool, err error)
}

// Compile compiles spec.deletion and the clean-up that onDelete declares. takers take back, in their order, what is no child.
func Compile(b *compile.Box, declared *declare.Set, code Code, takers []Taker) stage.Stage[*children.Cycle] {
	d := &deletion{code: code, takers: takers, cleanup: slices.Concat(declare.Waves(declared.OnDelete)...), timeout: boxspec.DefaultDeletionTimeout}
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
	leaves := !c.LeavingSince.IsZero()
	if c.Stored.GetDeletionTimestamp() == nil && !leaves {
		return stage.Next, nil
	}
	c.Deleting = true
	if !leaves && !slices.Contains(c.Stored.GetFinalizers(), v1alpha1.Finalizer) || c.Plan.HeldBy(c.Stored) != "" {
		c.Released = true
		return stage.Done, nil
	}
	finalizers, err := apply.Finalizers(ctx, c.Stored, c.Plan.Removable(), c.Ports.FormerFinalizers)
	if err != nil {
		return stage.Hold, err
	}
	// A resource that is being deleted takes no new finalizers.
	c.Marks.Finalizers = slices.DeleteFunc(finalizers, func(f string) bool { return !slices.Contains(c.Stored.GetFinalizers(), f) })
	if err := d.withoutAccount(c); err != nil {
		return stage.Hold, err
	}
	if _, cleaned := children.DoneMarks(c.Stored)[allDone]; !cleaned && !skipsCleanUp(c) {
		if finished, err := d.cleanUp(ctx, c); err != nil || !finished {
			return stage.Hold, err
		}
		if done, err := d.code.Delete(ctx, c); err != nil || !done {
			return stage.Hold, stage.Within(stage.StepHook, err)
		}
	}
	if done, err := d.withdraw(ctx, c); err != nil || !done {
		return stage.Hold, err
	}
	if gone, err := d.deleteAll(ctx, c); err != nil || !gone {
		return stage.Hold, err
	}
	if err := finish(ctx, c); err != nil {
		return stage.Hold, err
	}
	c.Released = true
	return stage.Done, nil
}

// finish takes off what holds the resource. An object of others that stays loses what was noted on it as well.
func finish(ctx context.Context, c *children.Cycle) error {
	if c.LeavingSince.IsZero() {
		return c.Ports.Marker.Finish(ctx, c.Stored, c.Marks.Finalizers)
	}
	return stage.Unmark(ctx, c.Cycle)
}

// withdraw takes back what the resource has made that is no child, and says whether that is done. Where people have asked for the resource to
// go without its clean-up, what can't be taken back stays.
func (d *deletion) withdraw(ctx context.Context, c *children.Cycle) (done bool, err error) {
	for _, taker := range d.takers {
		if skipsCleanUp(c) && c.Plan.AccountProblem.Reason != "" {
			if what := taker.Waits(c); what != "" { // nothing may be written
				taker.Leave(c, errors.New(c.Plan.AccountProblem.Message))
			}
			continue
		}
		if taker.Waits(c) == "" {
			continue
		}
		if err := d.markDone(ctx, c); err != nil {
			return false, err
		}
		done, err := taker.TakeBack(ctx, c)
		switch {
		case skipsCleanUp(c) && err != nil:
			taker.Leave(c, err)
		case skipsCleanUp(c) && !done:
			taker.Leave(c, errors.New("it is being deleted, which nobody waits for"))
		case err != nil || !done:
			return false, err
		}
	}
	return true, nil
}

// deleteAll deletes the children that the garbage collector will not delete. Those that come next follow when the ones before them are
// gone. Children without finalizers are gone at once, so the loop goes on without waiting for their events.
func (d *deletion) deleteAll(ctx context.Context, c *children.Cycle) (gone bool, err error) {
	for asked := map[types.UID]bool{}; ; {
		left, err := leftChildren(ctx, c)
		if err != nil || len(left) == 0 {
			return err == nil, err
		}
		next := nextToGo(c, left)
		rest := slices.DeleteFunc(slices.Clone(next), func(child *unstructured.Unstructured) bool { return asked[child.GetUID()] })
		if len(rest) == 0 {
			first := settle.InTheWay(next)
			c.Wait("", v1alpha1.ReasonDeleting, fmt.Sprintf("waiting for %s %q to be gone%s", first.GetKind(), c.ChildName(first), settle.HeldBy(first)))
			return false, nil
		}
		if err := d.deleteChildren(ctx, c, rest); err != nil {
			return false, err
		}
		for _, child := range rest {
			asked[child.GetUID()] = true
		}
		c.Living.Changed() // read again: orphaned children are no longer ours, and must not be orphaned twice
	}
}

// nextToGo gives the children that are deleted next: in reverse, those that none of the others reads; else those of the highest rank.
func nextToGo(c *children.Cycle, left []*unstructured.Unstructured) []*unstructured.Unstructured {
	if c.Declared.Reverse {
		return declare.NextToGo(c.Declared, left, children.IDOf)
	}
	rank := math.MinInt
	for _, child := range left {
		rank = max(rank, kinds.RankOf(child.GroupVersionKind()))
	}
	return slices.DeleteFunc(left, func(child *unstructured.Unstructured) bool { return kinds.RankOf(child.GroupVersionKind()) != rank })
}

// allDone is the mark of a clean-up that is finished as a whole. From then on children are deleted, and what onDelete reads
// of them is no longer there.
const allDone = "*"

// cleanUp runs onDelete. It says whether all of it is finished.
func (d *deletion) cleanUp(ctx context.Context, c *children.Cycle) (bool, error) {
	finished := children.DoneMarks(c.Stored)
	// The resource's author can write marks, too.
	maps.DeleteFunc(finished, func(id, _ string) bool { return !marks(c.Declared, id) })
	if len(d.cleanup) == 0 {
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
	deadline := since(c).Add(d.timeout)
	if !c.Now.Before(deadline) {
		return false, fmt.Errorf("onDelete has not finished within %s: %s", d.timeout, waiting[0])
	}
	c.ReconcileAt(deadline)
	return false, nil
}

// since is the time at which the end of the resource began.
func since(c *children.Cycle) time.Time {
	if deleted := c.Stored.GetDeletionTimestamp(); deleted != nil {
		return deleted.Time
	}
	return c.LeavingSince
}

// marks says whether what a box declares can have left a mark of this name.
func marks(declared *declare.Set, id string) bool {
	if cleaned, ok := strings.CutPrefix(id, cleanUpMark); ok {
		return declared.Named(cleaned) != nil
	}
	d := declared.Of(id)
	return id == allDone || d != nil && d.IsJob()
}

// leftChildren gives the children that the garbage collector will not delete. Those that are to stay are orphaned.
func leftChildren(ctx context.Context, c *children.Cycle) ([]*unstructured.Unstructured, error) {
	var left []*unstructured.Unstructured
	for _, child := range slices.Clone(c.Living.All()) {
		switch {
		case c.Plan.CRD.OfOthers && value.Label(child, v1alpha1.LabelBox) != c.Plan.Box: // another box that served the object has made it
		case stays(c, child) && c.Plan.AccountProblem.Reason != "": // skip-cleanup says that it may stay as it is
		case stays(c, child):
			if err := c.Ports.Applier.Orphan(ctx, c.Owner, child); err != nil {
				return nil, err
			}
		case collected(c, child):
		default:
			left = append(left, child)
		}
	}
	return left, nil
}

// stays says whether a child outlives the resource. What only the clean-up made never does.
func stays(c *children.Cycle, child *unstructured.Unstructured) bool {
	if value.Annotation(child, v1alpha1.AnnotationDeletionPolicy) == string(v1alpha1.ChildOrphan) {
		return true
	}
	return c.Orphans() && !c.Declared.OnlyOnDelete(children.IDOf(child))
}

// deleteChildren deletes children, the last one first.
func (d *deletion) deleteChildren(ctx context.Context, c *children.Cycle, next []*unstructured.Unstructured) error {
	if err := d.markDone(ctx, c); err != nil {
		return err
	}
	for _, child := range slices.Backward(next) {
		if child.GetDeletionTimestamp() != nil {
			continue
		}
		if err := c.Discard(ctx, child); err != nil {
			return err
		}
	}
	return nil
}

// markDone marks that the clean-up is over: it must not run again when what it reads is gone.
func (d *deletion) markDone(ctx context.Context, c *children.Cycle) error {
	if len(d.cleanup) == 0 && !d.code.Cleans() || c.Plan.AccountProblem.Reason != "" {
		return nil
	}
	finished := children.DoneMarks(c.Stored)
	if _, marked := finished[allDone]; marked {
		return nil
	}
	finished[allDone] = c.Plan.Revision
	return c.Remember(ctx, finished)
}

// collected says whether the garbage collector deletes a child with its owner. In reverse it does not have to, also where a child still has
// the owner reference from before. Nor does it where the owner only left the selection.
func collected(c *children.Cycle, child *unstructured.Unstructured) bool {
	return c.LeavingSince.IsZero() && !c.Plan.CRD.Going && !c.Declared.Reverse && slices.ContainsFunc(child.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID == c.Stored.GetUID() })
}

// Lighten takes our finalizer off an object of others that the plan has no need to hold, and a former one had: when nothing is left that the
// garbage collector would not delete with the object. It comes after all stages, and only where each of them has come to its end.
func Lighten(ctx context.Context, c *children.Cycle) error {
	if !c.Plan.CRD.OfOthers || !c.Marks.Needless(c.Stored) || !c.Plan.Holds(c.Stored) || leavesBehind(c) {
		return nil
	}
	c.Marks.LetGo = true
	if err := c.Mark(ctx); err != nil {
		return stage.Classify(stage.StepMetadata, err)
	}
	// Somebody may have written the finalizer, too, by applying the whole object.
	if err := c.Ports.Marker.Finish(ctx, c.Stored, c.Plan.Removable()); err != nil {
		return stage.Classify(stage.StepMetadata, err)
	}
	return nil
}

// leavesBehind says whether a child would stay if the resource were simply gone, or would keep labels of a resource that is gone; or whether
// what it has patched, or made by providers, would.
func leavesBehind(c *children.Cycle) bool {
	noted := c.Stored.GetAnnotations()
	return noted[v1alpha1.AnnotationPatches] != "" || noted[v1alpha1.AnnotationProviders] != "" || slices.ContainsFunc(c.Living.All(), func(child *unstructured.Unstructured) bool {
		return value.Label(child, v1alpha1.LabelBox) == c.Plan.Box && (stays(c, child) || !collected(c, child))
	})
}

// AwaitsRelease says whether a resource waits because another box has not let go of it yet: its finalizer says that something is to be cleaned
// up first.
func AwaitsRelease(c *children.Cycle) bool {
	other := c.Plan.HeldBy(c.Stored)
	if other == "" {
		return false
	}
	if !c.Ports.Observer.Dependency(other).OfBox {
		c.Marks.Inherited = true // nobody else will ever take the finalizer off
		return false
	}
	c.Wait("", v1alpha1.ReasonWaitingForRelease, fmt.Sprintf("OperatorBox %q has not let go of it yet: it cleans up first", other))
	c.ReconcileAt(c.NextRead()) // its end comes as an event; that the box is gone does not
	return true
}
