package expr

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/value"
)

// Value is a compiled JSON tree whose strings may be templates. It is immutable and safe for concurrent use.
type Value struct {
	literal  any // when nothing below is templated
	size     int // of the literal
	template *Template
	list     []*Value
	keys     []string // of fields, sorted
	fields   map[string]*Value
	named    []*Named // the values that the templates of the whole tree read
}

// CompileValue compiles every string in a JSON tree (map[string]any, []any and scalars). Keys are literal; one that holds {{
// is an error. All errors are given, each with its place below at.
func (s *Scope) CompileValue(v any, at *field.Path) (*Value, field.ErrorList) {
	out, errs := s.compileTree(v, at)
	if len(errs) == 0 && len(s.named) > 0 {
		out.named = s.names().in(out.Paths())
	}
	return out, errs
}

func (s *Scope) compileTree(v any, at *field.Path) (*Value, field.ErrorList) {
	switch v := v.(type) {
	case string:
		t, err := s.Compile(v)
		if err != nil {
			return nil, field.ErrorList{field.Invalid(at, value.Shorten(v), err.Error())}
		}
		if text, ok := t.Literal(); ok {
			return &Value{literal: text, size: len(text)}, nil
		}
		return &Value{template: t}, nil
	case []any:
		return s.compileList(v, at)
	case map[string]any:
		return s.compileMap(v, at)
	default:
		return literalValue(v, at)
	}
}

func literalValue(v any, at *field.Path) (*Value, field.ErrorList) {
	literal, err := budget.Copy(v)
	if err != nil {
		return nil, field.ErrorList{field.TypeInvalid(at, value.TemplateType(v), err.Error())}
	}
	return &Value{literal: literal, size: budget.LiteralWeight(literal)}, nil
}

func (s *Scope) compileList(list []any, at *field.Path) (*Value, field.ErrorList) {
	out := &Value{list: make([]*Value, len(list))}
	var errs field.ErrorList
	literal := true
	for i := range list {
		element, elementErrs := s.compileTree(list[i], at.Index(i))
		errs = append(errs, elementErrs...)
		out.list[i] = element
		literal = literal && element.isLiteral()
	}
	if len(errs) > 0 {
		return nil, errs
	}
	if literal {
		return literalValue(list, at)
	}
	return out, nil
}

// noTemplateAsKey is why a key with a template is a mistake, and what to do.
const noTemplateAsKey = "a key cannot be a template: write the whole map as one, such as {{ dict .metadata.name \"value\" }}"

func (s *Scope) compileMap(m map[string]any, at *field.Path) (*Value, field.ErrorList) {
	out := &Value{keys: slices.Sorted(maps.Keys(m)), fields: make(map[string]*Value, len(m))}
	var errs field.ErrorList
	literal := true
	for _, key := range out.keys {
		place := value.Place(at, key)
		if IsTemplate(key) {
			errs = append(errs, field.Invalid(place, value.Shorten(key), noTemplateAsKey))
		}
		value, valueErrs := s.compileTree(m[key], place)
		errs = append(errs, valueErrs...)
		out.fields[key] = value
		literal = literal && value.isLiteral()
	}
	if len(errs) > 0 {
		return nil, errs
	}
	if literal {
		return literalValue(m, at)
	}
	return out, nil
}

func (v *Value) isLiteral() bool {
	return v != nil && v.template == nil && v.list == nil && v.fields == nil
}

// Literal gives the tree when nothing in it is templated. The caller owns it.
func (v *Value) Literal() (any, bool) {
	if !v.isLiteral() {
		return nil, false
	}
	return v.cloneLiteral(), true
}

// Paths gives every path that the templates in the tree may read, sorted and unique.
func (v *Value) Paths() []Path {
	all := map[string]Path{}
	v.collect(func(t *Template) []Path { return t.paths }, all)
	return clones(sortedPaths(all))
}

// Needs gives paths without which the tree can't be evaluated, as Template.Needs does.
func (v *Value) Needs() []Path {
	all := map[string]Path{}
	v.collect((*Template).Needs, all)
	return sortedPaths(all)
}

func (v *Value) collect(of func(*Template) []Path, all map[string]Path) {
	if v.template != nil {
		for _, p := range of(v.template) {
			all[p.String()] = p
		}
	}
	for _, element := range v.list {
		element.collect(of, all)
	}
	for _, value := range v.fields {
		value.collect(of, all)
	}
}

// Eval evaluates the tree; the caller owns the result. The limits are those of one evaluation for the whole tree. Errors
// begin with the place in the tree: `env[0].value: evaluating {{ .spec.x }}: …`.
func (v *Value) Eval(ctx context.Context, d Data) (any, error) {
	g, err := give(ctx, v.named, d)
	if err != nil {
		return nil, err
	}
	b, done := budget.New(ctx)
	defer done()
	out, err := v.eval(b, g.data)
	return out, g.explain(err)
}

// schema says what the tree gives, as far as that is known without its templates being run.
func (v *Value) schema(s *Scope) *roots.Schema {
	switch {
	case v.template != nil:
		return v.template.schema(s)
	case v.list != nil:
		return &roots.Schema{Type: value.TypeArray, Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: sameSchema(v.list, s)}}
	case v.fields != nil:
		node := &roots.Schema{Type: value.TypeObject, Properties: make(map[string]roots.Schema, len(v.fields))}
		for key, below := range v.fields {
			node.Properties[key] = *below.schema(s)
		}
		return node
	default:
		return literalSchema(v.literal)
	}
}

// sameSchema is the schema of all elements of a list where they have one in common.
func sameSchema(list []*Value, s *Scope) *roots.Schema {
	first := list[0].schema(s)
	for _, v := range list[1:] {
		if !reflect.DeepEqual(v.schema(s), first) {
			return roots.Unchecked()
		}
	}
	return first
}

// literalSchema is the schema of what is written down. What is empty says nothing of what it may hold.
func literalSchema(v any) *roots.Schema {
	switch v := v.(type) {
	case map[string]any:
		node := &roots.Schema{Type: value.TypeObject, Properties: make(map[string]roots.Schema, len(v))}
		for key, below := range v {
			node.Properties[key] = *literalSchema(below)
		}
		return node
	case []any:
		node := &roots.Schema{Type: value.TypeArray, Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: roots.Unchecked()}}
		for i, element := range v {
			below := literalSchema(element)
			if i == 0 {
				node.Items.Schema = below
			} else if !reflect.DeepEqual(node.Items.Schema, below) {
				node.Items.Schema = roots.Unchecked()
			}
		}
		return node
	case nil:
		return roots.Unchecked()
	case int64:
		return &roots.Schema{Type: value.TypeInteger}
	default:
		return &roots.Schema{Type: value.TypeName(v)}
	}
}

func (v *Value) eval(b *budget.Budget, d Data) (any, error) {
	switch {
	case v.template != nil:
		return v.template.eval(b, d)
	case v.list != nil:
		out := make([]any, len(v.list))
		for i, element := range v.list {
			var err error
			if out[i], err = element.eval(b, d); err != nil {
				return nil, below(strconv.Itoa(i), err)
			}
		}
		return out, nil
	case v.fields != nil:
		out := make(map[string]any, len(v.fields))
		for _, key := range v.keys {
			var err error
			if out[key], err = v.fields[key].eval(b, d); err != nil {
				return nil, below(key, err)
			}
		}
		return out, nil
	default:
		return v.cloneLiteral(), b.Literal(v.size)
	}
}

// cloneLiteral copies the literal. Its nesting was checked when it was compiled.
func (v *Value) cloneLiteral() any {
	c, _ := budget.Copy(v.literal) // It was copied without an error before.
	return c
}

// placeError says where in a tree an error happened.
type placeError struct {
	place Path
	err   error
}

func (e *placeError) Error() string { return e.place.String() + ": " + e.err.Error() }

func (e *placeError) Unwrap() error { return e.err }

// below puts a segment before the place of an error.
func below(segment string, err error) error {
	if e, ok := errors.AsType[*placeError](err); ok {
		return &placeError{place: append(Path{segment}, e.place...), err: e.err}
	}
	return &placeError{place: Path{segment}, err: err}
}

// PathsAt gives what the templates read that make what stands at a place of the tree, or below it. The place may lie inside of what
// one template makes.
func (v *Value) PathsAt(place Path) []Path {
	for _, segment := range place {
		next := v.fields[segment]
		if i, err := strconv.Atoi(segment); err == nil && i < len(v.list) {
			next = v.list[i]
		}
		if next == nil {
			break
		}
		v = next
	}
	return v.Paths()
}
