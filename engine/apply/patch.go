package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply/taken"
	"github.com/orkspace/orkestra/engine/drift"
)

// Patch is what is set of an object that others own.
type Patch struct {
	// Manager is the field manager of the patch.
	Manager string
	// Object holds the fields, and names the object.
	Object *unstructured.Unstructured
	// Force takes fields that other managers hold with other values.
	Force bool
	// Taken is what the patch has taken before, as it was last given to Keep; nil: nothing.
	Taken *taken.Fields
	// Named says of the field manager of another patch whose it is, in words; empty: it is not known. nil: nobody knows.
	Named func(manager string) string
	// Keep notes what the patch takes, before it does: without it nothing is written. nil says that nothing is taken any more.
	Keep func(context.Context, *taken.Fields) error
}

// Patcher sets fields of objects that others own, and takes them back. It is safe for concurrent use.
type Patcher struct {
	client   *Client
	comparer *drift.Comparer
}

// Patcher gives what patches objects by the requests of the writer.
func (w *Writer) Patcher() Patcher { return Patcher{client: w.client, comparer: w.comparer} }

// Patch sets what a patch says of an object that lives. It sends nothing where its manager has set just that, and it stands. The UID makes sure
// that it never makes an object. A field that somebody else manages is a *RefusedError; a forced patch takes it, but not from Orkestra itself.
func (p Patcher) Patch(ctx context.Context, patch Patch, live *unstructured.Unstructured) (Outcome, error) {
	if patch.Stands(p.comparer, live) {
		return Outcome{Action: None, Object: live}, nil
	}
	if patch.Taken == nil || patch.Taken.UID != live.GetUID() {
		obj := patch.Object.DeepCopy()
		obj.SetUID(live.GetUID())
		answer, _, err := p.client.applyAs(ctx, patch.Manager, obj, false)
		if err == nil {
			return Outcome{Action: Changed, Object: answer}, nil
		}
		refused := patch.refused(err)
		if !patch.Force || refused == err { //nolint:errorlint // it is the same one where nobody holds a field
			return Outcome{}, patching(obj, refused)
		}
	}
	out, err := p.take(ctx, patch, live)
	return out, patching(patch.Object, err)
}

// patching says in an error which object was to be patched.
func patching(obj *unstructured.Unstructured, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("patching %s %q: %w", obj.GetKind(), obj.GetName(), err)
}

// Stands says whether an object has the fields of a patch, and its manager manages these and no others.
func (patch Patch) Stands(comparer *drift.Comparer, live *unstructured.Unstructured) bool {
	fields := taken.Applied(live, patch.Manager)
	if fields == nil {
		return false
	}
	known := comparer.Knows(patch.Object.GroupVersionKind())
	if known && len(comparer.Differences(comparer.Prepare(patch.Object), live)) > 0 {
		return false
	}
	// What the comparer knows of a kind it has compared by its meaning. Of other kinds the values are compared as they are written.
	return drift.InPlace(fields, taken.WithoutNames(patch.Object.Object), live.Object, known)
}

// refused gives the refusal of an apply that others stand in the way of: which fields, and whose they are. Other errors stay as they are.
func (patch Patch) refused(err error) error {
	if conflicts := taken.Conflicts(err); len(conflicts) > 0 {
		return patch.conflicting(conflicts)
	}
	return err // it may be that another object has the name by now
}

// conflicting is the refusal of a patch because of what others manage. Another patch is named by the resource that makes it, where that is known.
func (patch Patch) conflicting(with []taken.Conflict) *RefusedError {
	var fields []string
	unknown := ""
	for _, c := range with {
		by := fmt.Sprintf("%q", c.Manager)
		switch {
		case c.Manager == "":
			by = "somebody else"
		case !v1alpha1.IsPatchManager(c.Manager):
		case patch.Named != nil && patch.Named(c.Manager) != "":
			by = patch.Named(c.Manager)
		default:
			by, unknown = by+", another patch,", "; no resource that this process serves makes the other patch: docs/how-to/patches.md#whose-a-patch-is says how to find it"
		}
		fields = append(fields, fmt.Sprintf("%s manages %s", by, c.Field))
	}
	slices.Sort(fields)
	return &RefusedError{Reason: v1alpha1.ReasonConflict, Message: strings.Join(slices.Compact(fields), ", ") +
		"; take the field out of the patch, or have the other manager let go of it" + unknown}
}
