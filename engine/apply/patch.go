package apply

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

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
	if p.stands(patch, live) {
		return Outcome{Action: None, Object: live}, nil
	}
	if patch.Taken == nil || patch.Taken.UID != live.GetUID() {
		obj := patch.Object.DeepCopy()
		obj.SetUID(live.GetUID())
		answer, _, err := p.client.applyAs(ctx, patch.Manager, obj, false)
		if err == nil {
			return Outcome{Action: Changed, Object: answer}, nil
		}
		refused := managedByOthers(err)
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

// stands says whether an object has the fields of a patch, and its manager manages these and no others.
func (p Patcher) stands(patch Patch, live *unstructured.Unstructured) bool {
	fields := managedBy(live, patch.Manager)
	if fields == nil {
		return false
	}
	known := p.comparer.Knows(patch.Object.GroupVersionKind())
	if known && len(p.comparer.Differences(p.comparer.Prepare(patch.Object), live)) > 0 {
		return false
	}
	// What the comparer knows of a kind it has compared by its meaning. Of other kinds the values are compared as they are written.
	return drift.InPlace(fields, withoutNames(patch.Object.Object), live.Object, known)
}

// withoutNames is the object of a patch without what names it, which nobody manages.
func withoutNames(object map[string]any) map[string]any {
	out := maps.Clone(object)
	for _, name := range []string{"apiVersion", keyKind, keyMetadata} {
		delete(out, name)
	}
	metadata, _ := object[keyMetadata].(map[string]any)
	texts := maps.Clone(metadata)
	maps.DeleteFunc(texts, func(name string, _ any) bool { return name != keyLabels && name != keyAnnotations })
	if len(texts) > 0 {
		out[keyMetadata] = texts
	}
	return out
}

// managedBy gives the fields that a manager has applied to an object, as managed fields write them; nil: none.
func managedBy(live *unstructured.Unstructured, manager string) map[string]any {
	metadata, _ := live.Object[keyMetadata].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		if entry["manager"] == manager && entry["operation"] == string(metav1.ManagedFieldsOperationApply) {
			fields, _ := entry["fieldsV1"].(map[string]any)
			return fields
		}
	}
	return nil
}

// Withdrawn says what taking back a patch came to.
type Withdrawn struct {
	// Left are the fields that stay as the patch has set them, sorted.
	Left []string
	// Why they stay.
	Why string
}

// Withdraw takes back what a field manager has set of an object: what nobody else manages goes, and what it has taken is given back to who had it. It
// asks first what the object would be: where the API server would refuse that, or put a default into a field, all stays as it is. One that is gone,
// and one of which the manager manages nothing, is no error.
func (p Patcher) Withdraw(ctx context.Context, manager string, of *unstructured.Unstructured, former *taken.Fields) (Withdrawn, error) {
	live, err := p.client.get(ctx, targetOf(of))
	switch {
	case IsGone(err, of), meta.IsNoMatchError(err), isUnserved(err):
		return Withdrawn{}, nil
	case err != nil:
		return Withdrawn{}, fmt.Errorf("reading %s %q: %w", of.GetKind(), of.GetName(), err)
	case managedBy(live, manager) == nil:
		return Withdrawn{}, nil
	}
	held := former.Held(live, manager)
	back, err := givingBack(nothing(live), live, held)
	if err != nil {
		return Withdrawn{}, p.withdrawing(ctx, live, err)
	}
	own, alone := ownedAlone(live, manager)
	dry := *p.client
	dry.dryRun = []string{metav1.DryRunAll}
	without, _, err := dry.applyAs(ctx, manager, back, len(held) > 0)
	switch {
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err) && !unasked(err):
		return Withdrawn{Left: own, Why: "without them the API server refuses the object: " + err.Error()}, nil
	case err != nil && !unasked(err):
		return Withdrawn{}, p.withdrawing(ctx, live, err)
	case err == nil:
		if filled := leftUnmanaged(without, manager, taken.Without(alone, held)); len(filled) > 0 {
			return Withdrawn{Left: filled, Why: "without them the API server would put in values of its own"}, nil
		}
	}
	answer, _, err := p.client.applyAs(ctx, manager, back, len(held) > 0)
	if err == nil {
		err = p.giveBack(ctx, manager, answer, held, false)
	}
	if err != nil {
		return Withdrawn{}, p.withdrawing(ctx, live, err)
	}
	return Withdrawn{}, nil
}

// withdrawing gives the error of a withdrawal; nil where the object is gone by now.
func (p Patcher) withdrawing(ctx context.Context, live *unstructured.Unstructured, err error) error {
	if apierrors.IsConflict(err) && NewMarker(p.client).isGone(ctx, live) {
		return nil
	}
	return fmt.Errorf("taking back the patch of %s %q: %w", live.GetKind(), live.GetName(), err)
}

// ownedAlone gives the paths of the fields that a manager manages, and those that no other does.
func ownedAlone(live *unstructured.Unstructured, manager string) (own []string, alone []fieldpath.Path) {
	ours, others := fieldsOf(live, manager)
	ours.Leaves().Iterate(func(path fieldpath.Path) {
		own = append(own, drift.ManagedPath(path))
		if !others.Has(path) {
			alone = append(alone, path.Copy())
		}
	})
	slices.Sort(own)
	return own, alone
}

// fieldsOf gives the fields that a manager has applied to an object, and those that others manage.
func fieldsOf(live *unstructured.Unstructured, manager string) (ours, others *fieldpath.Set) {
	ours, others = fieldpath.NewSet(), fieldpath.NewSet()
	for _, e := range live.GetManagedFields() {
		var set fieldpath.Set
		if e.FieldsV1 == nil || set.FromJSON(bytes.NewReader(e.FieldsV1.GetRawBytes())) != nil {
			continue
		}
		if e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationApply {
			ours = ours.Union(&set)
		} else {
			others = others.Union(&set)
		}
	}
	return ours, others
}

// leftUnmanaged gives the paths that lead to something in an object that nobody but a manager manages, sorted: the API server has put it there.
// What another one manages has been set between the reading of the object and the answer.
func leftUnmanaged(answer *unstructured.Unstructured, manager string, paths []fieldpath.Path) []string {
	var out []string
	_, others := fieldsOf(answer, manager)
	for _, path := range paths {
		if v, found := drift.ValueAt(answer.Object, path); found && v != nil && !others.Has(path) {
			out = append(out, drift.ManagedPath(path))
		}
	}
	slices.Sort(out)
	return out
}

// byManager finds the other manager in the words of a conflict.
var byManager = regexp.MustCompile(`^conflict with ("(?:[^"\\]|\\.)*")`)

// managedByOthers gives the refusal of an apply that others stand in the way of: which fields, and whose they are. Other errors stay as they are.
func managedByOthers(err error) error {
	var answer apierrors.APIStatus
	if !apierrors.IsConflict(err) || !errors.As(err, &answer) || answer.Status().Details == nil {
		return err
	}
	var fields []string
	for _, cause := range answer.Status().Details.Causes {
		if cause.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		by := "somebody else"
		if m := byManager.FindStringSubmatch(cause.Message); m != nil {
			by = called(strings.Trim(m[1], `"`))
		}
		fields = append(fields, fmt.Sprintf("%s manages %s", by, strings.TrimPrefix(cause.Field, ".")))
	}
	if len(fields) == 0 {
		return err // another object has the name by now
	}
	return conflicting(fields)
}

// called names a field manager.
func called(manager string) string {
	if v1alpha1.IsPatchManager(manager) {
		return fmt.Sprintf("%q, another patch,", manager)
	}
	return fmt.Sprintf("%q", manager)
}

// conflicting is the refusal of a patch because of what others manage.
func conflicting(fields []string) *RefusedError {
	slices.SortFunc(fields, cmp.Compare)
	return &RefusedError{Reason: v1alpha1.ReasonConflict, Message: fmt.Sprintf(
		"%s; take the field out of the patch, or have the other manager let go of it", strings.Join(slices.Compact(fields), ", "))}
}
