package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// irreplaceable are kinds that are never deleted to be made again, with the reason.
var irreplaceable = map[schema.GroupKind]string{
	claimKind:           claimHoldsData,
	{Kind: "Namespace"}: "all that is in a Namespace would go with it, so that it is never replaced",
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: "all resources of a CustomResourceDefinition would go with it, so that it is never replaced",
}

// replacing reads whether a child may be deleted and made again.
func (c *compiler) replacing(d *declaration, in *v1alpha1.Declaration, at *field.Path) {
	why := irreplaceable[d.gvk.GroupKind()]
	switch at = at.Child("replace"); {
	case !in.Replace:
	case d.once:
		c.Fail(field.Forbidden(at, fmt.Sprintf(
			"this %s is made once and does not follow its declaration; move it to onReconcile, or set reconcile: true, or remove replace", d.gvk.Kind)))
	case why != "":
		c.Fail(field.Forbidden(at, why+"; remove replace"))
	default:
		d.replace = true
	}
}

// awaitsReplaced notes that a child was deleted to be made again.
func (r *Run) awaitsReplaced(in instance, kind, name string) {
	r.Wait(in.id, v1alpha1.ReasonChildTerminating, fmt.Sprintf("%s %q is deleted, to be made again with what is declared now", kind, name))
	r.notActive = r.notActive || in.phase == stage.StepOnCreate
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
		said = append(said, f.Path+" can't be changed"+w.of.fromTo(f))
	}
	kind := w.child.Object.GetKind()
	return &apply.RefusedError{Reason: v1alpha1.ReasonInvalidChild, Message: fmt.Sprintf("applying %s %q: %s; %s",
		kind, w.child.Object.GetName(), strings.Join(said, ", "), w.wayOut(fixed, kind))}
}

// wayOut says what to do about fields that can't be changed.
func (w *pending) wayOut(fixed *apply.ImmutableError, kind string) string {
	why := irreplaceable[w.of.gvk.GroupKind()]
	switch {
	case fixed.Kept != nil:
		kept := fixed.Kept
		if !w.of.quoted {
			kept = stage.WithoutValues(kept, w.of.called(w.child.Object))
		}
		return "it is not replaced: " + kept.Error()
	case w.of.gvk.GroupKind() == claimKind:
		return claimWayOut(fixed)
	case why != "":
		return why + ": give it another name"
	default:
		return fmt.Sprintf("set replace: true to delete the %s and make it again, or give it another name", kind)
	}
}

// fromTo gives the values of a field that can't be changed, where people may read them. What stands on the child may be of a former
// declaration that did read a Secret: it is shown of fields alone that hold none in kinds that are known.
func (d *declaration) fromTo(f drift.Difference) string {
	if !d.mayShow(d.contentPaths()) || strings.HasPrefix(f.Path, "data") || strings.HasPrefix(f.Path, "binaryData") ||
		strings.Contains(f.Path, "emplate.") && !strings.HasSuffix(f.Path, "].image") {
		return ""
	}
	text := ""
	if from := scalarText(f.Live); from != "" && !d.kind.GVK.Empty() {
		text = " from " + from
	}
	if to := scalarText(f.Wanted); to != "" {
		text += " to " + to
	}
	return text
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
