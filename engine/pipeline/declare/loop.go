package declare

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/value"
)

// Loop makes one object of a declaration for each item of a field, or for each combination of the items of several (design: surface.md,
// "Instances").
type Loop struct {
	// Over are the fields, the outermost first: one or more.
	Over []Over
	// Key tells the items apart; nil: the map's key, or the index, does.
	Key *expr.Template
}

// Over is one field that a loop goes over.
type Over struct {
	// Written is the field as it is written.
	Written string
	// Field gives the items.
	Field *expr.Template
	// As is the name of the item in templates; empty, which it may be where there is one loop alone: it is .item and nothing else.
	As string
}

// Written is what the loop goes over, as it is written.
func (l *Loop) Written() string {
	fields := make([]string, len(l.Over))
	for i, over := range l.Over {
		fields[i] = over.Written
	}
	return strings.Join(fields, " × ")
}

// Paths is what the fields read, without what later ones read of earlier items.
func (l *Loop) Paths() []expr.Path {
	var out []expr.Path
	for _, over := range l.Over {
		if over.Field != nil {
			out = append(out, over.Field.Paths()...)
		}
	}
	return slices.DeleteFunc(out, func(p expr.Path) bool { return len(p) > 0 && l.ReadsItem(p) })
}

// loop compiles the loop of a declaration, and gives the scope of what stands inside it.
func (e *entry) loop(base *expr.Scope) *expr.Scope {
	in := e.ForEach
	if in == nil {
		return base
	}
	l := &looping{c: e.c, loop: &Loop{}, outside: base, inside: base.WithRoots(compile.RootItem, compile.RootKey, compile.RootIndex)}
	e.d.Loop = l.loop
	at := e.at.Child("forEach")
	switch {
	case (in.Field != "") == (len(in.Loops) > 0):
		e.c.Fail(field.Invalid(at, "", "wanted either field, for one loop, or loops, for several inside of each other"))
		return l.inside
	case in.Field != "":
		l.one(v1alpha1.Loop{Field: in.Field, As: in.As}, at)
	case in.As != "":
		e.c.Fail(field.Invalid(at.Child("as"), in.As, "with loops, each of them has a name of its own: write it there"))
		return l.inside
	default:
		l.several(in.Loops, at.Child("loops"))
	}
	if in.Key != "" {
		l.key(in.Key, at.Child("key"))
	}
	return l.inside
}

// looping compiles one loop.
type looping struct {
	c    *compiler
	loop *Loop
	// outside is the scope of the next field, inside that of what stands in the loop.
	outside, inside *expr.Scope
}

// one compiles a loop over one field, whose item needs no name.
func (l *looping) one(in v1alpha1.Loop, at *field.Path) {
	named := in.As != "" && l.free(in.As, at)
	element := l.over(in, at)
	if named {
		l.inside = l.inside.WithRoot(in.As, element)
	}
	l.inside = l.inside.WithRoot(compile.RootItem, element)
}

// several compiles loops inside of each other. Each field is read with the names of those before it.
func (l *looping) several(all []v1alpha1.Loop, at *field.Path) {
	items := &roots.Schema{Type: value.TypeObject, Properties: map[string]roots.Schema{}}
	for i, in := range all {
		if _, twice := items.Properties[in.As]; twice {
			l.c.Fail(field.Duplicate(at.Index(i).Child("as"), in.As))
		}
		free := l.free(in.As, at.Index(i))
		element := l.over(in, at.Index(i))
		if free {
			l.outside, l.inside = l.outside.WithRoot(in.As, element), l.inside.WithRoot(in.As, element)
		}
		if element == nil {
			element = &roots.Schema{XPreserveUnknownFields: new(true)}
		}
		items.Properties[in.As] = *element
	}
	l.inside = l.inside.WithRoot(compile.RootItem, items)
}

// free refuses the name of an item that templates know already, and says whether it can be given to the item all the same: not if it hides
// what the templates of the box read.
func (l *looping) free(as string, at *field.Path) bool {
	ofLoops := []string{compile.RootItem, compile.RootKey, compile.RootIndex, compile.RootObject}
	earlier := slices.ContainsFunc(l.loop.Over, func(o Over) bool { return o.As == as }) // which is said elsewhere
	hides := known(l.outside, as) && !earlier || as == compile.RootValues
	if hides || slices.Contains(ofLoops, as) {
		l.c.Fail(field.Invalid(at.Child("as"), as, "templates know this name already; give the item another one"))
	}
	return !hides
}

// over compiles one field that a loop goes over, and gives the schema of its items; nil: it is not known.
func (l *looping) over(in v1alpha1.Loop, at *field.Path) *roots.Schema {
	over := Over{Written: in.Field, As: in.As}
	var err error
	if over.Field, err = l.outside.CompilePath(in.Field); err != nil {
		l.c.Fail(field.Invalid(at.Child("field"), in.Field, err.Error()))
	}
	l.loop.Over = append(l.loop.Over, over)
	if err != nil {
		return nil
	}
	return l.elements(over, at.Child("field"))
}

// key compiles what tells the items apart.
func (l *looping) key(written string, at *field.Path) {
	var err error
	if l.loop.Key, err = l.inside.Compile(written); err != nil {
		l.c.Fail(field.Invalid(at, written, err.Error()))
	} else if _, literal := l.loop.Key.Literal(); literal {
		l.c.Fail(field.Invalid(at, written, "every item would have this key; write a template that tells them apart, such as {{ .item.name }}"))
	}
}

// known says whether templates know a root.
func known(scope *expr.Scope, root string) bool {
	_, err := scope.SchemaAt(expr.Path{root})
	return err == nil
}

// elements is the schema of the items of a field, so that paths through an item can be checked, where the schema knows what the loop goes
// over. A field that nothing can go over is refused.
func (l *looping) elements(over Over, at *field.Path) *roots.Schema {
	path, single := over.Field.Path()
	if !single {
		return nil
	}
	node, err := l.outside.SchemaAt(path)
	switch {
	case err != nil || node == nil:
	case node.Type == value.TypeArray && node.Items != nil:
		return node.Items.Schema
	case node.Type == value.TypeObject && node.AdditionalProperties != nil:
		return node.AdditionalProperties.Schema
	case node.Type == value.TypeString || node.Type == "boolean":
		l.c.Fail(field.Invalid(at, over.Written, fmt.Sprintf("%s is a %s; wanted a list, a map or a number", path, node.Type)))
	}
	return nil
}

// sameLoop says whether two declarations go over the same items.
func sameLoop(a, b *Loop) bool {
	return a != nil && b != nil && slices.EqualFunc(a.Over, b.Over, func(a, b Over) bool { return a.Written == b.Written && a.As == b.As })
}

// ReadsItem says whether a path is one of the loop's own.
func (l *Loop) ReadsItem(p expr.Path) bool {
	return len(p) == 0 || slices.Contains([]string{compile.RootItem, compile.RootKey, compile.RootIndex}, p[0]) ||
		slices.ContainsFunc(l.Over, func(o Over) bool { return o.As != "" && p[0] == o.As })
}
