package children

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

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

// runWave renders the declarations of one wave, then writes them at the same time.
func (c *Cycle) runWave(ctx context.Context, wave []*declare.Declaration) error {
	writes, err := prepareWave(ctx, c, wave)
	if err == nil {
		err = writeWave(ctx, c, writes)
	}
	if err != nil {
		c.applied.holdUnwritten(writes)
	}
	return err
}

func prepareWave(ctx context.Context, c *Cycle, wave []*declare.Declaration) ([]*pending, error) {
	// The versions that the gates are about to read must be noted before the first write.
	c.Living.All()
	var writes []*pending
	for _, d := range wave {
		more, err := c.prepareAll(ctx, d)
		if writes = append(writes, more...); err != nil {
			return writes, err
		}
		c.applied.asked[d] = true
	}
	c.Living.forgetViewOfSuperseded()
	return writes, nil
}

func writeWave(ctx context.Context, c *Cycle, writes []*pending) error {
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
	if err := c.applied.refuseMadeOnce(ctx, c, in, c.Living.at(keyOf(obj))); err != nil {
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
