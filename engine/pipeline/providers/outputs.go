package providers

import (
	"context"
	"maps"
	"strings"

	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/provider"
	"github.com/orkspace/orkestra/engine/provision"
)

// outputs gives templates what was made. The maps that they see are replaced, and never changed.
type outputs struct{ c *children.Cycle }

func outputsOf(c *children.Cycle) outputs {
	if c.Outside.Provided == nil {
		c.Outside.Provided, c.Outside.ProvidedWithSecrets = map[string]any{}, map[string]any{}
	}
	return outputs{c}
}

// give gives the outputs of an instance.
func (o outputs) give(e *entry, in children.Instance, seen *provider.Observed) {
	public := maps.Clone(seen.Outputs)
	if e.of != nil { // which outputs are secret is not known otherwise, and nothing is called
		for _, name := range e.of.SecretOutputs {
			delete(public, name)
		}
	}
	out := &o.c.Outside
	out.Provided = with(out.Provided, e, in, public)
	out.ProvidedWithSecrets = with(out.ProvidedWithSecrets, e, in, seen.Outputs)
	out.Know(e.source())
}

func with(all map[string]any, e *entry, in children.Instance, made map[string]any) map[string]any {
	all = maps.Clone(all)
	if made == nil {
		made = map[string]any{}
	}
	if e.Loop == nil {
		all[e.ID] = made
		return all
	}
	items, _ := all[e.ID].(map[string]any)
	items = maps.Clone(items)
	if items == nil {
		items = map[string]any{}
	}
	items[keyOf(e, in)] = made
	all[e.ID] = items
	return all
}

// keyOf is what the item of an instance is known by.
func keyOf(e *entry, in children.Instance) string {
	return strings.TrimPrefix(in.ID, e.ID+declare.KeyMark)
}

// know notes that what a declaration wants is known: outputs of all else are gone.
func (o outputs) know(e *entry, all []*wanted) {
	out := &o.c.Outside
	out.Know(e.source())
	if e.Loop == nil && len(all) > 0 {
		return // the one that it has is wanted
	}
	out.Provided, out.ProvidedWithSecrets = only(out.Provided, e, all), only(out.ProvidedWithSecrets, e, all)
}

// only gives outputs, of a declaration those alone of what it wants.
func only(made map[string]any, e *entry, all []*wanted) map[string]any {
	made = maps.Clone(made)
	if e.Loop == nil {
		delete(made, e.ID)
		return made
	}
	former, _ := made[e.ID].(map[string]any)
	items := map[string]any{}
	for _, w := range all {
		if item, found := former[keyOf(e, w.in)]; found {
			items[keyOf(e, w.in)] = item
		}
	}
	made[e.ID] = items
	return made
}

// recalling is the stage that gives templates what was made in former cycles.
type recalling struct{ *Plan }

// Outputs gives the stage that gives templates what was made in former cycles; nil where the box declares nothing. In the first cycle of a
// process, the service is asked: nothing else keeps what may be secret.
func (p *Plan) Outputs() stage.Stage[*children.Cycle] {
	if p == nil || len(p.entries) == 0 {
		return nil
	}
	return recalling{p}
}

// Name implements Stage.
func (recalling) Name() string { return stage.StepOutputs }

// Run implements Stage. What can't be told here is said by the stage that makes things; what reads it waits.
func (p recalling) Run(ctx context.Context, c *children.Cycle) (stage.Outcome, error) {
	seen := outputsOf(c)
	if c.Ports.Providers == nil {
		p.recallGiven(ctx, c, seen)
		return stage.Next, nil
	}
	noted := &notes{c: c, all: read(c.Stored)}
	if len(noted.all) == 0 {
		return stage.Next, nil
	}
	for _, e := range p.entries {
		if c.Outside.Lacks(e.Outside) {
			continue
		}
		instances, err := c.Instances(ctx, e.Declaration)
		if err != nil {
			continue
		}
		for _, in := range instances {
			if err := p.recall(ctx, c, seen, noted, e, in); err != nil {
				return stage.Hold, err
			}
		}
	}
	return stage.Next, nil
}

// recall gives the outputs of an instance that was made before.
func (p recalling) recall(ctx context.Context, c *children.Cycle, seen outputs, noted *notes, e *entry, in children.Instance) error {
	w, err := e.prepare(ctx, c, in)
	if err != nil {
		return nil //nolint:nilerr // the stage that makes it says so
	}
	known := noted.find(w.note.key())
	if known == nil {
		return nil
	}
	w.note.keep(known)
	record := c.Ports.Providers.Memory().Recall(w.note.key())
	if record == nil {
		if record, err = w.call(ctx, c, provision.Observe); err != nil {
			return ctx.Err()
		}
	}
	if record.Observed != nil {
		seen.give(e, in, record.Observed)
	}
	return nil
}
