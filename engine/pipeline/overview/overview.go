// Package overview says how each declaration of a box stands for one resource, without a manager: it asks the gates, and looks at what lives. It
// renders no child, and calls and writes nothing.
package overview

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/when"
)

// State says in one word how a declaration, or a child, stands.
type State string

// The states. Those of a child come from what it says of itself; the others say why there is no child.
const (
	StateReady       State = "Ready"       // the child is as it should be
	StateCompleted   State = "Completed"   // the Job has completed, or what is made once has been made
	StateProgressing State = "Progressing" // the child is on its way
	StateFailed      State = "Failed"      // the child goes no further by itself
	StateTerminating State = "Terminating" // the child is being deleted
	StateMissing     State = "Missing"     // the gate is open, and there is no child
	StateWaiting     State = "Waiting"     // something else must happen first
	StateOff         State = "Off"         // the resource has not asked for it
	StateError       State = "Error"       // a template or a condition can't be evaluated
	StateUnknown     State = "Unknown"     // it depends on what can't be read here
	StateUndeclared  State = "Undeclared"  // no declaration stands for the child any more
)

// Unhindered begins the reason of a child that the next reconcile makes.
const Unhindered = "nothing keeps it from being made"

// Status is how a declaration stands for one resource, or what it stands for with one item of its forEach. A declaration whose
// name has changed may have two children, and gives two.
type Status struct {
	// Declaration names it as messages do, such as deployments/web.
	Declaration string
	// Group is the resource group that it is in, such as onReconcile; empty for a child of no declaration.
	Group string
	// Path of the declaration in the box; empty for a child of no declaration.
	Path string
	// Kind of the object.
	Kind schema.GroupVersionKind
	// Name of the object that is wanted; empty where it can't be told, or may not be shown.
	Name string
	// Child that lives; nil: there is none.
	Child *unstructured.Unstructured
	// State in one word.
	State State
	// Reason says why, on one line; empty where there is nothing to say.
	Reason string
	// Gate is what its conditions say.
	Gate Gate
	// Patch is the id of a patch, whose object belongs to others: it has no child. Empty: it is no patch.
	Patch string
	// Kept says of a patch that may not act that what it has set stays.
	Kept bool
}

// Gate is what the conditions of a declaration say.
type Gate struct {
	// Open says that the declaration may act. A declaration without conditions has an open gate.
	Open bool
	// Known says whether the conditions could be evaluated.
	Known bool
	// Field, Wanted and Actual are those of the first condition that does not hold; empty where all do.
	Field, Wanted, Actual string
}

// Hidden says that objects of a kind could not be read.
type Hidden struct {
	// Why they could not.
	Why string
	// In are the namespaces in which they could not; empty: in all.
	In []string
}

// Of says how each declaration of a box stands for the resource of a cycle that was not executed, but for what is read first. It only reads: what
// the conditions and names read is evaluated. failed is the error of what was to be read first; nil: there was none. hidden are the kinds whose
// objects could not all be read; what depends on them is unknown, as is what depends on external calls. see looks at a patch.
func Of(ctx context.Context, c *children.Cycle, failed error, hidden map[schema.GroupVersionKind]Hidden, see func(context.Context, children.Instance) (Patch, error)) []Status {
	o := &overview{c: c, see: see, failed: failed, hidden: hidden, items: map[*declare.Declaration]map[string]children.Instance{}, shown: map[*unstructured.Unstructured]bool{}}
	going := c.Stored.GetDeletionTimestamp() != nil // nothing is made any more
	for _, d := range c.Declared.Live {
		if !going {
			o.declaration(ctx, d)
		}
	}
	for _, d := range c.Declared.Patches {
		if !going {
			o.declaration(ctx, d)
		}
	}
	for _, child := range c.Living.All() {
		d := c.Declared.Of(children.IDOf(child))
		switch {
		case o.shown[child]:
		case !going && d != nil && d.Coded:
			o.coded(ctx, d, child)
		default:
			o.stray(ctx, child, going)
		}
	}
	return o.out
}

// overview collects how the declarations stand.
type overview struct {
	c      *children.Cycle
	hidden map[schema.GroupVersionKind]Hidden
	failed error // of a stage: what the stages after it would have read is not known
	items  map[*declare.Declaration]map[string]children.Instance
	shown  map[*unstructured.Unstructured]bool // children that stand beside their declaration
	see    func(context.Context, children.Instance) (Patch, error)
	out    []Status
}

// declaration adds a declaration, with what it stands for.
func (o *overview) declaration(ctx context.Context, d *declare.Declaration) {
	unexpanded := children.InstanceOf(d)
	if d.Phase == declare.OnCreate && d.Once && o.c.Marks.Active {
		o.children(ctx, unexpanded, Gate{Open: true, Known: true}, StateCompleted, "made once, before the resource became active")
		return
	}
	if why := o.unknown(d); why != "" {
		o.children(ctx, unexpanded, Gate{}, StateUnknown, why)
		return
	}
	if o.c.Outside.Lacks(d.Outside) {
		o.children(ctx, unexpanded, Gate{}, StateWaiting, o.awaited(d))
		return
	}
	if !d.GateReadsItem && !o.open(ctx, unexpanded) {
		return
	}
	if o.c.NotInstalled(unexpanded) {
		o.children(ctx, unexpanded, Gate{Open: true, Known: true}, StateOff, fmt.Sprintf("kind %s is not installed", unexpanded.GVK.Kind))
		return
	}
	instances, err := o.c.Instances(ctx, d)
	if err != nil {
		o.unevaluated(ctx, unexpanded, err)
		return
	}
	if len(instances) == 0 {
		o.children(ctx, unexpanded, Gate{Open: true, Known: true}, StateOff, "forEach: "+d.Loop.Written()+" has no items")
		return
	}
	behind, err := o.c.After(ctx, d)
	if err != nil {
		o.unevaluated(ctx, unexpanded, err)
		return
	}
	turn, err := o.c.Living.Behind(ctx, d, len(instances))
	if err != nil {
		o.unevaluated(ctx, unexpanded, err)
		return
	}
	for _, in := range instances {
		switch {
		case d.GateReadsItem && !o.open(ctx, in):
		case behind != "":
			o.children(ctx, in, Gate{Open: true, Known: true}, StateWaiting, behind)
		case turn != "" && len(o.c.Living.Find(in)) == 0:
			o.children(ctx, in, Gate{Open: true, Known: true}, StateWaiting, "it waits for "+turn)
		default:
			o.wanted(ctx, in)
		}
	}
}

// unknown says why it can't be told whether a declaration may act; "" where it can.
func (o *overview) unknown(d *declare.Declaration) string {
	var missing []string
	for _, name := range d.Outside {
		source := strings.TrimPrefix(name.ID(), ".") // one declaration may read several fields of it
		if (!o.c.Outside.Knows([]compile.Outside{name}) || o.unread(name)) && !slices.Contains(missing, source) {
			missing = append(missing, source)
		}
	}
	external := slices.ContainsFunc(d.Outside, func(n compile.Outside) bool { return n.Root == compile.RootExternal })
	switch {
	case o.failed != nil && (len(missing) > 0 || stage.AsStepError(o.failed).Step != stage.StepCross):
		return o.failed.Error()
	case external:
		return "depends on " + strings.Join(missing, ", ") + ", and no calls are made here"
	case len(missing) > 0:
		return "depends on " + strings.Join(missing, ", ") + ", which " + cmp.Or(o.c.Ports.Unread, "was not read")
	}
	for _, other := range d.Reads.Children {
		if why := o.unreadable(other); why != "" {
			return fmt.Sprintf("depends on children of kind %s: %s", other.Kinds, why)
		}
	}
	return ""
}

// unreadable says why not all objects that may be children of a declaration could be read; "" where all could.
func (o *overview) unreadable(d *declare.Declaration) string {
	if d.Patch != nil {
		return "" // its object is no child, and is read by its name
	}
	for _, kind := range d.Kinds {
		h := o.hidden[kind]
		if own := o.c.Home(); len(h.In) > 0 && own != "" && d.Namespace == nil && !slices.Contains(h.In, own) {
			continue // all of its children are in the namespace of the resource
		}
		if h.Why != "" {
			return h.Why
		}
	}
	return ""
}

// unread says whether a source of cross gave nothing, although there may be something that could not be read.
func (o *overview) unread(name compile.Outside) bool {
	if o.c.Ports.Unread == "" || name.Root != compile.RootCross {
		return false
	}
	found := o.c.Outside.Cross[name.Name]
	list, isList := found.([]any)
	return found == nil || isList && len(list) == 0
}

// awaited is what the cycle says of the absent sources that a declaration reads.
func (o *overview) awaited(d *declare.Declaration) string {
	for _, w := range o.c.Waits {
		if slices.ContainsFunc(d.Outside, func(n compile.Outside) bool { return n.ID() == w.Of }) {
			return w.Message
		}
	}
	return "what it reads is not there"
}

// open asks the gate of an instance. One that is closed is added.
func (o *overview) open(ctx context.Context, in children.Instance) bool {
	res, err := in.Ask(ctx, o.c)
	switch {
	case err != nil:
		o.unevaluated(ctx, in, err)
	case !res.Open:
		state, fate := StateWaiting, leftAlone
		if res.Choice {
			state = StateOff
		}
		if !in.KeepsOn(res) {
			fate = "it is to be deleted"
		}
		o.add(ctx, in, closedBy(res), state, children.WhyClosed(ctx, o.c, res), fate)
	}
	return err == nil && res.Open
}

func closedBy(res when.Result) Gate {
	g := Gate{Known: true}
	if len(res.Unmet) > 0 {
		v := res.Unmet[0]
		g.Field, g.Wanted, g.Actual = stage.OneLine(v.Field), v.Wanted, v.Actual
	}
	return g
}

// unevaluated adds an instance whose conditions, items or name can't be evaluated.
func (o *overview) unevaluated(ctx context.Context, in children.Instance, err error) {
	if _, why, lacks := children.Lacks(ctx, o.c, err); lacks {
		o.children(ctx, in, Gate{}, StateWaiting, why)
		return
	}
	o.children(ctx, in, Gate{}, StateError, stage.OneLine(err.Error()))
}

// wanted adds an instance that may act.
func (o *overview) wanted(ctx context.Context, in children.Instance) {
	if in.Patch != nil {
		o.patch(ctx, in)
		return
	}
	gate := Gate{Open: true, Known: true}
	if done := children.DoneMarks(o.c.Stored)[in.ID]; in.IsJob() && done != "" {
		o.children(ctx, in, gate, StateCompleted, "")
		return
	}
	known, err := children.Known(ctx, o.c, in)
	if err != nil {
		o.unevaluated(ctx, in, err)
		return
	}
	in = known
	same, err := in.Identity(ctx, o.c)
	switch {
	case meta.IsNoMatchError(err) && in.Optional:
		o.children(ctx, in, gate, StateOff, fmt.Sprintf("kind %s is not installed", in.GVK.Kind))
	case meta.IsNoMatchError(err):
		o.children(ctx, in, gate, StateMissing, fmt.Sprintf("kind %s is not installed", in.GVK.Kind))
	case err != nil:
		o.unevaluated(ctx, in, err)
	case o.unreadable(in.Declaration) != "":
		o.children(ctx, in, gate, StateUnknown, o.unreadable(in.Declaration))
	case len(o.c.Living.Find(in)) == 0 && !in.ShowsName():
		o.children(ctx, in, gate, StateMissing, Unhindered+", and there is none")
	default:
		o.children(ctx, in, gate, StateMissing, fmt.Sprintf("%s, and there is no %s %q", Unhindered, in.GVK.Kind, o.c.ChildName(same)))
	}
}
