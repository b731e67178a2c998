package hooks

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/hook"
	"github.com/orkspace/orkestra/engine/pipeline/children"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/outside"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/value"
)

// said is what the code said in all phases of a cycle.
type said struct {
	c        *children.Cycle
	code     runner
	children []children.Coded
	shown    stage.Shown
	waits    bool
	stays    bool // it says nothing of the status
}

// add takes over what the code said in one phase that ended with an error, or without one. Where it failed, only its events count: they tell
// what has happened.
func (s *said) add(out *hook.Outcome, err error) error {
	hidden := maskOf(out)
	for _, e := range out.Events {
		s.c.Events = append(s.c.Events, stage.Event{Warning: e.Warning, Reason: reasonOf(e.Reason, hidden, v1alpha1.ReasonHookEvent), Message: hidden.Text(e.Message)})
	}
	s.stays = s.stays || out.StatusStays
	waits := out.Waits
	unanswered, isUnanswered := errors.AsType[*unansweredError](err)
	switch {
	case isUnanswered:
		s.waits = true
		s.c.Waits = append(s.c.Waits, notCalled(unanswered.Error()))
	case errors.Is(err, hook.ErrWait):
		waits = append(waits, hook.Wait{Message: waitMessage(err)})
	case errors.Is(err, reconcile.TerminalError(nil)):
		return stage.NewPermanent(v1alpha1.ReasonHookFailed, hidden.Err(err))
	case err != nil:
		return hidden.Err(err)
	}
	for _, w := range waits {
		s.waits = true
		s.c.Wait(declare.HookID, reasonOf(w.Reason, hidden, v1alpha1.ReasonWaitingForHook), "hook: "+hidden.Text(w.Message))
	}
	if out.RequeueAfter > 0 {
		s.c.ReconcileAt(s.c.Now.Add(out.RequeueAfter))
	}
	for _, child := range out.Children {
		if hidden.In(child.ID) || hidden.In(child.Object.Object["metadata"]) {
			return stage.NewPermanent(v1alpha1.ReasonInvalidChild, errors.New(strings.TrimPrefix(child.At+": the metadata of a child holds what a Secret holds, and people read it", ": "))) // its id may be a Secret
		}
		s.declare(child, len(out.Secrets) > 0 || hidden.In(child.Object.Object))
	}
	return s.note(out, hidden)
}

// maskOf finds what may not be shown of what the code said.
func maskOf(out *hook.Outcome) outside.Masked {
	return outside.Mask(slices.Concat(out.Secrets, out.Credentials)...)
}

// reasonOf is the reason that the code gives. One that holds a secret counts as none: a mask is no word.
func reasonOf(given string, hidden outside.Masked, otherwise string) string {
	if hidden.In(given) {
		return otherwise
	}
	return cmp.Or(given, otherwise)
}

// waitMessage is what code waits for, in its own words.
func waitMessage(err error) string {
	text := strings.TrimSuffix(err.Error(), ": "+hook.ErrWait.Error())
	if text == hook.ErrWait.Error() {
		return "it waits"
	}
	return text
}

// declare takes over a child. What a later phase says of one counts.
func (s *said) declare(child hook.Child, secret bool) {
	s.children = slices.DeleteFunc(s.children, func(other children.Coded) bool { return other.ID == child.ID })
	s.children = append(s.children, children.Coded{
		ID: child.ID, Object: child.Object, Once: child.Once, Adopt: child.Adopt, Orphan: child.Orphan, Replace: child.Replace, Secret: secret,
		At: placeOf(child),
	})
}

// placeOf says where an answer says a child; empty: Go code says it.
func placeOf(child hook.Child) string {
	if child.At == "" {
		return ""
	}
	return fmt.Sprintf("%s, %s (%s)", theAnswer, child.At, child.ID)
}

// note takes over the fields and conditions that the code set. The status of an object of others is its operator's.
func (s *said) note(out *hook.Outcome, hidden outside.Masked) error {
	if s.c.Plan.CRD.OfOthers && len(out.Status)+len(out.Conditions) > 0 {
		what := "a condition"
		if len(out.Status) > 0 {
			what = "status." + out.Status[0].Path
		}
		return stage.NewPermanent(v1alpha1.ReasonHookFailed, fmt.Errorf("it sets %s, and the status of a %s is not the box's: declare single fields in spec.status.fields, of what the hook makes", what, s.c.Stored.GetKind()))
	}
	for _, f := range out.Status {
		if hidden.In(f.Path) || hidden.In(f.Value) {
			return s.code.blames(fmt.Errorf("status.%s: it holds what a Secret holds, and people read a status", hidden.Text(f.Path)))
		}
		s.shown.Fields = append(s.shown.Fields, stage.ShownField{Path: f.Path, Value: f.Value})
	}
	for _, condition := range out.Conditions {
		if hidden.In(condition.Type) || hidden.In(condition.Reason) {
			return s.code.blames(fmt.Errorf("conditions: the type or the reason of %s holds what a Secret holds, and people read a status", hidden.Text(condition.Type)))
		}
		condition.Message = hidden.Text(condition.Message)
		s.shown.Conditions = append(s.shown.Conditions, condition)
	}
	return nil
}

// show shows the fields and conditions: on the resource when the cycle is over, and the fields in .status to what comes after the code. What does
// not fit the schema is said when the status is put together.
func (s *said) show() {
	s.c.Shown = s.shown
	if len(s.shown.Fields) == 0 {
		return
	}
	for _, f := range s.shown.Fields {
		fields, err := value.ParsePath(compile.RootStatus + "." + f.Path)
		switch {
		case err != nil: // said later
		case f.Value == nil:
			unstructured.RemoveNestedField(s.c.Object, fields...)
		default:
			_ = unstructured.SetNestedField(s.c.Object, f.Value, fields...) // a path through what is no object
		}
	}
	s.c.Edited()
}
