package providers

import (
	"context"
	"fmt"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/provider"
)

// Where nothing is called, outputs may be given in place of what a service would answer. What is not given is waited for, as for a service that has
// not made it yet.

// imagine does the work of a cycle without calls.
func (p providing) imagine(ctx context.Context, c *children.Cycle) (stage.Outcome, error) {
	r := &round{Plan: p.Plan, c: c, held: map[string]bool{}, seen: outputsOf(c)}
	for _, e := range p.entries {
		all, known := r.wanted(ctx, e)
		for _, w := range all {
			if outputs := given(c, e, w.in); outputs != nil {
				r.seen.give(e, w.in, &provider.Observed{Outputs: outputs})
				continue
			}
			known = false
			r.wait(ctx, e, w.in, stage.Wait{Reason: v1alpha1.ReasonWaitingForProvider, Message: notCalled(e, w.in), Unready: true})
		}
		if known {
			r.seen.know(e, all)
		}
	}
	if r.first != nil {
		return stage.Hold, r.first
	}
	return stage.Next, nil
}

// prepare evaluates the templates of an instance. Credentials are read for a call alone.
func (r *round) prepare(ctx context.Context, e *entry, in children.Instance) (*wanted, error) {
	if r.c.Ports.Providers != nil {
		return e.prepare(ctx, r.c, in)
	}
	_, err := e.render(ctx, r.c, in)
	return &wanted{in: in, e: e}, err
}

// recallGiven gives the outputs that are given to what reads them before the stage that makes things.
func (p recalling) recallGiven(ctx context.Context, c *children.Cycle, seen outputs) {
	for _, e := range p.entries {
		if c.Ports.Given[e.ID] == nil || c.Outside.Lacks(e.Outside) {
			continue
		}
		instances, err := c.Instances(ctx, e.Declaration)
		if err != nil {
			continue // the stage that makes it says so
		}
		for _, in := range instances {
			outputs := given(c, e, in)
			if res, err := in.Ask(ctx, c); err == nil && res.Open && outputs != nil {
				seen.give(e, in, &provider.Observed{Outputs: outputs})
			}
		}
	}
}

// given are the outputs of an instance; nil: none are given.
func given(c *children.Cycle, e *entry, in children.Instance) map[string]any {
	outputs, _ := c.Ports.Given[e.ID].(map[string]any)
	if e.Loop != nil {
		outputs, _ = outputs[keyOf(e, in)].(map[string]any)
	}
	return outputs
}

// notCalled says how the outputs of an instance are given.
func notCalled(e *entry, in children.Instance) string {
	outputs := "{}"
	if e.Loop != nil {
		outputs = fmt.Sprintf("{%s: {}}", keyOf(e, in))
	}
	return fmt.Sprintf("no providers are called here, so that its outputs are not known: give them by --with, as providers: {%s: %s}", e.ID, outputs)
}
