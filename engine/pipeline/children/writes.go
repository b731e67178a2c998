package children

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/refusal"
	"github.com/orkspace/orkestra/engine/pipeline/rollout"
	"github.com/orkspace/orkestra/engine/pipeline/settle"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// concurrentWrites is how many children of one wave are written at the same time.
const concurrentWrites = 8

// terminatingInterval is the time to the next try for a name that an object of another owner holds while it is being deleted.
const terminatingInterval = 15 * time.Second

// pending is a rendered child that is about to be written.
type pending struct {
	in      Instance
	child   apply.Child
	live    *unstructured.Unstructured // of an instance that acts once: what it has made
	behind  rollout.InTheWay           // of an item whose turn it is not
	outcome apply.Outcome
	err     error
}

// writeAll writes children at the same time.
func writeAll(ctx context.Context, c *Cycle, writes []*pending) error {
	// The garbage collector deletes the children that name their owner; only this process deletes the others.
	ours := func(w *pending) bool { return !c.Owner.References(w.child) }
	if slices.ContainsFunc(writes, ours) {
		if err := stage.TakeHold(ctx, c.Cycle); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(writes, func(w *pending) bool { return w.live == nil && ours(w) }) {
		if err := c.EnsureOwnerExists(ctx); err != nil {
			return err
		}
	}
	objects := make([]*unstructured.Unstructured, 0, len(writes))
	for _, w := range writes {
		objects = append(objects, w.child.Object)
	}
	// Namespaces are noted before the first write there: were this process to end in between, nobody would look for children in them.
	if err := c.Reach(ctx, objects...); err != nil {
		return err
	}
	for _, same := range byRank(writes) {
		writeTogether(ctx, c, same)
		if err := c.record(same); err != nil {
			return err
		}
	}
	return nil
}

// writeTogether writes children of one rank at the same time. All that are in flight finish, and each keeps its own error. The last one is written
// on this goroutine, whose stack has grown already: most boxes have few.
func writeTogether(ctx context.Context, c *Cycle, same []*pending) {
	write := func(w *pending) { w.outcome, w.err = c.write(ctx, w) }
	var others errgroup.Group
	others.SetLimit(concurrentWrites - 1)
	last := len(same) - 1
	for _, w := range same[:last] {
		others.Go(func() error {
			write(w)
			return nil
		})
	}
	write(same[last])
	_ = others.Wait() // nil: each has its own
}

// byRank parts what is written into what may be written at the same time: the items of one loop may be of several kinds, and a ConfigMap
// comes before the workload that mounts it.
func byRank(writes []*pending) [][]*pending {
	rank := func(w *pending) int {
		if !w.in.Whole {
			return w.in.Rank()
		}
		return kinds.RankOf(w.in.GVK)
	}
	sorted := slices.Clone(writes)
	slices.SortStableFunc(sorted, func(a, b *pending) int { return rank(a) - rank(b) })
	var out [][]*pending
	for first := 0; first < len(sorted); {
		last := first + 1
		for last < len(sorted) && rank(sorted[last]) == rank(sorted[first]) {
			last++
		}
		out = append(out, sorted[first:last])
		first = last
	}
	return out
}

// write applies one child. A panic is caught here, because nothing above a goroutine could catch it, and it would end the process.
func (c *Cycle) write(ctx context.Context, w *pending) (out apply.Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &stage.PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	if w.live != nil {
		return c.writeOwnership(ctx, w)
	}
	return c.Ports.Applier.Apply(ctx, c.Owner, w.child)
}

// putBackEvent is the event of a child that others had changed: they may wonder where the change went. What our own declaration changes is
// no such thing.
func (w *pending) putBackEvent(name string) (e stage.Event, ok bool) {
	if w.outcome.Action != apply.Corrected || len(w.outcome.Drift) == 0 {
		return e, false
	}
	child := w.outcome.Object
	return stage.Event{
		Reason:  v1alpha1.ReasonPutBack,
		Message: fmt.Sprintf("put back %s/%s %s", child.GetKind(), name, w.in.Disclosure().PutBack(w.outcome.Drift)),
		Related: corev1.ObjectReference{
			APIVersion: child.GetAPIVersion(), Kind: child.GetKind(), Namespace: keyOf(child).namespace, Name: child.GetName(), UID: child.GetUID(),
			// The recorder counts up an event whose objects are the same, and drops the text: another field would stand nowhere.
			FieldPath: declare.PathsPutBack(w.outcome.Drift),
		},
	}, true
}

// record notes what was written. Of several errors the first one declared is reported, so that messages are the same twice.
func (c *Cycle) record(writes []*pending) error {
	var errs []error
	for _, w := range writes {
		if w.err = refusal.Explain(w.in.Declaration, w.child.Object, w.err); w.err != nil {
			if w.in.at != "" {
				w.err = fmt.Errorf("%s: %w", w.in.at, w.err)
			}
			errs = append(errs, w.err)
			continue
		}
		c.Wrote(w.outcome.Object, w.outcome.Action)
		if e, ok := w.putBackEvent(c.ChildName(w.outcome.Object)); ok {
			c.Events = append(c.Events, e)
		}
		if w.outcome.Contention != "" {
			c.Contend(w.outcome.Contention)
			c.ReconcileAt(w.outcome.ReconcileAt)
		}
		switch w.outcome.Action {
		case apply.Replaced:
			c.rolling.going[w.outcome.Object.GetUID()] = true
			c.rolling.again[w.in.Declaration]++
			w.in.awaitsReplaced(c, w.child.Object.GetKind(), w.child.Object.GetName())
		case apply.Terminating:
			c.applied.unmade[w.in.ID] = true
			c.rolling.cannotBeMade(w.in)
			c.Wait(w.in.ID, v1alpha1.ReasonChildTerminating, fmt.Sprintf("%s %q is being deleted; it is made again when it is gone%s",
				w.child.Object.GetKind(), w.child.Object.GetName(), settle.HeldBy(w.outcome.Object)))
			if w.outcome.Object.GetLabels()[v1alpha1.LabelOwnerUID] != string(c.Stored.GetUID()) {
				c.ReconcileAt(c.Now.Add(terminatingInterval)) // no event says when an object goes that the box does not own
			}
			c.Incomplete = c.Incomplete || w.in.Phase == declare.OnCreate
		default:
		}
	}
	if len(errs) > 0 {
		return errs[0]
	}
	return nil
}

// awaitsReplaced notes that a child was deleted to be made again.
func (in Instance) awaitsReplaced(c *Cycle, kind, name string) {
	c.applied.unmade[in.ID] = true
	c.Wait(in.ID, v1alpha1.ReasonChildTerminating, fmt.Sprintf("%s %q is deleted, to be made again with what is declared now", kind, name))
	c.Incomplete = c.Incomplete || in.Phase == declare.OnCreate
}

// Wrote counts a write; what was read of the children is out of date then.
func (c *Cycle) Wrote(child *unstructured.Unstructured, action apply.Action) {
	if action == apply.None || action == apply.Terminating {
		return
	}
	c.Writes = append(c.Writes, stage.Written{Group: child.GroupVersionKind().Group, Kind: child.GetKind(), Name: c.ChildName(child), Action: action})
	c.Living.Changed()
	c.Inputs.Wrote(child, action == apply.Created && !c.Living.viewed)
}
