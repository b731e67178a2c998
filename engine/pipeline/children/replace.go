package children

import (
	"errors"
	"fmt"
	"strings"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// awaitsReplaced notes that a child was deleted to be made again.
func (in Instance) awaitsReplaced(c *Cycle, kind, name string) {
	c.Wait(in.ID, v1alpha1.ReasonChildTerminating, fmt.Sprintf("%s %q is deleted, to be made again with what is declared now", kind, name))
	c.Incomplete = c.Incomplete || in.Phase == declare.OnCreate
}

// maxFixedFields is how many fields a message names that can't be changed.
const maxFixedFields = 3

// explainImmutable says in place of a refusal which fields of a child can't be changed in place, from what to what, and what to do.
func explainImmutable(w *pending, err error) error {
	fixed, ok := errors.AsType[*apply.ImmutableError](err)
	if !ok {
		return err
	}
	var clauses []string
	for i, f := range fixed.Fields {
		if i == maxFixedFields {
			clauses = append(clauses, fmt.Sprintf("and %d more", len(fixed.Fields)-i))
			break
		}
		clauses = append(clauses, f.Path+" can't be changed"+w.in.Disclosure().FromTo(f))
	}
	kind := w.child.Object.GetKind()
	return &apply.RefusedError{Reason: v1alpha1.ReasonInvalidChild, Message: fmt.Sprintf("applying %s %q: %s; %s",
		kind, w.child.Object.GetName(), strings.Join(clauses, ", "), w.advice(fixed, kind))}
}

// advice says what to do about fields that can't be changed.
func (w *pending) advice(fixed *apply.ImmutableError, kind string) string {
	why := declare.Irreplaceable(w.in.GVK)
	switch {
	case fixed.Kept != nil:
		kept := fixed.Kept
		if !w.in.Quoted {
			kept = stage.WithoutValues(kept, w.in.Called(w.child.Object))
		}
		return "it is not replaced: " + kept.Error()
	case w.in.GVK.GroupKind() == declare.ClaimKind:
		return claimAdvice(fixed)
	case why != "":
		return why + ": give it another name"
	default:
		return fmt.Sprintf("set replace: true to delete the %s and make it again, or give it another name", kind)
	}
}
