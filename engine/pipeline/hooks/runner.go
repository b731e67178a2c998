package hooks

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/hook"
	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// runner is what a hook is: a function that is compiled in, or a webhook.
type runner interface {
	// Has says whether it is called in a phase.
	Has(p hook.Phase) bool
	// run calls it. What it says is in out, whatever becomes of the call.
	run(ctx context.Context, in *call, out *hook.Outcome) error
	// absent says why it can't be called here; empty: it can.
	absent(c *children.Cycle) string
	// blames gives the error of a status that it has set and that can't be: a mistake of the code, and not of the box.
	blames(err error) error
	// sweeps says whether it declares children also for a resource that goes, and those that it leaves out go at once.
	sweeps() bool
}

// call is one call of a hook.
type call struct {
	*children.Cycle

	phase    hook.Phase
	declared *declare.Declaration
	args     map[string]any
}

// resource is what the hook is given: the working copy, or for one that goes what is stored. The hook gets a copy of it where it is decoded.
func (k *call) resource() map[string]any {
	if k.phase == hook.Delete {
		return k.Stored.Object
	}
	return k.Object
}

// made are the children that the hook has declared.
func (k *call) made() children.Code { return children.Code{Declaration: k.declared, Cycle: k.Cycle} }

// objects are the children that the hook has made.
func (k *call) objects() []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(k.Living.All()), func(child *unstructured.Unstructured) bool {
		return k.Declared.Named(children.IDOf(child)) != k.declared
	})
}

// sweep writes what a hook says for a resource that goes, and deletes what it has said before and leaves out.
func (k *call) sweep(ctx context.Context, said []children.Coded) error {
	if err := k.made().Write(ctx, said); err != nil {
		return err //nolint:wrapcheck // it names the child
	}
	stays := map[string]bool{}
	for _, child := range said {
		stays[k.declared.ID+declare.KeyMark+child.ID] = true
	}
	for _, child := range k.objects() {
		if child.GetDeletionTimestamp() != nil || stays[children.IDOf(child)] {
			continue
		}
		if err := k.Discard(ctx, child); err != nil {
			return fmt.Errorf("%s: %w", children.IDOf(child), err)
		}
	}
	return nil
}

// compiled is a function that is compiled in.
type compiled struct{ *hook.Function }

// absent implements runner.
func (compiled) absent(*children.Cycle) string { return "" }

// blames implements runner.
func (compiled) blames(err error) error { return stage.NewPermanent(v1alpha1.ReasonHookFailed, err) }

// sweeps implements runner.
func (compiled) sweeps() bool { return false }

// run implements runner. A panic is an error of this resource alone.
func (f compiled) run(ctx context.Context, k *call, out *hook.Outcome) error {
	if !f.Pure {
		k.ReconcileAt(k.NextRead())
	}
	return stage.Contain(func() error { //nolint:wrapcheck // it is the error of the hook
		return f.Call(ctx, k.phase, k.resource(), hook.Cycle{
			Args: hook.NewArgs(k.args), Children: hook.NewChildren(k.made().Children(), k.Living.View),
			Cross: k.Outside.Cross, External: k.Outside.External, Log: log.FromContext(ctx).WithValues("hook", string(k.phase)), Now: k.Now,
		}, &reader{c: k.Cycle, kinds: k.declared.Kinds}, out)
	})
}
