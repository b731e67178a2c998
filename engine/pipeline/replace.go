package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// awaitsReplaced notes that a child was deleted to be made again.
func (r *Run) awaitsReplaced(in instance, kind, name string) {
	r.Wait(in.id, v1alpha1.ReasonChildTerminating, fmt.Sprintf("%s %q is deleted, to be made again with what is declared now", kind, name))
	r.notActive = r.notActive || in.Phase == declare.OnCreate
}

// maxFixedFields is how many fields a message names that can't be changed.
const maxFixedFields = 3

// unchangeable says which fields of a child can't be changed in place, from what to what, and what to do.
func unchangeable(w *pending, err error) error {
	fixed, ok := errors.AsType[*apply.ImmutableError](err)
	if !ok {
		return err
	}
	var said []string
	for i, f := range fixed.Fields {
		if i == maxFixedFields {
			said = append(said, fmt.Sprintf("and %d more", len(fixed.Fields)-i))
			break
		}
		said = append(said, f.Path+" can't be changed"+fromTo(w.of.Declaration, f))
	}
	kind := w.child.Object.GetKind()
	return &apply.RefusedError{Reason: v1alpha1.ReasonInvalidChild, Message: fmt.Sprintf("applying %s %q: %s; %s",
		kind, w.child.Object.GetName(), strings.Join(said, ", "), w.wayOut(fixed, kind))}
}

// wayOut says what to do about fields that can't be changed.
func (w *pending) wayOut(fixed *apply.ImmutableError, kind string) string {
	why := w.of.Irreplaceable()
	switch {
	case fixed.Kept != nil:
		kept := fixed.Kept
		if !w.of.Quoted {
			kept = stage.WithoutValues(kept, w.of.Called(w.child.Object))
		}
		return "it is not replaced: " + kept.Error()
	case w.of.GVK.GroupKind() == declare.ClaimKind:
		return claimWayOut(fixed)
	case why != "":
		return why + ": give it another name"
	default:
		return fmt.Sprintf("set replace: true to delete the %s and make it again, or give it another name", kind)
	}
}

// fromTo gives the values of a field that can't be changed, where people may read them.
func fromTo(d *declare.Declaration, f drift.Difference) string {
	from, to := valuesOf(d, f)
	text := ""
	if from != "" {
		text = " from " + from
	}
	if to != "" {
		text += " to " + to
	}
	return text
}

// valuesOf gives the live and the wanted value of a field, as JSON; "" where there is none, and where people may not read it. What stands
// on the child may be of a former declaration that did read a Secret: it is shown of fields alone that hold none in kinds that are known.
func valuesOf(d *declare.Declaration, f drift.Difference) (live, wanted string) {
	if !d.MayShowContent() || strings.HasPrefix(f.Path, "data") || strings.HasPrefix(f.Path, "binaryData") ||
		strings.Contains(f.Path, "emplate.") && !strings.HasSuffix(f.Path, "].image") {
		return "", ""
	}
	if !d.Kind.GVK.Empty() {
		live = scalarText(f.Live)
	}
	return live, scalarText(f.Wanted)
}

// scalarText writes a value as JSON; "" where it is none, or no scalar.
func scalarText(v any) string {
	switch v := v.(type) {
	case drift.InWords:
		return string(v)
	case nil, map[string]any, []any:
		return ""
	default:
		text, err := json.Marshal(v)
		if err != nil {
			return ""
		}
		return string(text)
	}
}
