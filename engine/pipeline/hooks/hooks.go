// Package hooks runs code that takes part in the cycles of a box: Go functions that are compiled in, and webhooks. What the code declares is one declaration,
// whose objects it says; it is written as those of a group are.
package hooks

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/hook"
	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// Code is what a box has of code, compiled.
type Code struct {
	first    bool   // it runs before the groups
	runner   runner // nil: it can't be called here
	absent   error  // says why, where the code may have something to clean up; its class is that of the error
	args     *expr.Value
	declared *declare.Declaration
	check    func(*stage.Cycle) error // says what is wrong with what it has set of the status
}

// CheckBy has what the code sets of the status checked before anything that it says is written.
func (h *Code) CheckBy(check func(*stage.Cycle) error) {
	if h != nil {
		h.check = check
	}
}

// stageOf is the code as a stage, before or after the groups.
type stageOf struct{ code *Code }

// Stage gives the stage that runs the code; nil where it runs at another place, or where there is none.
func (h *Code) Stage(first bool) stage.Stage[*children.Cycle] {
	if h == nil || h.absent != nil || h.first != first {
		return nil
	}
	return stageOf{h}
}

// Name implements Stage.
func (stageOf) Name() string { return stage.StepHook }

// Run implements Stage.
func (s stageOf) Run(ctx context.Context, c *children.Cycle) (stage.Outcome, error) {
	h := s.code
	made := children.Code{Declaration: h.declared, Cycle: c}
	if why := h.unavailable(c); why != "" {
		made.Hold()
		c.Waits = append(c.Waits, notCalled(why))
		return stage.Next, nil
	}
	open, keeps, err := made.Open(ctx)
	if err != nil {
		return stage.Next, err
	}
	if !open {
		return stage.Next, noteConditions(ctx, c, !keeps)
	}
	args, known, err := h.argsOf(ctx, c)
	if err != nil {
		return stage.Hold, err
	}
	if !known {
		made.Hold()
		return stage.Next, nil
	}
	said := &said{c: c, code: h.runner}
	for _, phase := range h.phases(c) {
		err := said.add(h.call(ctx, c, phase, args))
		if withheld, ok := errors.AsType[*stage.WithheldError](err); ok {
			made.Hold()
			c.Wait(declare.HookID, v1alpha1.ReasonForbidden, "hook: "+withheld.Error())
			return stage.Next, nil
		}
		if err != nil {
			return stage.Hold, err
		}
	}
	said.show()
	if err := h.check(c.Cycle); err != nil {
		c.Shown = stage.Shown{}
		return stage.Hold, h.runner.blames(err)
	}
	partly := said.waits || !h.runner.Has(hook.Reconcile) // what was said before stays
	if partly {
		made.Hold()
	}
	if err := noteConditions(ctx, c, !partly && !said.stays); err != nil {
		return stage.Hold, err
	}
	c.Incomplete = c.Incomplete || said.waits
	return stage.Next, made.Write(ctx, said.children)
}

// notCalled is the wait of a resource of which it is not known what the code would make. Whether it would be Ready is not known either.
func notCalled(why string) stage.Wait {
	return stage.Wait{Reason: v1alpha1.ReasonWaitingForHook, Message: "hook: " + why, Of: declare.HookID, Unready: true}
}

// unavailable says why the code can't be called here; empty: it can.
func (h *Code) unavailable(c *children.Cycle) string {
	if h.runner == nil {
		return "it is compiled into the manager, and can't be called here, so that what it makes is not known"
	}
	return h.runner.absent(c)
}

// phases are those in which the code is called now. A resource that goes back to a former spec is neither new nor edited.
func (h *Code) phases(c *children.Cycle) []hook.Phase {
	switch {
	case c.Restoring:
		return []hook.Phase{hook.Reconcile}
	case !c.Marks.Active:
		return []hook.Phase{hook.Create, hook.Reconcile}
	case !h.updated(c):
		return []hook.Phase{hook.Update, hook.Reconcile}
	default:
		return []hook.Phase{hook.Reconcile}
	}
}

// MayClean says whether the code has something to do for a resource that goes, or that is not known.
func (h *Code) MayClean() bool { return h != nil && (h.runner == nil || h.runner.Has(hook.Delete)) }

// Notes says whether the code has functions whose success is noted on the resource.
func (h *Code) Notes() bool {
	return h != nil && h.absent == nil && (h.runner == nil || h.runner.Has(hook.Create) || h.runner.Has(hook.Update))
}

// updated says whether OnUpdate need not be called: it has succeeded at this generation of the resource, or there is none.
func (h *Code) updated(c *children.Cycle) bool {
	return !h.runner.Has(hook.Update) ||
		c.Stored.GetAnnotations()[v1alpha1.AnnotationHookGeneration] == edition(c)
}

// Succeeded has the next mark note that a cycle has come to its end at the generation of the resource, and says whether there is anything to
// note. Where the code waits, it has not succeeded yet.
func (h *Code) Succeeded(c *children.Cycle) (noted bool) {
	waits := func(w stage.Wait) bool { return w.Of == declare.HookID }
	if h == nil || h.runner == nil || h.updated(c) || slices.ContainsFunc(c.Waits, waits) {
		return false
	}
	c.Marks.Annotate(v1alpha1.AnnotationHookGeneration, edition(c))
	return true
}

// edition tells the specs of a resource apart.
func edition(c *children.Cycle) string {
	if c.Plan.CRD.OfOthers {
		return strconv.FormatInt(stage.Content(c.Began), 10)
	}
	return strconv.FormatInt(c.Began.GetGeneration(), 10)
}

// argsOf evaluates the arguments. They are not known where they read what is not there yet, which the resource then waits for.
func (h *Code) argsOf(ctx context.Context, c *children.Cycle) (args map[string]any, known bool, err error) {
	args, err = stage.Tree(ctx, "args", h.args, c.Data(true))
	if reason, why, lacks := children.Lacks(ctx, c, err); lacks {
		c.Wait(declare.HookID, reason, "hook: "+why)
		c.Incomplete = true
		return nil, false, nil
	}
	return args, true, err //nolint:wrapcheck // it says which argument
}

// call calls the code in one phase, if it has that.
func (h *Code) call(ctx context.Context, c *children.Cycle, phase hook.Phase, args map[string]any) (*hook.Outcome, error) {
	out := &hook.Outcome{}
	if !h.runner.Has(phase) {
		return out, nil
	}
	err := h.runner.run(ctx, &call{Cycle: c, phase: phase, declared: h.declared, args: args}, out)
	return out, err
}

// Cleans says whether the code has something to do for a resource that goes.
func (h *Code) Cleans() bool {
	return h != nil && (h.absent != nil || h.runner != nil && h.runner.Has(hook.Delete))
}

// Delete calls the code while the resource is being deleted, and says whether it is done.
func (h *Code) Delete(ctx context.Context, c *children.Cycle) (done bool, err error) {
	if !h.Cleans() {
		return true, nil
	}
	if h.absent != nil {
		return false, h.absent
	}
	args, known, err := h.argsOf(ctx, c)
	if err != nil || !known {
		return false, err
	}
	said := &said{c: c, code: h.runner}
	if err := said.add(h.call(ctx, c, hook.Delete, args)); err != nil {
		return false, err
	}
	if h.runner.sweeps() {
		said.show()
		return !said.waits, (&call{Cycle: c, phase: hook.Delete, declared: h.declared}).sweep(ctx, said.children)
	}
	if len(said.children) > 0 {
		return false, stage.NewPermanent(v1alpha1.ReasonInvalidChild, errors.New("OnDelete declares children, and the resource goes; use the client that the call gives"))
	}
	return !said.waits, nil
}
