package children

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/items"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// Instances gives what the declaration stands for now. An absent or null field has no items.
func (c *Cycle) Instances(ctx context.Context, d *declare.Declaration) ([]Instance, error) {
	if d.Loop == nil {
		return []Instance{InstanceOf(d)}, nil
	}
	found, err := items.Of(ctx, d.Loop, c.Data(d.UsesChildren))
	if err != nil {
		return nil, err
	}
	return c.keyed(ctx, d, found)
}

// keyed gives each item the id that its child is known by.
func (c *Cycle) keyed(ctx context.Context, d *declare.Declaration, found []items.Item) ([]Instance, error) {
	out := make([]Instance, 0, len(found))
	seen := make(map[string]int64, len(found))
	for i := range found {
		it := &found[i]
		if other, taken := seen[it.Key]; taken {
			same := "the same key"
			if d.ShowsKeys() {
				same = fmt.Sprintf("the key %q", it.Key)
			}
			return nil, stage.NewPermanent(v1alpha1.ReasonDuplicateChild, fmt.Errorf(
				"forEach: items %d and %d of %s both have %s; give `key` a template that tells them apart", other, it.Index, d.Loop.Written(), same))
		}
		seen[it.Key] = it.Index
		in := instanceOf(d, d.ID+declare.KeyMark+it.Key)
		in.item = it
		if it.KeyIsIndex && d.Phase != declare.OnDelete && len(d.Kinds) > 0 { // a clean-up must go on when what names are made of is gone; what a provider makes is told apart by its identity
			c.recognize(ctx, &in)
		}
		out = append(out, in)
	}
	return out, nil
}

// recognize gives the instance of a list item without a key its id by the name of its child: the index of an item changes when others are
// removed. A living child keeps the id that it was made with, and a Job that is gone the id under which its end is noted: earlier versions
// put the index there.
func (c *Cycle) recognize(ctx context.Context, in *Instance) {
	same, err := in.Identity(ctx, c)
	if err != nil {
		in.nameless = true // the error, if it is one, comes up again when the object is rendered
		return
	}
	name := c.ChildName(same)
	if live := c.Living.at(keyOf(same)); live != nil && c.Declared.Named(IDOf(live)) == in.Declaration {
		in.ID = IDOf(live)
		return
	}
	in.ID = in.Declaration.ID + declare.KeyMark + name
	if !in.IsJob() {
		return
	}
	marks := DoneMarks(c.Stored)
	for _, id := range slices.Sorted(maps.Keys(marks)) {
		if c.Declared.Named(id) == in.Declaration && jobNameOf(marks[id]) == name {
			in.ID = id
			return
		}
	}
}
