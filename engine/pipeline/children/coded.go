package children

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/pipeline/whole"
)

// Coded is an object that code says, and how it is made.
type Coded struct {
	// ID tells it from the other objects of the same code.
	ID string
	// Object as it is declared.
	Object *unstructured.Unstructured
	// Once, Adopt, Orphan and Replace are those of a declaration's Mode.
	Once, Adopt, Orphan, Replace bool
	// Secret says that something in it may come from a Secret: no message quotes it.
	Secret bool
	// At is where it is said, as messages name it; empty: the id is enough.
	At string
}

// Code is the declaration whose objects code says, in one cycle.
type Code struct {
	*declare.Declaration

	// Cycle in which it says them.
	Cycle *Cycle
}

// Open asks the gate of the box, and does what a false one asks for. keeps says that what the code has made stays then.
func (k Code) Open(ctx context.Context) (open, keeps bool, err error) {
	in := InstanceOf(k.Declaration)
	res, err := in.Ask(ctx, k.Cycle)
	if err == nil && !res.Open {
		in.closed(ctx, k.Cycle, res)
	}
	return res.Open, in.KeepsOn(res), err
}

// Hold has everything stay that the code has made: it was not asked, or has not come to its end.
func (k Code) Hold() {
	k.Cycle.applied.hold(InstanceOf(k.Declaration))
	k.Cycle.applied.asked[k.Declaration] = true
}

// Write writes what the code says.
func (k Code) Write(ctx context.Context, all []Coded) error {
	c := k.Cycle
	c.Living.All() // the versions from before the first write
	c.Jobs.considered[k.Declaration] = true
	instances := make([]Instance, 0, len(all))
	var writes []*pending
	for _, one := range all {
		in, w, err := k.prepare(ctx, one)
		if err != nil {
			return fmt.Errorf("%s: %w", cmp.Or(one.At, one.ID), err)
		}
		instances = append(instances, in)
		if w != nil {
			writes = append(writes, w)
		}
	}
	c.applied.setInstances(k.Declaration, instances)
	c.applied.asked[k.Declaration] = true
	c.Living.forgetViewOfSuperseded()
	return writeAll(ctx, c, writes)
}

// prepare renders an object as that of a declaration of its own.
func (k Code) prepare(ctx context.Context, one Coded) (Instance, *pending, error) {
	d, gvk := *k.Declaration, one.Object.GroupVersionKind()
	d.Kinds, d.Loop = kinds.Set{gvk}, nil
	d.Once, d.Adopt, d.Orphan, d.Replace = one.Once, one.Adopt, one.Orphan, one.Replace
	d.OwnerReference = k.OwnerReference && !one.Orphan
	d.Quoted = !one.Secret && !d.IsSecret()
	in := Instance{Declaration: &d, ID: k.ID + declare.KeyMark + one.ID, GVK: gvk, whole: whole.Coded(one.Object), at: one.At}
	if !slices.Contains(k.Kinds, gvk) {
		return in, nil, stage.NewPermanent(v1alpha1.ReasonInvalidChild, fmt.Errorf("it is a %s, and spec.reconciler.hooks.resources has %s; list it there", kinds.Listed(gvk), cmp.Or(k.Kinds.Listed(), "none")))
	}
	w, err := k.Cycle.prepare(ctx, in, "")
	if in.isShutOut(ctx, k.Cycle, err) {
		return in, nil, nil
	}
	return in, w, err
}

// Children gives the children by the names under which code knows them: what it has said itself by the ids that it gave, and what the box
// declares by explicit ids.
func (k Code) Children() map[string]*unstructured.Unstructured {
	out := map[string]*unstructured.Unstructured{}
	for id, child := range k.Cycle.Living.byInstance() {
		switch d := k.Cycle.Declared.Named(id); {
		case d == nil:
		case d == k.Declaration:
			out[strings.TrimPrefix(id, d.ID+declare.KeyMark)] = child
		case d.Explicit:
			out[id] = child
		}
	}
	return out
}
