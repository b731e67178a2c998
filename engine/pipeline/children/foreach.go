package children

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/value"
)

const (
	// maxChildren is how many children one resource may have (design: surface.md, "Limits"): a number in its spec may be the count of a loop.
	maxChildren = 1000
	// maxItemKey is how long an item's key may be: it stands in an annotation of the child.
	maxItemKey = 253
)

// Instances gives what the declaration stands for now. An absent or null field has no items.
func (c *Cycle) Instances(ctx context.Context, d *declare.Declaration) ([]Instance, error) {
	if d.Loop == nil {
		return []Instance{InstanceOf(d)}, nil
	}
	data := c.Data(d.UsesChildren)
	value, err := d.Loop.Field.Eval(ctx, data)
	if roots.IsAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, stage.Evaluating("forEach", v1alpha1.ReasonTemplateError, err)
	}
	items, err := itemsOf(value)
	if err != nil {
		return nil, stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("forEach: %s: %w", d.Loop.Written, err))
	}
	if len(items) > maxChildren {
		return nil, stage.NewPermanent(v1alpha1.ReasonBudgetExceeded,
			fmt.Errorf("forEach: %s has more than %d items, which is as many children as a resource may have", d.Loop.Written, maxChildren))
	}
	return c.keyed(ctx, d, data, items)
}

// keyed gives each item the key that its child is known by.
func (c *Cycle) keyed(ctx context.Context, d *declare.Declaration, data expr.Data, items []item) ([]Instance, error) {
	out := make([]Instance, 0, len(items))
	seen := make(map[string]int64, len(items))
	for i := range items {
		it := &items[i]
		if err := it.identify(ctx, d.Loop, data); err != nil {
			return nil, err
		}
		if other, taken := seen[it.key]; taken {
			same := "the same key"
			if d.ShowsKeys() {
				same = fmt.Sprintf("the key %q", it.key)
			}
			return nil, stage.NewPermanent(v1alpha1.ReasonDuplicateChild, fmt.Errorf(
				"forEach: items %d and %d of %s both have %s; give `key` a template that tells them apart", other, it.index, d.Loop.Written, same))
		}
		seen[it.key] = it.index
		in := Instance{Declaration: d, ID: d.ID + declare.KeyMark + it.key, item: it}
		if it.keyIsIndex && d.Phase != declare.OnDelete { // a clean-up must go on when what names are made of is gone
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

// give puts the item where the templates of its loop find it.
func (it *item) give(loop *declare.Loop, data expr.Data) {
	data[compile.RootItem], data[compile.RootKey], data[compile.RootIndex] = it.value, it.name, it.index
	if loop.As != "" {
		data[loop.As] = it.value
	}
}

// identify evaluates the key template of the loop for an item.
func (it *item) identify(ctx context.Context, loop *declare.Loop, data expr.Data) error {
	if loop.Key == nil {
		return nil
	}
	it.give(loop, data)
	key, err := stage.Text(ctx, "forEach.key", loop.Key, data)
	switch {
	case err != nil:
		return err
	case key == "":
		return stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("forEach.key: the key of item %d is empty", it.index))
	case len(key) > maxItemKey:
		return stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("forEach.key: the key of item %d is longer than %d characters", it.index, maxItemKey))
	}
	it.key, it.name, it.keyIsIndex = key, key, false
	return nil
}

// itemsOf goes over a list, a map in the order of its keys, or the numbers below a number.
func itemsOf(of any) ([]item, error) {
	switch v := of.(type) {
	case nil:
		return nil, nil
	case []any:
		items := make([]item, len(v))
		for i := range v {
			items[i] = item{value: v[i], key: strconv.Itoa(i), name: int64(i), index: int64(i), keyIsIndex: true}
		}
		return items, nil
	case map[string]any:
		items := make([]item, 0, len(v))
		for i, k := range slices.Sorted(maps.Keys(v)) {
			items = append(items, item{value: v[k], key: k, name: k, index: int64(i)})
		}
		return items, nil
	case int64:
		return countUp(v)
	case float64:
		if v == math.Trunc(v) && math.Abs(v) <= math.MaxInt32 {
			return countUp(int64(v))
		}
		return nil, errors.New("wanted a list, a map or a whole number, got a fraction")
	default:
		return nil, fmt.Errorf("wanted a list, a map or a number, got %s", value.TypeName(of))
	}
}

func countUp(n int64) ([]item, error) {
	if n < 0 {
		return nil, fmt.Errorf("wanted a number that is not negative, got %d", n)
	}
	// One more than allowed is enough to be refused; memory for all of them is not.
	items := make([]item, min(n, maxChildren+1))
	for i := range items {
		items[i] = item{value: int64(i), key: strconv.Itoa(i), name: int64(i), index: int64(i)}
	}
	return items, nil
}
