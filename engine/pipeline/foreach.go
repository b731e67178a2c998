package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/value"
)

const (
	// maxChildren is how many children one resource may have (design: security.md, "templates as denial of service").
	maxChildren = 1000
	// maxItemKey is how long an item's key may be: it stands in an annotation of the child.
	maxItemKey = 253
)

// forEach makes instances of a declaration, one for each item (design: api.md, "forEach").
type forEach struct {
	written string // the field as written
	field   *expr.Template
	as      string
	key     *expr.Template // nil: the map's key, or the index
}

// forEach compiles the loop of a declaration, and gives the scope of what stands inside it.
func (c *compiler) forEach(d *declaration, in *v1alpha1.ForEach, base *expr.Scope, at *field.Path) *expr.Scope {
	if in == nil {
		return base
	}
	at = at.Child("forEach")
	loop := &forEach{written: in.Field, as: in.As}
	d.forEach = loop
	scope := base.WithRoots(compile.RootItem, compile.RootKey, compile.RootIndex)
	if in.As != "" {
		if known(base, in.As) || slices.Contains([]string{compile.RootItem, compile.RootKey, compile.RootIndex, compile.RootObject}, in.As) {
			c.Fail(field.Invalid(at.Child("as"), in.As, "templates know this name already; give the item another one"))
		}
		scope = scope.WithRoots(in.As)
	}
	var err error
	if loop.field, err = base.CompilePath(in.Field); err != nil {
		c.Fail(field.Invalid(at.Child("field"), in.Field, err.Error()))
		return scope
	}
	scope = c.itemSchema(scope, base, loop, at)
	if in.Key == "" {
		return scope
	}
	if loop.key, err = scope.Compile(in.Key); err != nil {
		c.Fail(field.Invalid(at.Child("key"), in.Key, err.Error()))
	} else if _, literal := loop.key.Literal(); literal {
		c.Fail(field.Invalid(at.Child("key"), in.Key, "every item would have this key; write a template that tells them apart, such as {{ .item.name }}"))
	}
	return scope
}

// known says whether templates know a root.
func known(scope *expr.Scope, root string) bool {
	_, err := scope.SchemaAt(expr.Path{root})
	return err == nil
}

// itemSchema lets the paths through an item be checked, where the schema knows what the loop goes over, and refuses a field
// that nothing can go over.
func (c *compiler) itemSchema(scope, base *expr.Scope, loop *forEach, at *field.Path) *expr.Scope {
	path, single := loop.field.Path()
	if !single {
		return scope
	}
	node, err := base.SchemaAt(path)
	if err != nil || node == nil {
		return scope
	}
	var element *apiextensionsv1.JSONSchemaProps
	switch {
	case node.Type == "array" && node.Items != nil:
		element = node.Items.Schema
	case node.Type == value.TypeObject && node.AdditionalProperties != nil:
		element = node.AdditionalProperties.Schema
	case node.Type == value.TypeString || node.Type == "boolean":
		c.Fail(field.Invalid(at.Child("field"), loop.written, fmt.Sprintf("%s is a %s; wanted a list, a map or a number", path, node.Type)))
	}
	if element == nil {
		return scope
	}
	scope = scope.WithRoot(compile.RootItem, element)
	if loop.as != "" {
		scope = scope.WithRoot(loop.as, element)
	}
	return scope
}

// give puts the item where templates find it.
func (f *forEach) give(data expr.Data, it *item) {
	data[compile.RootItem], data[compile.RootKey], data[compile.RootIndex] = it.value, it.name, it.index
	if f.as != "" {
		data[f.as] = it.value
	}
}

// sameLoop says whether two declarations go over the same items.
func sameLoop(a, b *declaration) bool {
	return a.forEach != nil && b.forEach != nil && a.forEach.written == b.forEach.written && a.forEach.as == b.forEach.as
}

// readsItem says whether a path is one of the loop's own.
func (f *forEach) readsItem(p expr.Path) bool {
	return len(p) == 0 || slices.Contains([]string{compile.RootItem, compile.RootKey, compile.RootIndex}, p[0]) || f.as != "" && p[0] == f.as
}

// instances gives what the declaration stands for now. An absent or null field has no items.
func (d *declaration) instances(ctx context.Context, r *Run) ([]instance, error) {
	if d.forEach == nil {
		return []instance{d.whole()}, nil
	}
	data := r.Data(d.usesChildren)
	value, err := d.forEach.field.Eval(ctx, data)
	if roots.IsAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, stage.Evaluating("forEach", v1alpha1.ReasonTemplateError, err)
	}
	items, err := itemsOf(value)
	if err != nil {
		return nil, stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("forEach: %s: %w", d.forEach.written, err))
	}
	if len(items) > maxChildren {
		return nil, stage.NewPermanent(v1alpha1.ReasonBudgetExceeded,
			fmt.Errorf("forEach: %s has more than %d items, which is as many children as a resource may have", d.forEach.written, maxChildren))
	}
	return d.keyed(ctx, r, data, items)
}

// keyed gives each item the key that its child is known by.
func (d *declaration) keyed(ctx context.Context, r *Run, data expr.Data, items []item) ([]instance, error) {
	out := make([]instance, 0, len(items))
	seen := make(map[string]int64, len(items))
	for i := range items {
		it := &items[i]
		if err := d.forEach.identify(ctx, data, it); err != nil {
			return nil, err
		}
		if other, taken := seen[it.key]; taken {
			same := "the same key"
			if d.showsKeys() {
				same = fmt.Sprintf("the key %q", it.key)
			}
			return nil, stage.NewPermanent(v1alpha1.ReasonDuplicateChild, fmt.Errorf(
				"forEach: items %d and %d of %s both have %s; give `key` a template that tells them apart", other, it.index, d.forEach.written, same))
		}
		seen[it.key] = it.index
		in := instance{declaration: d, id: d.id + keyMark + it.key, item: it}
		if it.moves && d.phase != stage.StepDeletion { // a clean-up must go on when what names are made of is gone
			r.recognize(ctx, &in)
		}
		out = append(out, in)
	}
	return out, nil
}

// recognize gives an item of a list that has no key the id of its child, since where the item stands may change with every edit. The
// child is the one with its name. It keeps the mark that it was made with, and a Job that is gone the mark of its end: earlier versions
// put the place of the item there.
func (r *Run) recognize(ctx context.Context, in *instance) {
	same, err := in.nameplate(ctx, r)
	if err != nil {
		in.nameless = true // the error, if it is one, comes up again when the object is rendered
		return
	}
	name := r.ChildName(same)
	if live := r.children.at(keyOf(same)); live != nil && r.Plan.named(idOf(live)) == in.declaration {
		in.id = idOf(live)
		return
	}
	in.id = in.declaration.id + keyMark + name
	if !in.isJob() {
		return
	}
	marks := doneMarks(r.Stored)
	for _, id := range slices.Sorted(maps.Keys(marks)) {
		if r.Plan.named(id) == in.declaration && jobNameOf(marks[id]) == name {
			in.id = id
			return
		}
	}
}

// identify evaluates the key template of an item.
func (f *forEach) identify(ctx context.Context, data expr.Data, it *item) error {
	if f.key == nil {
		return nil
	}
	f.give(data, it)
	key, err := stage.Text(ctx, "forEach.key", f.key, data)
	switch {
	case err != nil:
		return err
	case key == "":
		return stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("forEach.key: the key of item %d is empty", it.index))
	case len(key) > maxItemKey:
		return stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("forEach.key: the key of item %d is longer than %d characters", it.index, maxItemKey))
	}
	it.key, it.name, it.moves = key, key, false
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
			items[i] = item{value: v[i], key: strconv.Itoa(i), name: int64(i), index: int64(i), moves: true}
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
