package stage

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/identity"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/value"
	"github.com/orkspace/orkestra/engine/when"
)

// Children are the living children of the resource, as a cycle sees them.
type Children interface {
	// All gives every child. It is shared memory: read only.
	All() []*unstructured.Unstructured
	// View is what templates see as .children.
	View() map[string]any
	// Foresee must be called before paths are read in a stage that runs before the groups. A Job that the groups will run again in this
	// cycle is then hidden, so that its former completion is not taken for the new one.
	Foresee(ctx context.Context, paths []expr.Path)
	// ReadersOf gives what messages call the declarations that read one of these sources.
	ReadersOf(ctx context.Context, sources []compile.Outside) []string
}

// Cycle is what the stages of one reconcile share: what they read, what they decide by, and in its Report what they found and did. It is
// made for one reconcile and used by one goroutine, but for the writes of one wave, which only read it.
type Cycle struct {
	Report

	// Plan is what holds for every resource of the box.
	Plan *Plan
	// Ports are the side effects.
	Ports Ports
	// Now is the time of this reconcile.
	Now time.Time
	// Began is the resource as the cycle began with it. Stored may have a newer spec, since marks replace it with the API server's answer.
	Began *unstructured.Unstructured
	// Stored is the resource as it is in the cluster. Marks replace it with the API server's answer.
	Stored *unstructured.Unstructured
	// Object is the working copy that normalize and mutation change. It is never written.
	Object map[string]any
	// Account is as whom the cycle acts: the account of the box as it is today, also where it makes the children of a former revision.
	Account identity.Account
	// Owner says whose the children are.
	Owner apply.Owner
	// Children are the living children of the resource.
	Children Children
	// Inputs are what this cycle read.
	Inputs *Inputs
	// Outside is what was read from outside: cross, external, and what providers have made.
	Outside Outside

	// Succeeded says that the resource has succeeded before at this generation and plan. Only boxes with rollback are told.
	Succeeded bool
	// Orphan says that somebody asked for the children to stay when the resource was deleted.
	Orphan bool
	// LeavingSince is since when an object of others is not selected any more: it is let go as one that is deleted; zero: it is selected.
	LeavingSince time.Time
	// Restoring says that the cycle makes the children of a snapshot.
	Restoring bool
	// Probing says that the writes of the cycle go to the API server's dry run.
	Probing bool
	// Previous is the snapshot, for the templates of onRollback.
	Previous map[string]any

	values *expr.Memo // nil: the box has none

	// Marks are what the cycle writes to the resource's metadata.
	Marks Marks
}

// NewCycle begins a cycle of a resource. Children must be set before the first stage runs.
func NewCycle(p *Plan, stored *unstructured.Unstructured, now time.Time, ports Ports) *Cycle {
	stored = p.withoutCopied(stored)
	c := &Cycle{
		Plan: p, Ports: ports, Now: now, Began: stored, Stored: stored, Account: p.Account,
		Object:  runtime.DeepCopyJSON(stored.Object),
		Owner:   apply.Owner{Resource: stored, Box: p.Box, Label: kinds.LabelValue(stored.GetName())},
		Inputs:  newInputs(p, stored, now),
		Outside: newOutside(),
		Marks: Marks{
			Finalizers: p.Finalizers, Active: value.Annotation(stored, v1alpha1.AnnotationActiveSince) != "", added: map[string]string{},
		},
	}
	c.Edited()
	return c
}

// Edited says that the working copy has changed: what values have given before counts no more.
func (c *Cycle) Edited() {
	if c.Plan.HasValues {
		c.values = expr.NewMemo()
	}
}

// Probe begins a cycle that is where this one is, and whose writes go to the dry run.
func (c *Cycle) Probe() *Cycle {
	ports := c.Ports
	ports.Applier, ports.Marker = c.Ports.DryRun, c.Ports.DryRun
	p := NewCycle(c.Plan, c.Stored, c.Now, ports)
	p.Object, p.Probing, p.Account = c.Object, true, c.Account
	p.Outside = c.Outside
	p.Outside.known = maps.Clone(c.Outside.known)
	return p
}

// Data gives the template context. Children are read from the watch cache, only where they are used.
func (c *Cycle) Data(usesChildren bool) expr.Data {
	d := expr.Data{
		"apiVersion":       c.Object["apiVersion"],
		"kind":             c.Object["kind"],
		"metadata":         c.Object["metadata"],
		"spec":             c.Object["spec"],
		compile.RootStatus: c.Object[compile.RootStatus],
		"box":              c.Plan.BoxData,
	}
	if c.Outside.Cross != nil {
		d[compile.RootCross] = c.Outside.Cross
	}
	if c.Outside.External != nil {
		d[compile.RootExternal] = c.Outside.External
	}
	if c.Outside.Provided != nil {
		d[compile.RootProviders] = c.Outside.Provided
	}
	if c.Previous != nil {
		d[compile.RootPrevious] = c.Previous
	}
	if c.values != nil {
		d[compile.RootValues] = c.values
	}
	if usesChildren {
		d[compile.RootChildren] = c.Children.View()
	}
	return d
}

// ReconcileAt has the resource reconciled again at a moment, or earlier; zero: nothing changes.
func (c *Cycle) ReconcileAt(t time.Time) { c.Inputs.ExpireAt(t) }

// CountWrites has the writes of the cycle counted. It is called when all of them were made.
func (c *Cycle) CountWrites() {
	if c.Ports.LoopGuard == nil {
		return
	}
	if message := c.Ports.LoopGuard.Count(c.Writes, c.Now, c.Plan.Runtime.Resync); message != "" {
		c.Wait("", v1alpha1.ReasonRetrying, message)
	}
}

// NextRead is when what changes outside is read again without being asked: once per resync. It is a little early, and
// resources that were made together do not read together.
func (c *Cycle) NextRead() time.Time {
	const parts, spread = 1000, 100
	h := fnv.New32a()
	_, _ = h.Write([]byte(c.Stored.GetUID())) // a hash takes all that it is given
	return c.Now.Add(c.Plan.Runtime.Resync * time.Duration(parts-spread+int(h.Sum32()%spread)) / parts)
}

// IsOpen evaluates a gate. It is evaluated again when its answer changes with the time.
func (c *Cycle) IsOpen(ctx context.Context, gate *when.Gate, data expr.Data) (bool, error) {
	res, err := c.Ask(ctx, gate, data)
	return res.Open, err
}

// Ask is IsOpen with all that a gate says.
func (c *Cycle) Ask(ctx context.Context, gate *when.Gate, data expr.Data) (when.Result, error) {
	res, err := gate.Eval(ctx, data, c.Now)
	if err != nil {
		return when.Result{}, Evaluating("when", v1alpha1.ReasonConditionError, err)
	}
	c.ReconcileAt(res.NextFlip)
	return res, nil
}

// ChildName is a child's name as users write it: with the namespace where that is not the resource's own.
func (c *Cycle) ChildName(child *unstructured.Unstructured) string {
	if ns := child.GetNamespace(); ns != "" && ns != c.Stored.GetNamespace() {
		return ns + "/" + child.GetName()
	}
	return child.GetName()
}

// Absent says of an object that the Observer does not give why it does not.
func (c *Cycle) Absent(what string) string {
	return what + " " + cmp.Or(c.Ports.Unread, "does not exist")
}

// Describe names an object, or several of a kind, in messages.
func Describe(kind schema.GroupVersionKind, namespace, name string) string {
	out := kind.Kind
	switch {
	case name != "" && namespace != "":
		out += fmt.Sprintf(" %q", namespace+"/"+name)
	case name != "":
		out += fmt.Sprintf(" %q", name)
	case namespace != "":
		out += fmt.Sprintf(" in namespace %q", namespace)
	}
	return out
}
