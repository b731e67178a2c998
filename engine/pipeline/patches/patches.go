// Package patches sets fields of objects that others own, and takes them back when the declaration, its gate or the resource goes.
//
// Each patch has a field manager of its own, by which the API server knows what it has set. What a resource patches is noted on the resource
// before the first write, so that it is taken back whatever becomes of the process, or of the box.
package patches

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/apply/taken"
	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

const (
	// maxPatches is how many patches one resource may make: they are noted in an annotation.
	maxPatches = 100
	// maxOnObject is how many patches one object may have, of all resources: the API server keeps a list of managers in the object.
	maxOnObject = 50
)

// patching is the stage.
type patching struct{ declared []*declare.Declaration }

// Compile gives the stage. A box without patches has it, too: there may be some of former specs, to be taken back.
func Compile(declared *declare.Set) stage.Stage[*children.Cycle] { return patching{declared.Patches} }

// Name implements Stage.
func (patching) Name() string { return stage.StepPatches }

// wanted is a patch that is to stand.
type wanted struct {
	in   patch
	obj  *unstructured.Unstructured // what is set
	live *unstructured.Unstructured // what it is set of
}

func (w wanted) place() place { return placeOf(w.in.ID, w.obj) }

// Run implements Stage. A patch that fails holds up no other; the first error is the one that people read.
func (p patching) Run(ctx context.Context, c *children.Cycle) (stage.Outcome, error) {
	former := read(c.Stored)
	if len(p.declared) == 0 && len(former) == 0 {
		return stage.Next, nil
	}
	round := &round{c: c, held: map[string]bool{}}
	for _, d := range p.declared {
		round.add(ctx, d)
	}
	if err := round.note(ctx, former); err != nil {
		return stage.Hold, err
	}
	failed, first := round.patch(ctx, round.wanted)
	taken, err := round.takeBack(ctx)
	if taken && len(failed) > 0 {
		_, first = round.patch(ctx, failed) // what stood in the way may have been a former patch
	}
	if err := cmp.Or(round.first, first, err); err != nil {
		return stage.Hold, err
	}
	return stage.Next, nil
}

// round is one cycle's work on patches.
type round struct {
	c      *children.Cycle
	wanted []wanted
	keep   []place         // those of patches that are to stand
	held   map[string]bool // ids of declarations of which it is not known what they want: what they have set stays
	first  error
}

// fail notes an error of a declaration, whose patches stay as they are.
func (r *round) fail(ctx context.Context, in children.Instance, err error) {
	r.held[in.Declaration.ID] = true
	if !in.Quoted {
		err = stage.WithoutValues(err, "the object")
	}
	r.first = cmp.Or(r.first, fmt.Errorf("%s: %w", in.Label(ctx, r.c), err))
}

// wait notes what a patch waits for.
func (r *round) wait(ctx context.Context, in children.Instance, reason, message string) {
	if !in.Optional {
		r.c.Wait(in.ID, reason, in.Label(ctx, r.c)+": "+message)
	}
}

// add finds out what a declaration wants.
func (r *round) add(ctx context.Context, d *declare.Declaration) {
	unexpanded := children.InstanceOf(d)
	if r.c.Outside.Lacks(d.Outside) {
		r.held[d.ID] = true // the source says so
		return
	}
	if !d.GateReadsItem && !r.open(ctx, unexpanded) || r.c.NotInstalled(unexpanded) {
		return
	}
	instances, err := r.c.Instances(ctx, d)
	if err != nil {
		r.cannot(ctx, unexpanded, err)
		return
	}
	if d.GateReadsItem {
		instances = slices.DeleteFunc(instances, func(in children.Instance) bool { return !r.open(ctx, in) })
	}
	if err := toldApart(instances); err != nil {
		r.cannot(ctx, unexpanded, err)
		return
	}
	for _, in := range instances {
		if err := r.prepare(ctx, patch{Instance: in}); err != nil {
			r.cannot(ctx, in, err)
		}
	}
}

// toldApart refuses items that are known by one id, because they lead to one object: they would be one manager, and take turns.
func toldApart(instances []children.Instance) error {
	first := make(map[string]children.Instance, len(instances))
	for _, in := range instances {
		if other, taken := first[in.ID]; taken {
			return stage.NewPermanent(v1alpha1.ReasonDuplicateChild, fmt.Errorf(
				"forEach: %q and %q both patch one %s; give each its target, or give `key` a template that tells them apart", other.Place(), in.Place(), in.GVK.Kind))
		}
		first[in.ID] = in
	}
	return nil
}

// cannot notes why an instance can't be evaluated: it waits for what it reads, or fails.
func (r *round) cannot(ctx context.Context, in children.Instance, err error) {
	reason, why, lacks := children.Lacks(ctx, r.c, err)
	if !lacks {
		r.fail(ctx, in, err)
		return
	}
	r.held[in.Declaration.ID] = true
	r.wait(ctx, in, reason, why)
}

// open asks the gate of an instance. While a false one keeps, what is set stays; otherwise it is taken back.
func (r *round) open(ctx context.Context, in children.Instance) bool {
	res, err := in.Ask(ctx, r.c)
	if err != nil {
		r.fail(ctx, in, err)
		return false
	}
	if res.Open {
		return true
	}
	if in.KeepsOn(res) {
		r.held[in.Declaration.ID] = true
	}
	if !res.Choice {
		r.wait(ctx, in, v1alpha1.ReasonWaitingForGate, children.WhyClosed(ctx, r.c, res))
	}
	return false
}

// prepare evaluates a patch, and finds its target.
func (r *round) prepare(ctx context.Context, in patch) error {
	at, err := in.find(ctx, r.c)
	if err != nil {
		return err
	}
	if at.waits != "" {
		switch {
		case at.live != nil:
			r.keep = append(r.keep, placeOf(in.ID, at.obj))
		case at.waits == v1alpha1.ReasonForbidden:
			r.held[in.Declaration.ID] = true
		} // where there was one, nothing of it is left to take back
		r.wait(ctx, in.Instance, at.waits, at.why)
		return nil
	}
	if taken := patchesOn(at.live, v1alpha1.PatchManager(r.c.Stored.GetUID(), in.ID)); taken >= maxOnObject {
		return stage.NewPermanent(v1alpha1.ReasonConflict, fmt.Errorf("%s has %d patches of Orkestra, which is as many as an object may have", at.called, taken))
	}
	r.keep, r.wanted = append(r.keep, placeOf(in.ID, at.obj)), append(r.wanted, wanted{in: in, obj: at.obj, live: at.live})
	return nil
}

// target is what a patch leads to.
type target struct {
	obj    *unstructured.Unstructured // what is set, in an object that names the target
	live   *unstructured.Unstructured // the target; nil: there is none
	called string                     // it, in words
	// waits and why are the reason and the message of what the patch waits for; empty: it can be set.
	waits, why string
}

// find evaluates a patch, and looks for its target.
func (in patch) find(ctx context.Context, c *children.Cycle) (target, error) {
	obj, err := in.render(ctx, c)
	if err != nil {
		return target{}, err
	}
	at := target{obj: obj, called: stage.Describe(in.GVK, obj.GetNamespace(), obj.GetName())}
	if err := c.MayRead(ctx, in.GVK, obj.GetNamespace(), obj.GetName()); err != nil {
		if withheld, ok := errors.AsType[*stage.WithheldError](err); ok {
			at.waits, at.why = v1alpha1.ReasonForbidden, withheld.Error()
			return at, nil
		}
		return at, err
	}
	if err := c.Ports.Observer.Observe(ctx, in.GVK); err != nil {
		return at, err
	}
	at.live = c.Inputs.Get(c.Ports.Observer, in.GVK, obj.GetNamespace(), obj.GetName())
	switch live := at.live; {
	case live == nil:
		at.waits, at.why = v1alpha1.ReasonWaitingForTarget, c.Absent(at.called)
		return at, nil
	case live.GetDeletionTimestamp() != nil:
		at.waits, at.why = v1alpha1.ReasonWaitingForTarget, at.called+" is being deleted"
		return at, nil
	case live.GetUID() == c.Stored.GetUID():
		return at, stage.NewPermanent(v1alpha1.ReasonNotOwned, errors.New("the target is the resource itself: normalize and mutation change what is read of it"))
	case live.GetLabels()[v1alpha1.LabelOwnerUID] != "":
		return at, stage.NewPermanent(v1alpha1.ReasonNotOwned, fmt.Errorf(
			"%s is a child of %q, which box %q makes: a patch would be put back; change its declaration", at.called, live.GetLabels()[v1alpha1.LabelOwner], live.GetLabels()[v1alpha1.LabelBox]))
	}
	return at, in.mayPatch(c, at.live, false) // a part of it may grant rights, such as the type of a Secret
}

// patchesOn counts the patches of an object, but for that of one manager.
func patchesOn(live *unstructured.Unstructured, but string) int {
	count := 0
	for _, e := range live.GetManagedFields() {
		if v1alpha1.IsPatchManager(e.Manager) && e.Manager != but {
			count++
		}
	}
	return count
}

// note notes what is to stand, before it is set, beside what was noted before: that is still to be taken back.
func (r *round) note(ctx context.Context, former []noted) error {
	if len(r.keep) > maxPatches {
		return stage.NewPermanent(v1alpha1.ReasonBudgetExceeded, fmt.Errorf("%d objects are to be patched; one resource may patch %d", len(r.keep), maxPatches))
	}
	all := slices.Clone(former)
	for _, at := range r.keep {
		if n, found := find(all, at); !found {
			all = append(all, n)
		}
	}
	if len(all) > len(former) {
		if err := write(ctx, r.c, all); err != nil {
			return err
		}
	}
	if len(r.wanted) == 0 {
		return nil
	}
	return r.c.EnsureOwnerExists(ctx) // nobody else takes back what is set
}

// patch sets what is wanted, and gives what has failed.
func (r *round) patch(ctx context.Context, all []wanted) (failed []wanted, first error) {
	for _, w := range all {
		out, err := r.set(ctx, w)
		if err != nil {
			if refused, ok := errors.AsType[*apply.RefusedError](err); ok {
				err = stage.NewPermanent(refused.Reason, err) // whose field it is changes with the target, which is watched
			} else if !w.in.Quoted {
				err = stage.WithoutValues(err, w.in.Called(w.obj))
			}
			failed, first = append(failed, w), cmp.Or(first, fmt.Errorf("%s: %w", w.in.Label(ctx, r.c), err))
			continue
		}
		if out.Contention != "" {
			r.c.Contend(out.Contention)
			r.c.ReconcileAt(out.ReconcileAt)
		}
		if out.Action != apply.None {
			r.c.Writes = append(r.c.Writes, stage.Written{Group: w.obj.GroupVersionKind().Group, Kind: w.obj.GetKind(), Name: r.c.ChildName(w.obj), Action: out.Action, Patch: true})
		}
	}
	return failed, first
}

// set sets one patch. What it takes from others is noted first.
func (r *round) set(ctx context.Context, w wanted) (apply.Outcome, error) {
	at := w.place()
	former, _ := find(read(r.c.Stored), at)
	if why := former.mayNotReturn(r.c.Plan); why != "" {
		return apply.Outcome{}, stage.NewPermanent(v1alpha1.ReasonInvalidChild, fmt.Errorf("what the patch has taken can't be given back: %s", why))
	}
	return r.c.Ports.Patcher.Patch(ctx, apply.Patch{
		Manager: v1alpha1.PatchManager(r.c.Stored.GetUID(), w.in.ID), Object: w.obj, Force: w.in.Force, Taken: former.Taken,
		Named: r.named, Keep: func(ctx context.Context, fields *taken.Fields) error { return keep(ctx, r.c, at, fields) },
	}, w.live)
}

// named says in words which patch has a field manager: one of the resource itself, or of another that this process serves.
func (r *round) named(manager string) string {
	if own := Named(r.c.Stored, r.c.Plan.Box, manager); own != "" || r.c.Ports.PatchOf == nil {
		return own
	}
	return r.c.Ports.PatchOf(manager)
}

// takeBack takes back what is noted and nobody wants any more.
func (r *round) takeBack(ctx context.Context) (taken bool, first error) {
	var left []noted
	all := read(r.c.Stored)
	for _, n := range all {
		if slices.Contains(r.keep, n.place) || declare.IsAmong(n.ID, r.held) {
			left = append(left, n)
			continue
		}
		if err := takeBack(ctx, r.c, n); err != nil {
			left, first = append(left, n), cmp.Or(first, err)
			continue
		}
		taken = true
	}
	if !taken {
		return false, first
	}
	return true, cmp.Or(first, write(ctx, r.c, left))
}
