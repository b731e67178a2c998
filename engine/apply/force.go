package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply/taken"
	"github.com/orkspace/orkestra/engine/drift"
)

// take makes a patch that takes fields, or has taken some. What it takes is asked of the API server in a dry run, and is noted before it is taken. Both
// writes are of the very version that was read, so nothing is taken that was not noted. What it has taken and does not set any more is given back.
func (p Patcher) take(ctx context.Context, patch Patch, cached *unstructured.Unstructured) (Outcome, error) {
	if patch.Object.GroupVersionKind().GroupKind() == corev1.SchemeGroupVersion.WithKind("Secret").GroupKind() {
		return Outcome{}, &RefusedError{Reason: v1alpha1.ReasonInvalidChild, Message: "what a Secret holds would be kept in an annotation: a patch can't take fields of Secrets from others"}
	}
	live, err := p.client.get(ctx, targetOf(patch.Object))
	switch {
	case err != nil:
		return Outcome{}, err
	case live.GetUID() != cached.GetUID():
		return Outcome{}, errors.New("it was deleted, and made again, while it was to be patched")
	}
	kept, returned := taken.Named(patch.Taken.Held(live, patch.Manager), patch.Object)
	obj, err := givingBack(patch.Object.DeepCopy(), live, returned)
	if err != nil {
		return Outcome{}, err
	}
	obj.SetResourceVersion(live.GetResourceVersion())
	dry := *p.client
	dry.dryRun = []string{metav1.DryRunAll}
	after, _, err := dry.applyAs(ctx, patch.Manager, obj, patch.Force)
	if err != nil {
		return Outcome{}, patch.refused(err)
	}
	lost, err := taken.By(patch.Manager, live, after)
	if err != nil {
		return Outcome{}, refusedTaking(err)
	}
	if err := patch.mayTake(lost); err != nil {
		return Outcome{}, err
	}
	noted, err := patch.keep(ctx, live, patch.Taken, taken.Together(slices.Concat(kept, returned), lost))
	if err != nil {
		return Outcome{}, err
	}
	answer, _, err := p.client.applyAs(ctx, patch.Manager, obj, patch.Force)
	if err != nil {
		return Outcome{}, patch.refused(err)
	}
	if len(returned) > 0 {
		if err := p.giveBack(ctx, patch.Manager, answer, returned, true); err != nil {
			return Outcome{}, err
		}
	}
	if _, err = patch.keep(ctx, live, noted, taken.Together(kept, lost)); err != nil {
		return Outcome{}, err
	}
	return Outcome{Action: Changed, Object: answer, Drift: takenFrom(lost)}, nil
}

// keep notes what a patch holds of others, where that is something else than what is noted.
func (patch Patch) keep(ctx context.Context, live *unstructured.Unstructured, noted *taken.Fields, fields []taken.Field) (*taken.Fields, error) {
	var now *taken.Fields
	if len(fields) > 0 {
		now = &taken.Fields{UID: live.GetUID(), Fields: fields}
	}
	if reflect.DeepEqual(noted, now) {
		return now, nil
	}
	return now, patch.Keep(ctx, now)
}

// givingBack puts former values into what is applied, to the version that was read.
func givingBack(obj, live *unstructured.Unstructured, fields []taken.Field) (*unstructured.Unstructured, error) {
	if err := taken.Put(obj, fields); err != nil {
		return nil, err
	}
	obj.SetUID(live.GetUID())
	if len(fields) > 0 {
		obj.SetResourceVersion(live.GetResourceVersion())
	}
	return obj, nil
}

// giveBack gives fields, which have their former values again, to their former managers. rest says whether the manager goes on managing its other
// fields; else nobody does. No value changes, so nobody takes them by this.
func (p Patcher) giveBack(ctx context.Context, manager string, live *unstructured.Unstructured, fields []taken.Field, rest bool) error {
	entries, err := taken.Return(live, manager, fields, rest)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		entries = []metav1.ManagedFieldsEntry{{}} // an empty list says nothing to the API server
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": entries},
		{"op": "test", "path": "/metadata/uid", "value": live.GetUID()},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": live.GetResourceVersion()},
	})
	if err != nil {
		return fmt.Errorf("encoding managed fields: %w", err)
	}
	_, err = p.client.jsonPatch(ctx, targetOf(live), manager, patch)
	return err
}

// mayTake refuses what Orkestra itself holds: two patches would take a field from each other without end, and one that was given back in the name of
// Orkestra would make an object look like a child.
func (patch Patch) mayTake(fields []taken.Field) error {
	var ours []taken.Conflict
	for _, f := range fields {
		if v1alpha1.IsPatchManager(f.Manager) || v1alpha1.IsFieldManager(f.Manager) {
			ours = append(ours, taken.Conflict{Manager: f.Manager, Field: f.Place()})
		}
	}
	if len(ours) == 0 {
		return nil
	}
	return patch.conflicting(ours)
}

// refusedTaking gives the refusal of a patch that would take what could not be given back.
func refusedTaking(err error) error {
	if lost, ok := errors.AsType[*taken.LostError](err); ok {
		return &RefusedError{Reason: v1alpha1.ReasonConflict, Message: lost.Error()}
	}
	return err
}

// takenFrom says what was taken, and from whom.
func takenFrom(fields []taken.Field) []Correction {
	var out []Correction
	for _, f := range fields {
		out = append(out, Correction{Difference: drift.Difference{Path: f.Place()}, SetBy: f.Manager})
	}
	return out
}
