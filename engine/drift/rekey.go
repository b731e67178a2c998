package drift

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Rekeyed undoes changes to the key of a list's entry, such as the number of a Service's port, which server-side apply can't undo. It gives
// the top-level fields of the live object (never metadata) that hold such lists, with the declared keys put back; none where no entry has
// lost its key. The live object is not changed.
func (c *Comparer) Rekeyed(declared, live *unstructured.Unstructured) map[string]any {
	out := map[string]any{}
	root := c.schemas.root(declared.GroupVersionKind())
	for name, value := range declared.Object {
		if name == keyMetadata || name == "apiVersion" || name == keyKind {
			continue
		}
		if restored, changed := root.field(name).rekey(value, live.Object[name]); changed {
			out[name] = restored
		}
	}
	return out
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

// rekeyList pairs declared entries with live ones: by key where it is there, else by name, else because only one is left on each side.
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
	var unclaimed []int
	for i := range live {
		if !known[i] {
			unclaimed = append(unclaimed, i)
		}
	}
	for _, entry := range missing {
		if i := counterpart(entry, live, unclaimed, len(missing)); i >= 0 {
			restored[i], changed = p.overlaid(live[i], entry), true
			unclaimed = slices.DeleteFunc(unclaimed, func(f int) bool { return f == i })
		}
	}
	return restored, changed
}

// counterpart is the index of the live entry whose key was changed away from the declared one; -1 where it can't be told which that is.
func counterpart(declared any, live []any, unclaimed []int, missing int) int {
	d, _ := declared.(map[string]any)
	if name, ok := d["name"].(string); ok && name != "" {
		for _, i := range unclaimed {
			if l, ok := live[i].(map[string]any); ok && l["name"] == name {
				return i
			}
		}
		return -1
	}
	if missing == 1 && len(unclaimed) == 1 {
		return unclaimed[0]
	}
	return -1
}

// overlaid gives a copy of a live entry with the declared fields, and the defaults of keys, set on it. Fields that only the API server
// sets, such as a node port, keep their values.
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
