package children

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/rollout"
	"github.com/orkspace/orkestra/engine/pipeline/settle"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// concurrentWrites is how many children of one wave are written at the same time.
const concurrentWrites = 8

// terminatingInterval is the time to the next try for a name that an object of another owner holds while it is being deleted.
const terminatingInterval = 15 * time.Second

// group makes and corrects the children of onCreate or onReconcile, wave by wave.
type group struct {
	name  string
	waves [][]*declare.Declaration
}

// OnCreate gives the stage that makes what onCreate declares; nil where it declares nothing.
func OnCreate(declared *declare.Set) stage.Stage[*Cycle] {
	return newGroup(stage.StepOnCreate, declared.OnCreate)
}

// OnReconcile gives the stage that makes what onReconcile declares; nil where it declares nothing.
func OnReconcile(declared *declare.Set) stage.Stage[*Cycle] {
	return newGroup(stage.StepOnReconcile, declared.OnReconcile)
}

// OnRollback gives the stage that makes what onRollback declares; nil where it declares nothing.
func OnRollback(declared *declare.Set) stage.Stage[*Cycle] {
	return newGroup(stage.StepOnRollback, declared.OnRollback)
}

func newGroup(name string, declarations []*declare.Declaration) stage.Stage[*Cycle] {
	if len(declarations) == 0 {
		return nil
	}
	return &group{name: name, waves: declare.Waves(declarations)}
}

// Name implements Stage.
func (g *group) Name() string { return g.name }

// Run implements Stage.
func (g *group) Run(ctx context.Context, c *Cycle) (stage.Outcome, error) {
	for _, wave := range g.waves {
		if err := c.runWave(ctx, wave); err != nil {
			return stage.Hold, err
		}
	}
	return stage.Next, nil
}

// pending is a rendered child that is about to be written.
type pending struct {
	in      Instance
	child   apply.Child
	live    *unstructured.Unstructured // of an instance that acts once: what it has made
	behind  rollout.InTheWay           // of an item whose turn it is not
	outcome apply.Outcome
	err     error
}

// runWave renders the declarations of one wave, then writes them at the same time.
func (c *Cycle) runWave(ctx context.Context, wave []*declare.Declaration) error {
	// The versions that the gates are about to read must be noted before the first write.
	c.Living.All()
	var writes []*pending
	for _, d := range wave {
		more, err := c.prepareAll(ctx, d)
		if err != nil {
			return err
		}
		writes = append(writes, more...)
	}
	c.Living.forgetViewOfSuperseded()
	for {
		now, later, err := c.rolling.inTurn(ctx, writes)
		if err != nil {
			return err
		}
		if err := writeAll(ctx, c, now); err != nil || len(later) == 0 {
			return err
		}
		if len(now) == 0 {
			c.rolling.awaitTurn(ctx, later)
			return nil
		}
		writes = later // what was written may be current at once, as a ConfigMap is
	}
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
		var eg errgroup.Group
		eg.SetLimit(concurrentWrites)
		for _, w := range same {
			eg.Go(func() error {
				// Not the group's error: all that are in flight finish, and the first one declared is reported.
				w.outcome, w.err = c.write(ctx, w)
				return nil
			})
		}
		if err := eg.Wait(); err != nil {
			return err
		}
		if err := c.record(same); err != nil {
			return err
		}
	}
	return nil
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

// prepareAll renders the instances of a declaration that act now.
func (c *Cycle) prepareAll(ctx context.Context, d *declare.Declaration) ([]*pending, error) {
	var writes []*pending
	instances, err := c.expand(ctx, d)
	if InstanceOf(d).awaits(ctx, c, err) {
		return nil, nil
	}
	behind := ""
	if err == nil {
		behind, err = c.After(ctx, d)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", InstanceOf(d).Label(ctx, c), err)
	}
	for _, in := range instances {
		w, err := c.prepare(ctx, in, behind)
		if in.awaits(ctx, c, err) || in.isShutOut(ctx, c, err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", in.Label(ctx, c), err)
		}
		if w != nil {
			writes = append(writes, w)
		}
	}
	return writes, nil
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
		w.err = explainImmutable(w, w.err)
		if w.err != nil && !w.in.Quoted {
			// The API server's message may quote a value that came from a Secret.
			w.err = stage.WithoutValues(w.err, w.in.Called(w.child.Object))
		}
		if w.err != nil {
			if w.err = w.cannotGrow(w.err); w.in.at != "" {
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
			w.in.awaitsReplaced(c, w.child.Object.GetKind(), w.child.Object.GetName())
		case apply.Terminating:
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

// Wrote counts a write; what was read of the children is out of date then.
func (c *Cycle) Wrote(child *unstructured.Unstructured, action apply.Action) {
	if action == apply.None || action == apply.Terminating {
		return
	}
	c.Writes = append(c.Writes, stage.Written{Kind: child.GetKind(), Name: c.ChildName(child), Action: action})
	c.Living.Changed()
	c.Inputs.Wrote(child, action == apply.Created && !c.Living.viewed)
}

// expand gives the instances of a declaration that may act now. A gate that reads no item is asked once, before the loop:
// what it waits for may be what the loop goes over.
func (c *Cycle) expand(ctx context.Context, d *declare.Declaration) ([]Instance, error) {
	unexpanded := InstanceOf(d)
	c.Jobs.considered[d] = true
	c.Jobs.foresee(ctx, d.Children)
	if d.Phase == declare.OnCreate && d.Once && c.Marks.Active {
		c.applied.hold(unexpanded)
		return nil, c.updateOwnership(ctx, unexpanded)
	}
	if c.Outside.Lacks(d.Outside) {
		c.applied.hold(unexpanded)
		c.Jobs.postpone(ctx, unexpanded)
		c.Incomplete = c.Incomplete || d.Phase == declare.OnCreate
		return nil, nil
	}
	if !d.GateReadsItem {
		if open, err := unexpanded.open(ctx, c); err != nil || !open {
			return nil, err
		}
	}
	if c.NotInstalled(unexpanded) {
		c.applied.hold(unexpanded)
		return nil, nil
	}
	instances, err := c.Instances(ctx, d)
	if err == nil {
		c.applied.setInstances(d, instances)
	}
	return instances, err
}

// NotInstalled says whether an instance may be left out because the API server does not have its kind. Its CRD has the resource reconciled
// when it is installed; no event tells of the kinds of an aggregated API server, so it is asked for again at the next resync.
func (c *Cycle) NotInstalled(in Instance) bool {
	if !in.Optional || !in.Kind.GVK.Empty() || in.GVK.Empty() {
		return false
	}
	// Any other error comes up again when the child is written.
	if _, err := c.Ports.Kinds.Namespaced(in.GVK); !meta.IsNoMatchError(err) {
		return false
	}
	c.ReconcileAt(c.NextRead())
	return true
}

// prepare renders an instance. nil: it does not act. behind says what it comes after that is not current yet.
func (c *Cycle) prepare(ctx context.Context, in Instance, behind string) (*pending, error) {
	if in.GateReadsItem {
		if open, err := in.open(ctx, c); err != nil || !open {
			return nil, err
		}
	}
	if c.Restoring && in.IsJob() {
		c.applied.hold(in) // what it did can't be undone, and is not done again
		return nil, nil
	}
	if in.GVK.Empty() {
		var err error
		if in, err = Known(ctx, c, in); err != nil {
			return nil, err
		}
		if c.NotInstalled(in) {
			c.applied.hold(in)
			return nil, nil
		}
	}
	if in.Once {
		if w, found, err := c.alreadyMade(ctx, in); err != nil || found {
			return w, err
		}
	}
	if behind != "" {
		comesLater(ctx, c, in, behind)
		return nil, nil
	}
	obj, err := in.Render(ctx, c)
	if err != nil {
		return nil, err
	}
	if in.IsJob() {
		return c.Jobs.prepare(ctx, in, obj)
	}
	w := &pending{in: in, child: in.Child(obj)}
	w.child.Initial = c.scalers.initialOf(ctx, in, obj)
	for _, left := range in.Kind.Leftovers(obj) {
		w.child.Leftovers = append(w.child.Leftovers, apply.Leftover{Path: left.Path, Value: left.Value, Wanted: drift.InWords(left.Wanted)})
	}
	return w, c.applied.add(obj, in)
}

// updateOwnership lets the children of a declaration that does not act any more follow a change of how the box owns its children.
func (c *Cycle) updateOwnership(ctx context.Context, d Instance) error {
	for _, child := range c.Living.Find(d) {
		if child.GetDeletionTimestamp() != nil || child.GetLabels()[v1alpha1.LabelBox] != c.Plan.Box {
			continue
		}
		in := instanceOf(d.Declaration, IDOf(child)) // its item may be gone from the loop
		if shut, err := c.leavesAlone(ctx, child); err != nil || shut {
			if err != nil {
				return err
			}
			continue
		}
		out, err := c.Ports.Applier.Keep(ctx, c.Owner, in.Child(nil), child)
		if err != nil {
			return err
		}
		c.Wrote(out.Object, out.Action)
		if !d.IsJob() || c.Restoring || c.Jobs.siblingNoted(in, out.Object) {
			continue
		}
		if err := c.Jobs.finishKept(ctx, in, out.Object); err != nil {
			return err
		}
	}
	return nil
}
