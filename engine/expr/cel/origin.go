package cel

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strconv"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/value"
)

// hiddenSegment stands in a path for a key that may not be shown.
const hiddenSegment = "…"

// origin is a map or a list of the data that knows where it stands. Only the search for what was absent sees such values: CEL's error says
// which key is missing, and not of what. It has all that a map has but Find, and all that a list has but Add: CEL takes an error of Get for
// the error of the field then, and asks IsSet for has() and optional fields.
type origin struct {
	ref.Val // the map or the list as CEL has it

	native any // the same as it stands in the data
	at     value.Path
	search *search
}

// search is an evaluation that looks for what was absent.
type search struct {
	shows func(key string) bool // whether a message may show a key
}

// originOf gives maps and lists their place; all else has none.
func (s *search) originOf(native any, at value.Path) any {
	switch native.(type) {
	case map[string]any, []any:
		return &origin{Val: types.DefaultTypeAdapter.NativeToValue(native), native: native, at: at, search: s}
	}
	return native
}

// Value implements ref.Val. Fields of objects with a schema are read from it: see fieldOf.
func (o *origin) Value() any { return o }

// Equal implements ref.Val.
func (o *origin) Equal(other ref.Val) ref.Val { return types.Equal(o.Val, plain(other)) }

// ConvertToNative implements ref.Val.
func (o *origin) ConvertToNative(t reflect.Type) (any, error) { return o.Val.ConvertToNative(t) } //nolint:wrapcheck // CEL's own contract

// Contains implements traits.Container.
func (o *origin) Contains(v ref.Val) ref.Val {
	if c, ok := o.Val.(traits.Container); ok {
		return c.Contains(plain(v))
	}
	return types.MaybeNoSuchOverloadErr(v)
}

// Size implements traits.Sizer.
func (o *origin) Size() ref.Val {
	if s, ok := o.Val.(traits.Sizer); ok {
		return s.Size()
	}
	return types.IntZero
}

// Iterator implements traits.Iterable: over keys, or over elements with their places.
func (o *origin) Iterator() traits.Iterator {
	if it, ok := o.shallow().(traits.Iterable); ok {
		return it.Iterator()
	}
	return types.NewRefValList(types.DefaultTypeAdapter, nil).Iterator()
}

// Get implements traits.Indexer. What is not there is an error that says where.
func (o *origin) Get(key ref.Val) ref.Val {
	found, segment, ok := o.lookup(key)
	switch {
	case segment == "":
		return types.MaybeNoSuchOverloadErr(key)
	case ok:
		return types.DefaultTypeAdapter.NativeToValue(o.search.originOf(found, o.at.With(segment)))
	default:
		return types.WrapErr(o.lacks(segment))
	}
}

// IsSet implements traits.FieldTester.
func (o *origin) IsSet(key ref.Val) ref.Val {
	_, _, ok := o.lookup(key)
	return types.Bool(ok)
}

// lookup finds an entry. segment is "" for a key of a wrong type.
func (o *origin) lookup(key ref.Val) (found any, segment string, ok bool) {
	switch native := o.native.(type) {
	case map[string]any:
		name, isText := key.(types.String)
		if !isText {
			return nil, "", false
		}
		found, ok = native[string(name)]
		return found, string(name), ok
	case []any:
		index, err := types.IndexOrError(key)
		if err != nil {
			return nil, "", false
		}
		if index < 0 || index >= len(native) {
			return nil, strconv.Itoa(index), false
		}
		return native[index], strconv.Itoa(index), true
	}
	return nil, "", false
}

// lacks is the error that there is no such entry.
func (o *origin) lacks(segment string) error {
	if _, isMap := o.native.(map[string]any); isMap && !o.search.shows(segment) {
		segment = hiddenSegment
	}
	return absentAt(o.at.With(segment))
}

// shallow gives the map or the list as a function takes it; its elements keep their places.
func (o *origin) shallow() ref.Val {
	switch native := o.native.(type) {
	case map[string]any:
		out := make(map[ref.Val]ref.Val, len(native))
		for name, v := range native {
			out[types.String(name)] = types.DefaultTypeAdapter.NativeToValue(o.search.originOf(v, o.at.With(name)))
		}
		return &placedMap{types.NewRefValMap(types.DefaultTypeAdapter, out), o}
	case []any:
		out := make([]ref.Val, 0, len(native))
		for i, v := range native {
			out = append(out, types.DefaultTypeAdapter.NativeToValue(o.search.originOf(v, o.at.With(strconv.Itoa(i)))))
		}
		return &placedList{types.NewRefValList(types.DefaultTypeAdapter, out), o}
	}
	return o.Val
}

// placedMap and placedList are what functions take in place of an origin. What a function only hands on is the origin again: see placed.
type (
	placedMap struct {
		traits.Mapper
		of *origin
	}
	placedList struct {
		traits.Lister
		of *origin
	}
)

// placed gives the result of a function its place back, where it is what the function was given.
func placed(v ref.Val) ref.Val {
	switch v := v.(type) {
	case *placedMap:
		return v.of
	case *placedList:
		return v.of
	}
	return v
}

// plain gives a value without its place.
func plain(v ref.Val) ref.Val {
	if o, ok := v.(*origin); ok {
		return o.shallow()
	}
	return v
}

// absentAt is the error of a place below the variables where nothing stands.
func absentAt(place value.Path) *roots.AbsentError {
	hint := "use has(" + place.String() + ") or an optional field (.?)"
	if last := place[len(place)-1]; last == hiddenSegment || len(last) > 0 && last[0] >= '0' && last[0] <= '9' {
		hint = "use an optional index ([?])"
	}
	return &roots.AbsentError{Path: dataPath(place), Hint: hint}
}

// absent evaluates the expression once more to find out what it has read in vain; nil where that can't be told.
func (p *Expression) absent(ctx context.Context, d map[string]any) *roots.AbsentError {
	s := &search{shows: func(key string) bool { return slices.Contains(p.names, key) || holds(d, key) }}
	_, err := p.run(ctx, func(root string) any { return s.originOf(p.env.types.value(root, d), value.Path{root}) })
	found, ok := errors.AsType[*roots.AbsentError](err)
	if !ok || len(found.Path) == 0 {
		return nil
	}
	return found
}

// holds says whether the resource itself holds a text: what everybody may read may stand in a message.
func holds(d map[string]any, text string) bool {
	for name, v := range d {
		if (roots.OfResource(name) || name == roots.Box) && contains(v, text) {
			return true
		}
	}
	return false
}

func contains(v any, text string) bool {
	switch v := v.(type) {
	case string:
		return v == text
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return contains(e, text) })
	case map[string]any:
		for name, below := range v {
			if name == text || contains(below, text) {
				return true
			}
		}
	}
	return false
}

// namesIn are the names and texts that an expression is written with.
func namesIn(e ast.Expr) []string {
	var out []string
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.SelectKind:
			out = append(out, e.AsSelect().FieldName())
		case ast.LiteralKind:
			if text, ok := e.AsLiteral().(types.String); ok {
				out = append(out, string(text))
			}
		default:
		}
	}))
	return out
}
