package pipeline

import (
	"context"
	"strconv"
	"strings"

	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
)

// instance is what a declaration stands for in one cycle: one object, or one for each item of its forEach.
type instance struct {
	*declaration

	id   string // the declaration's, with what its item is known by where there is one
	item *item  // nil without forEach
	// nameless says that nobody can tell which child is the item's, because its name can't be told now.
	nameless bool
}

// item is one element of what a forEach goes over.
type item struct {
	value any
	key   string // what tells the item from others
	moves bool   // the key is where the item stands in a list
	name  any    // what templates see as .key: the key, or the index
	index int64
}

// keyMark stands between a declaration's id and an item's key in the id of a child.
const keyMark = "#"

// whole is the declaration itself, without an item.
func (d *declaration) whole() instance { return instance{declaration: d, id: d.id} }

// place names the instance by the key of its item, or by where that stands: two items may have one child.
func (in instance) place() string {
	switch {
	case in.item == nil:
		return in.id
	case in.item.moves, !in.showsKeys():
		return in.declaration.id + keyMark + strconv.FormatInt(in.item.index, 10)
	default:
		return in.declaration.id + keyMark + in.item.key
	}
}

// data is what the templates of the instance read.
func (in instance) data(r *Run) expr.Data {
	data := r.Data(in.usesChildren)
	if in.item != nil {
		in.forEach.give(data, in.item)
	}
	return data
}

// allData is data with what Secrets hold. It is for the content of a child alone: nothing that people read may be made of it.
func (in instance) allData(r *Run) expr.Data {
	data := in.data(r)
	if !in.usesSecrets {
		return data
	}
	if r.Outside.CrossWithSecrets != nil {
		data[compile.RootCross] = r.Outside.CrossWithSecrets
	}
	if in.usesChildren {
		data[compile.RootChildren] = r.children.viewWithSecrets()
	}
	return data
}

// declared gives the declaration that a child's id stands for; nil where there is none any more.
func (p *Plan) declared(id string) *declaration {
	return findDeclared(p.byID, id)
}

// onlyCleanup says whether a child's id is that of a declaration of onDelete, and of no other.
func (p *Plan) onlyCleanup(id string) bool { return findDeclared(p.cleanupOnly, id) != nil }

// named gives the declaration that templates know a child's id by; also one of onRollback or onDelete, while nothing else has its
// id.
func (p *Plan) named(id string) *declaration {
	if d := p.declared(id); d != nil {
		return d
	}
	if d := findDeclared(p.rollbackOnly, id); d != nil {
		return d
	}
	return findDeclared(p.cleanupOnly, id)
}

// findDeclared finds a declaration by the id of a child. Item keys may hold the mark themselves, so that every place where
// it stands may be the end of the declaration's id.
func findDeclared(byID map[string]*declaration, id string) *declaration {
	if d := byID[id]; d != nil && d.forEach == nil {
		return d
	}
	for at := strings.Index(id, keyMark); at >= 0; {
		if d := byID[id[:at]]; d != nil && d.forEach != nil {
			return d
		}
		next := strings.Index(id[at+1:], keyMark)
		if next < 0 {
			break
		}
		at += next + 1
	}
	return nil
}

// label names an instance in messages about one resource: by its id, or by the key of its kind and the name of the object.
func (r *Run) label(ctx context.Context, in instance) string {
	switch {
	case in.explicit && in.item != nil && !in.showsKeys():
		return in.place()
	case in.explicit:
		return in.id
	}
	if in.name == nil || in.forEach != nil && in.item == nil {
		return in.declaration.label()
	}
	name, err := in.name.Eval(ctx, in.data(r))
	if text, ok := name.(string); err == nil && ok && text != "" && in.mayShow(in.name.Paths()) {
		return in.kind.Key + "/" + text
	}
	return in.declaration.label() // what is wrong with the name is an error of its own
}
