package declare

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/when"
)

// Gates say when an object is made, what a false one asks for, and when the object counts as current.
type Gates struct {
	// Gate says whether the declaration acts: the box's gate and its own; nil: it always does.
	Gate *when.Gate
	// Gated says that the declaration has a gate of its own.
	Gated bool
	// GateReadsItem says whether the gate must be asked for each item.
	GateReadsItem bool
	// ReadyWhen are conditions under which a child is current; nil: kstatus says it.
	ReadyWhen *Ready
	// After are the declarations whose children must be there and current before this one acts.
	After []*Declaration

	keepsOnChoice, keepsOnWait, neverDeletes bool
}

// KeepsOn says whether a false gate leaves the children of a declaration.
func (g *Gates) KeepsOn(res when.Result) bool {
	return g.neverDeletes || res.Choice && g.keepsOnChoice || !res.Choice && g.keepsOnWait
}

// Ready are conditions of readyWhen.
type Ready struct {
	// Gate is true when all conditions are met.
	Gate *when.Gate
	// UsesChildren says whether it reads children.
	UsesChildren bool
	// ReadsItem says whether it reads the item of a loop.
	ReadsItem bool
}

// gateOf compiles the conditions of a declaration, which are met beside those around it (nil: there are none).
func (c *compiler) gateOf(e *entry, scope *expr.Scope, around *when.Gate) {
	own, errs := when.CompileGate(e.Gate, scope, e.at)
	c.Fail(errs...)
	d := e.d
	d.Gate, d.Gated = when.Join(around, own), len(e.When)+len(e.AnyOf) > 0
	d.GateReadsItem = d.Loop != nil && slices.ContainsFunc(own.Paths(), d.Loop.ReadsItem)
}

// readyWhen compiles the readyWhen of a declaration. Its conditions read what the declaration reads, and the child as object.
func (e *entry) readyWhen(scope *expr.Scope) {
	if len(e.ReadyWhen) == 0 {
		return
	}
	d, at := e.d, e.at.Child("readyWhen")
	if d.Phase == OnDelete && d.IsJob() {
		e.c.Fail(field.Forbidden(at, "a Job of onDelete is done when it has completed"))
		return
	}
	ready := CompileReady(e.c.Box, e.ReadyWhen, scope.WithRoot(compile.RootObject, compile.ObjectSchema(d.Kinds.Only(), false)), at)
	if ready != nil {
		ready.ReadsItem = d.Loop != nil && slices.ContainsFunc(ready.Gate.Paths(), d.Loop.ReadsItem)
	}
	d.ReadyWhen = ready
}

// CompileReady compiles conditions of readyWhen; nil where there are none, or where they are wrong.
func CompileReady(b *compile.Box, list []v1alpha1.Condition, scope *expr.Scope, at *field.Path) *Ready {
	gate, errs := when.CompileAll(list, scope, at)
	b.Fail(errs...)
	if gate == nil {
		return nil
	}
	return &Ready{Gate: gate, UsesChildren: b.Reads(gate.Paths())}
}
