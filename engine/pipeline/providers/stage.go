package providers

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/provider"
	"github.com/orkspace/orkestra/engine/provision"
)

// maxMade is how many resources of providers one custom resource may have: they are noted in an annotation.
const maxMade = 100

// providing is the stage that makes, changes and deletes.
type providing struct{ *Plan }

// Stage gives the stage that makes what is declared, and deletes what is not any more. A box without providers has it, too.
func (p *Plan) Stage() stage.Stage[*children.Cycle] { return providing{p} }

// Name implements Stage.
func (providing) Name() string { return stage.StepProviders }

// round is one cycle's work on the resources of providers.
type round struct {
	*Plan

	c     *children.Cycle
	notes *notes
	kept  map[string]bool // keys of what is to stand
	stand map[string]bool // tokens of what is to stand
	dark  map[string]bool // types of which something is to stand that could not be looked at: it may be what is noted under another address
	held  map[string]bool // ids of declarations of which it is not known what they want, or whose new ones are not there yet
	seen  outputs
	first error
}

// Run implements Stage. A resource that fails holds up no other; the first error is the one that people read.
func (p providing) Run(ctx context.Context, c *children.Cycle) (stage.Outcome, error) {
	former := read(c.Stored)
	if len(p.entries) == 0 && len(former) == 0 {
		return stage.Next, nil
	}
	if c.Ports.Providers == nil {
		return p.imagine(ctx, c)
	}
	r := &round{Plan: p.Plan, c: c, notes: &notes{c: c, all: former}, kept: map[string]bool{}, stand: map[string]bool{}, dark: map[string]bool{}, held: map[string]bool{}, seen: outputsOf(c)}
	before := c.Outside.ProvidedWithSecrets
	for _, e := range p.entries {
		if err := r.entry(ctx, e); err != nil {
			return stage.Hold, err
		}
	}
	if !c.Restoring { // going back deletes nothing: what the failed spec has made goes when a spec has succeeded
		r.takeBack(ctx)
	}
	if err := r.notes.write(ctx); err != nil {
		return stage.Hold, err
	}
	keys := map[string]bool{}
	for key := range r.kept {
		keys[key] = true
	}
	for _, n := range r.notes.all {
		keys[n.key()], keys[deletionKey(n.key())] = true, !r.kept[n.key()]
	}
	c.Ports.Providers.Memory().Retain(keys)
	if !reflect.DeepEqual(before, c.Outside.ProvidedWithSecrets) && len(p.entries) > 0 {
		c.ReconcileAt(c.Now) // what was made before this stage has read other outputs, or none
		r.waitForReaders(before)
	}
	if r.first != nil {
		return stage.Hold, r.first
	}
	return stage.Next, nil
}

// waitForReaders notes that what reads outputs has not seen them yet, so that the resource is not Ready with what was made without them.
func (r *round) waitForReaders(before map[string]any) {
	for _, e := range r.entries {
		if e.feeds && !reflect.DeepEqual(before[e.ID], r.c.Outside.ProvidedWithSecrets[e.ID]) {
			r.waitAs(e, e.Label(), stage.Wait{Reason: v1alpha1.ReasonWaitingForProvider,
				Message: "its outputs have just changed; what reads them is made next", Unready: true})
		}
	}
}

// entry brings what one declaration wants. An error is one that ends the cycle.
func (r *round) entry(ctx context.Context, e *entry) error {
	all, known := r.wanted(ctx, e)
	var ready []*wanted
	for _, w := range all {
		if r.kept[w.note.key()] {
			r.fail(ctx, e, w.in, stage.NewPermanent(v1alpha1.ReasonDuplicateChild, fmt.Errorf("%s is declared twice: what tells resources from each other (%s) is the same",
				typeOf(e.provider, e.kind), shown(w.note.Identity))))
			return nil
		}
		r.kept[w.note.key()] = true
		if known := r.notes.find(w.note.key()); known != nil {
			w.note.keep(known)
		} else if looked, err := r.look(ctx, e, w); err != nil || !looked {
			if err != nil {
				return err
			}
			continue
		}
		if r.stand[w.note.Token] {
			r.fail(ctx, e, w.in, provider.Twice("Observe", fmt.Sprintf("%s (%s)", typeOf(e.provider, e.kind), w.note.address())))
			continue
		}
		r.stand[w.note.Token] = true
		ready = append(ready, w)
	}
	if err := r.note(ctx, ready); err != nil {
		return err
	}
	for _, w := range ready {
		if err := r.bring(ctx, e, w); err != nil {
			return err
		}
	}
	if known && len(ready) == len(all) {
		r.seen.know(e, all)
	}
	return nil
}

// look finds out whether there is something already, and draws the token by which the service knows a call again. It says whether it could.
func (r *round) look(ctx context.Context, e *entry, w *wanted) (bool, error) {
	failed, err := w.look(ctx, r.c)
	switch {
	case err != nil && ctx.Err() != nil:
		return false, err
	case err != nil:
		r.dark[typeOf(e.provider, e.kind)] = true
		r.fail(ctx, e, w.in, err)
		return false, nil
	case failed != nil:
		if !provider.IsClass(failed.Err, provider.NotOwned) {
			r.dark[typeOf(e.provider, e.kind)] = true
		}
		r.c.ReconcileAt(failed.Next)
		r.outcome(ctx, e, w, failed)
		return false, nil
	}
	if w.note.Token == "" {
		w.note.Token = string(uuid.NewUUID())
		return true, nil
	}
	if former := r.notes.former(&w.note); former != nil && !r.kept[former.key()] {
		w.note.keep(former)
		r.c.Events = append(r.c.Events, stage.Event{Reason: v1alpha1.ReasonProviderMoved,
			Message: fmt.Sprintf("%s: %s (%s) is the one that was declared as %s: it stays, and nothing is deleted", w.note.ID, typeOf(e.provider, e.kind), w.note.address(), former.address())})
	}
	return true, nil
}

// note notes what is to be there, before it is made.
func (r *round) note(ctx context.Context, all []*wanted) error {
	for _, w := range all {
		r.notes.put(w.note)
	}
	if len(r.notes.all) > maxMade {
		return stage.NewPermanent(v1alpha1.ReasonBudgetExceeded, fmt.Errorf("providers are to make %d resources; one custom resource may have %d", len(r.notes.all), maxMade))
	}
	if len(all) == 0 {
		return nil
	}
	if err := r.notes.write(ctx); err != nil {
		return err
	}
	return r.c.EnsureOwnerExists(ctx) // nobody else deletes what is made
}

// bring brings one resource, and gives its outputs to templates.
func (r *round) bring(ctx context.Context, e *entry, w *wanted) error {
	c := r.c
	before, made := w.note.Noted, w.note.Made
	record, err := w.bring(ctx, c)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		r.fail(ctx, e, w.in, err)
		return nil
	}
	c.ReconcileAt(record.Next)
	if record.Observed != nil {
		r.seen.give(e, w.in, record.Observed)
	}
	w.note.Made = made || record.Err == nil && record.Observed != nil
	if made != w.note.Made || !maps.Equal(before, w.note.Noted) {
		r.notes.put(w.note)
	}
	r.outcome(ctx, e, w, record)
	return nil
}

// outcome notes what a record says of a resource: what it waits for, or why it fails.
func (r *round) outcome(ctx context.Context, e *entry, w *wanted, record *provision.Record) {
	name := fmt.Sprintf("%s (%s)", w.in.Label(ctx, r.c), w.note.address())
	switch {
	case provider.IsClass(record.Err, provider.Throttled):
		r.held[e.ID] = true
		r.waitAs(e, name, stage.Wait{Reason: v1alpha1.ReasonWaitingForProvider, Message: r.said(e, record.Err).Error(), Unready: record.Observed == nil})
	case record.Err != nil:
		r.failAs(e, name, r.said(e, record.Err))
		if provider.IsClass(record.Err, provider.Duplicate) && !w.note.Made {
			r.notes.drop(w.note.key()) // nothing was made by its token, and it may become what is there
		}
	case record.Observed.Waiting != "":
		r.held[e.ID] = true
		waiting := record.Observed.Waiting
		if !e.Quoted {
			waiting = "it is on its way"
		}
		r.wait(ctx, e, w.in, stage.Wait{Reason: v1alpha1.ReasonWaitingForProvider, Message: waiting, Unready: true})
	}
}

// said is what a service said, as people may read it.
func (r *round) said(e *entry, err error) error {
	if !e.Quoted {
		return unquoted(err)
	}
	return err
}

// wanted finds out what a declaration wants. known is false where that can't be told now: what there is of it stays.
func (r *round) wanted(ctx context.Context, e *entry) (all []*wanted, known bool) {
	unexpanded := children.InstanceOf(e.Declaration)
	if r.c.Outside.Lacks(e.Outside) {
		r.held[e.ID] = true // the source says so
		return nil, false
	}
	if !e.GateReadsItem {
		if open, known := r.open(ctx, e, unexpanded); !open {
			return nil, known
		}
	}
	instances, err := r.c.Instances(ctx, e.Declaration)
	if err != nil {
		r.cannot(ctx, e, unexpanded, err)
		return nil, false
	}
	known = true
	for _, in := range instances {
		if e.GateReadsItem {
			open, told := r.open(ctx, e, in)
			known = known && told
			if !open {
				continue
			}
		}
		w, err := r.prepare(ctx, e, in)
		if err != nil {
			r.cannot(ctx, e, in, err)
			known = false
			continue
		}
		all = append(all, w)
	}
	return all, known
}

// open asks the gate of an instance. While a false one keeps, what is there stays; otherwise it is deleted. known says whether it is known
// that nothing is wanted.
func (r *round) open(ctx context.Context, e *entry, in children.Instance) (open, known bool) {
	res, err := in.Ask(ctx, r.c)
	if err != nil {
		r.fail(ctx, e, in, err)
		return false, false
	}
	if res.Open {
		return true, true
	}
	keeps := in.KeepsOn(res)
	if keeps {
		r.held[e.ID] = true
	}
	if !res.Choice {
		r.wait(ctx, e, in, stage.Wait{Reason: v1alpha1.ReasonWaitingForGate, Message: children.WhyClosed(ctx, r.c, res)})
	}
	return false, !keeps
}

// cannot notes why an instance can't be evaluated: it waits for what it reads, or fails.
func (r *round) cannot(ctx context.Context, e *entry, in children.Instance, err error) {
	wait, waits := isWait(ctx, r.c, err)
	if !waits {
		r.fail(ctx, e, in, err)
		return
	}
	r.held[e.ID] = true
	r.wait(ctx, e, in, wait)
}

// fail notes an error of a declaration, whose former resources stay.
func (r *round) fail(ctx context.Context, e *entry, in children.Instance, err error) {
	r.failAs(e, in.Label(ctx, r.c), err)
}

// failAs notes an error of what messages call by a name.
func (r *round) failAs(e *entry, name string, err error) {
	r.held[e.ID] = true
	r.first = cmp.Or(r.first, fmt.Errorf("%s: %w", name, err))
}

// wait notes what a resource waits for.
func (r *round) wait(ctx context.Context, e *entry, in children.Instance, w stage.Wait) {
	r.waitAs(e, in.Label(ctx, r.c), w)
}

// waitAs notes what is waited for of what messages call by a name.
func (r *round) waitAs(e *entry, name string, w stage.Wait) {
	if !e.Optional {
		w.Of, w.Message = e.source().ID(), name+": "+w.Message
		r.c.Waits = append(r.c.Waits, w)
	}
}

// takeBack deletes what is noted and nobody wants any more, the last one first. What is wanted and could not be looked at yet may be one of those,
// with another address: then none of its type is deleted.
func (r *round) takeBack(ctx context.Context) {
	for _, n := range slices.Backward(slices.Clone(r.notes.all)) {
		if r.kept[n.key()] || declare.IsAmong(n.ID, r.held) || r.dark[typeOf(n.Provider, n.Kind)] {
			continue
		}
		gone, err := r.remove(ctx, r.c, &n)
		if err != nil {
			r.first = cmp.Or(r.first, fmt.Errorf("%s: %w", n.called(), err))
		}
		if gone {
			r.notes.drop(n.key())
		}
	}
}
