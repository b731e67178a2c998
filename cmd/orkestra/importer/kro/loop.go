package kro

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/orkspace/orkestra/cmd/orkestra/importer/draft"
)

// loop is what a resource is made for.
type loop struct {
	over []iterator
	// computed says that templates can't say what is made of the items. Then a value has the items, each with what is made of it.
	computed bool
	values   []itemValue
}

// iterator is one list that a loop goes over.
type iterator struct {
	name string // its variable
	as   string // what the box calls it
	list *expression
	from string
}

// itemValue is what an expression makes of an item.
type itemValue struct{ name, cel string }

// taken are names that templates have already.
var taken = append([]string{"item", "key", "index", "apiVersion", "kind", "metadata", "spec", fieldStatus, "previous", "error", "conditions"}, boxNames...)

// iterators reads the lists that a resource goes over; nil where one of them can't be read.
func (g *graph) iterators(n *node) *loop {
	at := draft.Below(n.at, "forEach")
	list, ok := n.content["forEach"].([]any)
	if !ok || len(list) == 0 {
		g.box.Fail(n.to, at, "wanted a list of objects, each from a variable to a list")
		return nil
	}
	l := &loop{}
	for i, item := range list {
		path := fmt.Sprintf("%s[%d]", at, i)
		object, _ := item.(map[string]any)
		if len(object) != 1 {
			g.box.Fail(n.to, path, "wanted an object with one field, from a variable to a list")
			return nil
		}
		for name, value := range object {
			it, err := g.iterator(n, name, text(value))
			if err == nil && l.binds(name) {
				err = fmt.Errorf("the name %s is taken", name)
			}
			it.from = draft.Below(path, name)
			if err != nil {
				g.box.Fail(n.to, it.from, err.Error())
				return nil
			}
			l.over = append(l.over, it)
		}
	}
	eachExpression(n.content["template"], func(e *expression) {
		l.computed = l.computed || e.path == nil && l.reads(e)
	})
	return l
}

// iterator reads one list that a resource goes over, and the name of its items.
func (g *graph) iterator(n *node, name, list string) (iterator, error) {
	it := iterator{name: name, as: name}
	if slices.Contains(taken, name) {
		it.as = name + "Item"
	}
	switch pieces, err := parts(list); {
	case err != nil:
		return it, err
	case len(pieces) != 1 || !pieces[0].cel:
		return it, errors.New("wanted one expression, ${...}")
	case !plainID.MatchString(name):
		return it, fmt.Errorf("wanted a variable of letters and digits, found %q", name)
	case name == schemaName || g.byID[name] != nil:
		return it, fmt.Errorf("the name %s is taken", name)
	default:
		it.list, err = scope{g: g, n: n}.parse(pieces[0].text)
		return it, err
	}
}

// binds says whether a name is a variable of the loop.
func (l *loop) binds(name string) bool {
	return l != nil && slices.ContainsFunc(l.over, func(it iterator) bool { return it.name == name })
}

// reads says whether an expression reads a variable of the loop.
func (l *loop) reads(e *expression) bool { return slices.ContainsFunc(e.names, l.binds) }

// item is how a template, or a condition, reads a variable.
func (l *loop) item(name string) string {
	if l.computed {
		return "item." + name
	}
	return l.over[slices.IndexFunc(l.over, func(it iterator) bool { return it.name == name })].as
}

// value gives the name under which an item has what an expression makes of it.
func (l *loop) value(g *graph, e *expression) string {
	own := scope{g: g, n: &node{loop: l}, items: func(name string) string { return name }}
	cel := own.cel(e, null)
	for _, v := range l.values {
		if v.cel == cel {
			return v.name
		}
	}
	v := itemValue{name: fmt.Sprintf("value%d", len(l.values)+1), cel: cel}
	for l.binds(v.name) {
		v.name += "x"
	}
	l.values = append(l.values, v)
	return v.name
}

// forEach is the loop as the box has it. It is asked for when all expressions of the template are translated.
func (n *node) forEach(g *graph) map[string]any {
	l := n.loop
	outside := scope{g: g, n: n}
	if l.computed {
		return map[string]any{"field": "values." + g.value(n.name+"Items", l.items(outside), draft.Below(n.at, "forEach"))}
	}
	var loops []any
	for _, it := range l.over {
		field := outside.path(it.list)
		if field == "" {
			field = "values." + g.value(named(n.name, it.name)+"s", outside.cel(it.list, "[]"), it.from)
		}
		loops = append(loops, map[string]any{"field": field, "as": it.as})
	}
	if len(loops) == 1 {
		one, _ := loops[0].(map[string]any)
		return one
	}
	return map[string]any{"loops": loops}
}

// items is CEL for the list of all items, each with its variables and with what is made of them.
func (l *loop) items(outside scope) string {
	var fields []string
	for _, it := range l.over {
		fields = append(fields, fmt.Sprintf("%q: %s", it.name, it.name))
	}
	for _, v := range l.values {
		fields = append(fields, fmt.Sprintf("%q: %s", v.name, v.cel))
	}
	cel := "{" + strings.Join(fields, ", ") + "}"
	for i, it := range slices.Backward(l.over) {
		cel = fmt.Sprintf("(%s).map(%s, %s)", outside.cel(it.list, "[]"), it.name, cel)
		if i < len(l.over)-1 {
			cel += ".flatten()"
		}
	}
	return cel
}
