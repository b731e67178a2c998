package pipeline

import (
	"context"
	"strconv"

	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
)

// instance is what a declaration stands for in one cycle: one object, or one for each item of its forEach.
type instance struct {
	*declare.Declaration

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

// instanceOf is the declaration itself, without an item: all that it stands for.
func instanceOf(d *declare.Declaration) instance { return instance{Declaration: d, id: d.ID} }

// place names the instance by the key of its item, or by where that stands: two items may have one child.
func (in instance) place() string {
	switch {
	case in.item == nil:
		return in.id
	case in.item.moves, !in.ShowsKeys():
		return in.Declaration.ID + declare.KeyMark + strconv.FormatInt(in.item.index, 10)
	default:
		return in.Declaration.ID + declare.KeyMark + in.item.key
	}
}

// data is what the templates of the instance read.
func (in instance) data(r *Run) expr.Data {
	data := r.Data(in.UsesChildren)
	if in.item != nil {
		in.item.give(in.Loop, data)
	}
	return data
}

// allData is data with what Secrets hold. It is for the content of a child alone: nothing that people read may be made of it.
func (in instance) allData(r *Run) expr.Data {
	data := in.data(r)
	if !in.UsesSecrets {
		return data
	}
	if r.Outside.CrossWithSecrets != nil {
		data[compile.RootCross] = r.Outside.CrossWithSecrets
	}
	if in.UsesChildren {
		data[compile.RootChildren] = r.children.viewWithSecrets()
	}
	return data
}

// label names an instance in messages about one resource: by its id, or by the key of its kind and the name of the object.
func (r *Run) label(ctx context.Context, in instance) string {
	switch {
	case in.Explicit && in.item != nil && !in.ShowsKeys():
		return in.place()
	case in.Explicit:
		return in.id
	}
	if in.Name == nil || in.Loop != nil && in.item == nil {
		return in.Declaration.Label()
	}
	name, err := in.Name.Eval(ctx, in.data(r))
	if text, ok := name.(string); err == nil && ok && text != "" && in.MayShow(in.Name.Paths()) {
		return in.Kind.Key + "/" + text
	}
	return in.Declaration.Label() // what is wrong with the name is an error of its own
}
