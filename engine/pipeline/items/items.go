// Package items gives what the forEach of a declaration goes over: the items of one loop, or those of loops inside of each other.
package items

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/value"
)

const (
	// Max is how many items a forEach may have, which is how many children one resource may have (design: surface.md, "Limits"): a number in
	// its spec may be the count of a loop.
	Max = 1000
	// maxKey is how long an item's key may be: it stands in an annotation of the child.
	maxKey = 253
)

// Item is one element of what a forEach goes over. With several loops it is one combination of their items: Value is a map of them by name.
type Item struct {
	Value any
	Key   string // what tells the item from others
	// KeyIsIndex says that the key holds the index of an item in a list, which changes when earlier items are removed.
	KeyIsIndex bool
	Name       any // what templates see as .key: the key, or the index
	Index      int64
}

// Of gives the items of a forEach, in order, each with its key. A field that is absent or null has none. data is what its templates read; it
// is changed. Errors are permanent: they name the field and what was found.
func Of(ctx context.Context, loop *declare.Loop, data expr.Data) ([]Item, error) {
	p := &product{loop: loop, data: data, at: make([]Item, len(loop.Over))}
	if err := p.expand(ctx, 0); err != nil {
		return nil, err
	}
	for i := range p.items {
		if err := p.items[i].identify(ctx, loop, data); err != nil {
			return nil, err
		}
	}
	return p.items, nil
}

// Mistakes says what is wrong with loops that go over the same items for every resource, because they read nothing of them.
//
//nolint:contextcheck,nolintlint // a box is compiled without one, and the limits of templates hold; what the callers are told is not counted as a use
func Mistakes(declared *declare.Set) (out field.ErrorList) {
	for _, d := range declared.Every() {
		if d.Loop == nil || !constant(d.Loop) {
			continue
		}
		_, err := Of(context.Background(), &declare.Loop{Over: d.Loop.Over}, expr.Data{}) //nolint:forbidigo // see above
		if err != nil {
			written := d.Loop.Written()
			why := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "forEach: "), written+": ")
			out = append(out, field.Invalid(field.NewPath(d.Where).Child("forEach"), written, why))
		}
	}
	return out
}

// constant says whether a loop reads nothing of a resource. One with a mistake in a field does not count: that is said elsewhere.
func constant(loop *declare.Loop) bool {
	mistaken := func(o declare.Over) bool { return o.Field == nil }
	return len(loop.Over) > 0 && !slices.ContainsFunc(loop.Over, mistaken) && len(loop.Paths()) == 0
}

// Give puts the item where the templates of its forEach find it.
func (it *Item) Give(loop *declare.Loop, data expr.Data) {
	data[compile.RootItem], data[compile.RootKey], data[compile.RootIndex] = it.Value, it.Name, it.Index
	if len(loop.Over) == 1 {
		if as := loop.Over[0].As; as != "" {
			data[as] = it.Value
		}
		return
	}
	all, _ := it.Value.(map[string]any)
	maps.Copy(data, all)
}

// identify evaluates the key template of the forEach for an item.
func (it *Item) identify(ctx context.Context, loop *declare.Loop, data expr.Data) error {
	if loop.Key == nil {
		return nil
	}
	it.Give(loop, data)
	key, err := stage.Text(ctx, "forEach.key", loop.Key, data)
	switch {
	case err != nil:
		return err
	case key == "":
		return stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("forEach.key: the key of item %d is empty", it.Index))
	case len(key) > maxKey:
		return stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("forEach.key: the key of item %d is longer than %d characters", it.Index, maxKey))
	}
	it.Key, it.Name, it.KeyIsIndex = key, key, false
	return nil
}

// product goes through the loops of a forEach, the first outermost.
type product struct {
	loop  *declare.Loop
	data  expr.Data
	items []Item
	at    []Item // where each loop stands
	outer int    // items of all loops but the innermost, which may be many as well where that has none
}

// expand goes over the loop of a depth, within the items at which those around it stand.
func (p *product) expand(ctx context.Context, depth int) error {
	over := p.loop.Over[depth]
	found, err := p.evaluate(ctx, over)
	if err != nil {
		return err
	}
	innermost := depth == len(p.loop.Over)-1
	if !innermost {
		p.outer += len(found)
	}
	if len(p.items)+len(found) > Max && innermost || p.outer > Max {
		return stage.NewPermanent(v1alpha1.ReasonBudgetExceeded,
			fmt.Errorf("forEach: %s has more than %d items, which is as many children as a resource may have", p.loop.Written(), Max))
	}
	for _, p.at[depth] = range found {
		if innermost {
			p.items = append(p.items, p.here())
			continue
		}
		p.data[over.As] = p.at[depth].Value
		if err := p.expand(ctx, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// evaluate gives the items of one loop.
func (p *product) evaluate(ctx context.Context, over declare.Over) ([]Item, error) {
	found, err := over.Field.Eval(ctx, p.data)
	if roots.IsAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, stage.Evaluating("forEach", v1alpha1.ReasonTemplateError, err)
	}
	list, err := itemsOf(found)
	if err != nil {
		return nil, stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("forEach: %s: %w", over.Written, err))
	}
	return list, nil
}

// here makes one item of those at which the loops stand.
func (p *product) here() Item {
	if len(p.at) == 1 {
		return p.at[0]
	}
	it := Item{Index: int64(len(p.items))}
	all, keys := make(map[string]any, len(p.at)), make([]string, len(p.at))
	for i, part := range p.at {
		all[p.loop.Over[i].As], keys[i] = part.Value, part.Key
		it.KeyIsIndex = it.KeyIsIndex || part.KeyIsIndex
	}
	it.Value, it.Key = all, strings.Join(keys, declare.KeyMark)
	it.Name = any(it.Key)
	if it.KeyIsIndex {
		it.Name = it.Index
	}
	return it
}

// itemsOf goes over a list, a map in the order of its keys, or the numbers below a number.
func itemsOf(of any) ([]Item, error) {
	switch v := of.(type) {
	case nil:
		return nil, nil
	case []any:
		list := make([]Item, len(v))
		for i := range v {
			list[i] = Item{Value: v[i], Key: strconv.Itoa(i), Name: int64(i), Index: int64(i), KeyIsIndex: true}
		}
		return list, nil
	case map[string]any:
		list := make([]Item, 0, len(v))
		for i, k := range slices.Sorted(maps.Keys(v)) {
			list = append(list, Item{Value: v[k], Key: k, Name: k, Index: int64(i)})
		}
		return list, nil
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

func countUp(n int64) ([]Item, error) {
	if n < 0 {
		return nil, fmt.Errorf("wanted a number that is not negative, got %d", n)
	}
	// One more than allowed is enough to be refused; memory for all of them is not.
	list := make([]Item, min(n, Max+1))
	for i := range list {
		list[i] = Item{Value: int64(i), Key: strconv.Itoa(i), Name: int64(i), Index: int64(i)}
	}
	return list, nil
}
