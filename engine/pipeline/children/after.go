package children

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/engine/pipeline/declare"
)

// waitsItself is said of a declaration that others come after, and whose own wait stands in the status as well.
const waitsItself = "it waits itself"

// After says why a declaration does not act yet: what one of those that it comes after makes is not there, or not current; "" where
// nothing stands in its way. The dry run is not asked: it makes nothing that could get current.
func (c *Cycle) After(ctx context.Context, d *declare.Declaration) (string, error) {
	if len(d.After) == 0 || c.Probing {
		return "", nil
	}
	first := predecessors{c: c, made: c.Living.byInstance()}
	for _, other := range d.After {
		why, err := first.behind(ctx, other)
		if err != nil {
			return "", fmt.Errorf("after %s: %w", other.ID, err)
		}
		if why != "" {
			return fmt.Sprintf("after %s: %s", other.ID, why), nil
		}
	}
	return "", nil
}

// predecessors are what declarations come after.
type predecessors struct {
	c *Cycle
	// made are the children that templates see, by the ids of their instances.
	made map[string]*unstructured.Unstructured
}

// behind says what of a declaration is not there, or not current. What it does not make by choice is not waited for, nor what is optional
// and waits, nor a Job in a rollback: what that did is not done again.
func (p predecessors) behind(ctx context.Context, d *declare.Declaration) (string, error) {
	c := p.c
	if c.Restoring && d.IsJob() {
		return "", nil
	}
	unexpanded := InstanceOf(d)
	if d.Phase == declare.OnCreate && d.Once && c.Marks.Active {
		return p.behindMade(ctx, unexpanded)
	}
	if !d.GateReadsItem {
		if why, waited, err := p.mayAct(ctx, unexpanded); err != nil || !waited {
			return why, err
		}
	}
	instances, err := c.Instances(ctx, d)
	if err != nil {
		return "", err
	}
	for _, in := range instances {
		if why, err := p.behindInstance(ctx, in); err != nil || why != "" {
			return why, err
		}
	}
	return "", nil
}

// behindMade is behind for what is made once: what of it is gone is not made again.
func (p predecessors) behindMade(ctx context.Context, in Instance) (string, error) {
	c := p.c
	items := map[*declare.Declaration]map[string]Instance{}
	for _, child := range c.Living.Find(in) {
		_, why, err := c.Living.StateOf(ctx, in.Declaration, child, items)
		if err != nil || why != "" {
			return named(c, child, why), err
		}
	}
	return "", nil
}

func (p predecessors) behindInstance(ctx context.Context, in Instance) (string, error) {
	c, child := p.c, p.made[in.ID]
	if in.GateReadsItem {
		if why, waited, err := p.mayAct(ctx, in); err != nil || !waited {
			return why, err
		}
	}
	switch {
	case c.applied.held[in.ID] && in.Optional:
		return "", nil
	case c.applied.held[in.ID]:
		return waitsItself, nil
	case child == nil:
		return "it is not there yet", nil
	}
	_, why, err := stateOf(ctx, c, in, child)
	if err != nil || why == "" {
		return "", err
	}
	return named(c, child, why), nil
}

func named(c *Cycle, child *unstructured.Unstructured, why string) string {
	return fmt.Sprintf("%s %q: %s", child.GetKind(), c.ChildName(child), why)
}

// mayAct says whether an instance acts, so that its children are waited for; if not, why says what is waited for instead, if anything.
func (p predecessors) mayAct(ctx context.Context, in Instance) (why string, waited bool, err error) {
	c := p.c
	res, err := in.Ask(ctx, c)
	switch {
	case err != nil:
		return "", false, err
	case !res.Open && (res.Choice || in.Optional):
		return "", false, nil
	case !res.Open || c.applied.heldDeclarations[in.Declaration] && !in.Optional:
		return waitsItself, false, nil
	default:
		return "", !c.applied.heldDeclarations[in.Declaration], nil
	}
}

// comesLater does what it asks for that an instance comes after what is not current yet: its children stay as they are.
func comesLater(ctx context.Context, c *Cycle, in Instance, why string) {
	c.applied.hold(in)
	c.rolling.cannotBeMade(in)
	c.Jobs.postpone(ctx, in)
	if !in.Optional {
		waits(ctx, c, in, why, c.Living.Find(in))
	}
}
