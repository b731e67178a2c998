package children

import (
	"context"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/items"
	"github.com/orkspace/orkestra/engine/pipeline/whole"
)

// Instance is what a declaration stands for in one cycle: one object, or one for each item of its forEach.
type Instance struct {
	*declare.Declaration

	// ID is the declaration's, with what its item is known by where there is one.
	ID string
	// GVK is the kind of its object; empty where that is one of several, and the object is not evaluated: see Known.
	GVK schema.GroupVersionKind

	whole *whole.Object // what one template gives as the object, once it is evaluated
	at    string        // where code says it, as messages name it; empty: they name the object alone
	item  *items.Item   // nil: without a loop, or for all of its items
	// nameless says that it is not known which child is the item's, because its name can't be evaluated now.
	nameless bool
}

// InstanceOf is the declaration itself: with a loop, it stands for all items.
func InstanceOf(d *declare.Declaration) Instance { return instanceOf(d, d.ID) }

// Known gives an instance with the kind of its object. Where one template gives the whole object, that is evaluated.
func Known(ctx context.Context, c *Cycle, in Instance) (Instance, error) {
	if !in.Whole || in.whole != nil {
		return in, nil
	}
	object, err := whole.Of(ctx, in.Declaration, in.AllData(c))
	if err == nil {
		in.GVK, in.whole = object.Kind, object
	}
	return in, err //nolint:wrapcheck // it says what is wrong with the manifest
}

func instanceOf(d *declare.Declaration, id string) Instance {
	return Instance{Declaration: d, ID: id, GVK: d.Kinds.Only()}
}

// ForAll says whether it stands for all items of a loop.
func (in Instance) ForAll() bool { return in.Loop != nil && in.item == nil }

// Place names the instance by the key of its item, or by where that stands: two items may have one child.
func (in Instance) Place() string {
	switch {
	case in.item == nil:
		return in.ID
	case in.item.KeyIsIndex, !in.ShowsKeys():
		return in.Declaration.ID + declare.KeyMark + strconv.FormatInt(in.item.Index, 10)
	default:
		return in.Declaration.ID + declare.KeyMark + in.item.Key
	}
}

// Data is what the templates of the instance read.
func (in Instance) Data(c *Cycle) expr.Data {
	data := c.Data(in.UsesChildren)
	if in.item != nil {
		in.item.Give(in.Loop, data)
	}
	return data
}

// AllData is Data with what Secrets hold. It is for the content of a child alone: nothing that people read may be made of it.
func (in Instance) AllData(c *Cycle) expr.Data {
	data := in.Data(c)
	if c.Outside.ExternalWithSecrets != nil {
		data[compile.RootExternal] = c.Outside.ExternalWithSecrets
	}
	if !in.UsesSecrets {
		return data
	}
	if c.Outside.CrossWithSecrets != nil {
		data[compile.RootCross] = c.Outside.CrossWithSecrets
	}
	if c.Outside.ProvidedWithSecrets != nil {
		data[compile.RootProviders] = c.Outside.ProvidedWithSecrets
	}
	if in.UsesChildren {
		data[compile.RootChildren] = c.Living.viewWithSecrets()
	}
	return data
}

// Label names an instance in messages about one resource: by its id, or by the key of its kind and the name of the object.
func (in Instance) Label(ctx context.Context, c *Cycle) string {
	switch {
	case in.Explicit && in.item != nil && !in.ShowsKeys():
		return in.Place()
	case in.Explicit:
		return in.ID
	}
	if in.Name == nil || in.ForAll() {
		return in.Declaration.Label()
	}
	name, err := in.Name.Eval(ctx, in.Data(c))
	if text, ok := name.(string); err == nil && ok && text != "" && in.MayShow(in.Name.Paths()) {
		return in.Kind.Key + "/" + text
	}
	return in.Declaration.Label() // what is wrong with the name is an error of its own
}
