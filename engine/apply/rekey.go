package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// Somebody may change the key of a list's entry, such as the number of a Service's port. To server-side apply that is an
// entry of theirs; ours is made anew beside it, and where the two can't stand beside each other, the API server refuses
// both. An apply can't take away what others own, so the entry gets its key back by a patch, whose manager is at once
// united with ours: otherwise it would hold the entry after the declaration drops it.

// rekeyAndApply gives entries their keys back and applies once more. refusal is what the API server said of the first try,
// and is given back where no entry has lost its key.
func (w *Writer) rekeyAndApply(ctx context.Context, obj, live *unstructured.Unstructured, refusal error) (*unstructured.Unstructured, error) {
	if !apierrors.IsInvalid(refusal) {
		return nil, refusal
	}
	patch := map[string]any{keyMetadata: map[string]any{"uid": string(live.GetUID()), keyVersion: live.GetResourceVersion()}}
	root := w.comparer.schemas.root(obj.GroupVersionKind())
	for _, name := range slices.Sorted(maps.Keys(obj.Object)) {
		if name == keyMetadata || name == "apiVersion" || name == keyKind {
			continue
		}
		if restored, changed := root.field(name).rekey(obj.Object[name], live.Object[name]); changed {
			patch[name] = restored
		}
	}
	if len(patch) == 1 {
		return nil, refusal
	}
	body, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encoding a patch: %w", err)
	}
	restored, err := w.client.mergePatch(ctx, targetOf(live), v1alpha1.FieldManagerRepair, body)
	if err != nil || w.client.isDry() {
		return restored, err // what is not stored can't be applied to
	}
	if err := w.unite(ctx, restored); err != nil {
		return nil, err
	}
	answer, _, err := w.client.apply(ctx, obj, true)
	return answer, err
}

// unite makes the fields of the repairing manager our own.
func (w *Writer) unite(ctx context.Context, live *unstructured.Unstructured) error {
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(live, sets.New(v1alpha1.FieldManagerRepair), v1alpha1.FieldManager)
	if err != nil || patch == nil {
		return err
	}
	_, err = w.client.jsonPatch(ctx, targetOf(live), v1alpha1.FieldManager, patch)
	return err
}

// rekey gives a copy of a live value in which entries of keyed lists have their declared keys back; changed is false where
// none has lost it.
func (p *place) rekey(declared, live any) (restored any, changed bool) {
	switch d := declared.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		if !ok {
			return live, false
		}
		out := maps.Clone(l)
		for _, name := range slices.Sorted(maps.Keys(d)) {
			if value, ok := p.field(name).rekey(d[name], l[name]); ok {
				out[name], changed = value, true
			}
		}
		return out, changed
	case []any:
		l, ok := live.([]any)
		if !ok || p.list != listByKeys {
			return live, false
		}
		return p.rekeyList(d, l)
	default:
		return live, false
	}
}

// rekeyList finds each declared entry by its key, and those whose key is not there by their name, or as the only one left.
func (p *place) rekeyList(declared, live []any) (restored []any, changed bool) {
	list := &expectation{place: p, form: formByKeys}
	at := map[string]int{}
	for i, entry := range live {
		if list.hasScalarKeys(entry) {
			at[list.identify(entry)] = i
		}
	}
	restored = slices.Clone(live)
	known := map[int]bool{}
	var missing []any
	for _, entry := range declared {
		i, found := at[list.identify(entry)]
		if !found {
			missing = append(missing, entry)
			continue
		}
		known[i] = true
		if value, ok := p.element().rekey(entry, live[i]); ok {
			restored[i], changed = value, true
		}
	}
	var foreign []int
	for i := range live {
		if !known[i] {
			foreign = append(foreign, i)
		}
	}
	for _, entry := range missing {
		if i := counterpart(entry, live, foreign, len(missing)); i >= 0 {
			restored[i], changed = p.overlaid(live[i], entry), true
			foreign = slices.DeleteFunc(foreign, func(f int) bool { return f == i })
		}
	}
	return restored, changed
}

// counterpart is the place of the entry that has lost the key of a declared one; -1 where that can't be told.
func counterpart(declared any, live []any, foreign []int, missing int) int {
	d, _ := declared.(map[string]any)
	if name, ok := d["name"].(string); ok && name != "" {
		for _, i := range foreign {
			if l, ok := live[i].(map[string]any); ok && l["name"] == name {
				return i
			}
		}
		return -1
	}
	if missing == 1 && len(foreign) == 1 {
		return foreign[0]
	}
	return -1
}

// overlaid lays the declared fields, and the defaults of keys, on a copy of a live entry: what only the API server knows of it,
// such as a node port, stays.
func (p *place) overlaid(live, declared any) any {
	l, okL := live.(map[string]any)
	d, okD := declared.(map[string]any)
	if !okL || !okD {
		return declared
	}
	out := maps.Clone(l)
	for _, key := range p.keys {
		if key.defaultValue != nil {
			out[key.name] = key.defaultValue
		}
	}
	maps.Copy(out, runtime.DeepCopyJSON(d))
	return out
}
