package declare

import (
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/value"
)

// Loop makes one object of a declaration for each item of a field (design: surface.md, "Instances").
type Loop struct {
	// Written is the field as it is written.
	Written string
	// Field gives the items.
	Field *expr.Template
	// As is another name for the item in templates; empty: there is none.
	As string
	// Key tells the items apart; nil: the map's key, or the index, does.
	Key *expr.Template
}

// loop compiles the loop of a declaration, and gives the scope of what stands inside it.
func (e *entry) loop(base *expr.Scope) *expr.Scope {
	in := e.ForEach
	if in == nil {
		return base
	}
	at := e.at.Child("forEach")
	loop := &Loop{Written: in.Field, As: in.As}
	e.d.Loop = loop
	scope := base.WithRoots(compile.RootItem, compile.RootKey, compile.RootIndex)
	if in.As != "" {
		if known(base, in.As) || slices.Contains([]string{compile.RootItem, compile.RootKey, compile.RootIndex, compile.RootObject}, in.As) {
			e.c.Fail(field.Invalid(at.Child("as"), in.As, "templates know this name already; give the item another one"))
		}
		scope = scope.WithRoots(in.As)
	}
	var err error
	if loop.Field, err = base.CompilePath(in.Field); err != nil {
		e.c.Fail(field.Invalid(at.Child("field"), in.Field, err.Error()))
		return scope
	}
	scope = e.itemSchema(scope, base, at.Child("field"))
	if in.Key == "" {
		return scope
	}
	if loop.Key, err = scope.Compile(in.Key); err != nil {
		e.c.Fail(field.Invalid(at.Child("key"), in.Key, err.Error()))
	} else if _, literal := loop.Key.Literal(); literal {
		e.c.Fail(field.Invalid(at.Child("key"), in.Key, "every item would have this key; write a template that tells them apart, such as {{ .item.name }}"))
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
func (e *entry) itemSchema(scope, base *expr.Scope, at *field.Path) *expr.Scope {
	loop := e.d.Loop
	path, single := loop.Field.Path()
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
		e.c.Fail(field.Invalid(at, loop.Written, fmt.Sprintf("%s is a %s; wanted a list, a map or a number", path, node.Type)))
	}
	if element == nil {
		return scope
	}
	scope = scope.WithRoot(compile.RootItem, element)
	if loop.As != "" {
		scope = scope.WithRoot(loop.As, element)
	}
	return scope
}

// sameLoop says whether two declarations go over the same items.
func sameLoop(a, b *Loop) bool {
	return a != nil && b != nil && a.Written == b.Written && a.As == b.As
}

// ReadsItem says whether a path is one of the loop's own.
func (l *Loop) ReadsItem(p expr.Path) bool {
	return len(p) == 0 || slices.Contains([]string{compile.RootItem, compile.RootKey, compile.RootIndex}, p[0]) || l.As != "" && p[0] == l.As
}
