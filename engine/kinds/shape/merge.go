package shape

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/orkspace/orkestra/engine/value"
)

// Merge puts a rendered overlay over a spec of the same shape by Kubernetes' strategic merge: objects are merged,
// null removes, lists are merged by the merge key of their type or else replaced. Unlike there, elements that only the
// overlay has come last: the main container stays the first one, and variables keep seeing those before them. It uses up
// base; the overlay is not changed. Error paths begin with at.
func Merge(s *Shape, base, overlay map[string]any, at string) (map[string]any, error) {
	w := walker{overlay: true}
	patch := w.object(s, overlay)
	if err := w.first(at); err != nil {
		return nil, err
	}
	orders := s.orders(base, nil)
	// An entry of the base without its key can't be merged. Walking over the base says which one it is.
	if slices.ContainsFunc(orders, order.incomplete) {
		before := walker{overlay: true}
		before.object(s, base)
		if err := before.first(at); err != nil {
			return nil, err
		}
	}
	merged, err := strategicpatch.StrategicMergeMapPatchUsingLookupPatchMeta(base, patch, strategicpatch.PatchMetaFromStruct{T: s.GoType})
	if err != nil {
		// The library's own words hold values, which may be secret, and come in no fixed order.
		return nil, &FieldError{Path: at, Want: "an overlay that can be merged", Got: value.TypeName(overlay)}
	}
	for _, o := range orders {
		o.restore()
	}
	// What the overlay emptied, and the nulls in what it added, must not stay.
	var after walker
	out := after.object(s, merged)
	return out, after.first(at)
}

// order is the order that a list had before the merge, which sorts the entries of the overlay to the front.
type order struct {
	object   map[string]any
	name, by string // by is the merge key
	keys     []any
}

// orders finds the merged lists in an object. The merge changes objects in place, so they are still there after it.
func (s *Shape) orders(object map[string]any, found []order) []order {
	for name, v := range object {
		m := s.Members[name]
		if m == nil {
			continue
		}
		switch v := v.(type) {
		case map[string]any:
			found = m.Shape.orders(v, found)
		case []any:
			if m.MergeKey == "" {
				continue
			}
			o := order{object: object, name: name, by: m.MergeKey}
			for _, elem := range v {
				o.keys = append(o.keys, Object(elem)[m.MergeKey])
				found = m.Shape.Elem.orders(Object(elem), found)
			}
			found = append(found, o)
		}
	}
	return found
}

// incomplete says whether an element has no merge key.
func (o order) incomplete() bool {
	return slices.Contains(o.keys, nil)
}

// restore sorts a merged list: first the entries that it had, in their order, then those that the overlay added.
func (o order) restore() {
	list, ok := o.object[o.name].([]any)
	if !ok {
		return
	}
	place := func(elem any) int {
		if i := slices.Index(o.keys, Object(elem)[o.by]); i >= 0 {
			return i
		}
		return len(o.keys)
	}
	slices.SortStableFunc(list, func(a, b any) int { return cmp.Compare(place(a), place(b)) })
}

// MergeJSON puts an overlay over an object of a kind whose type is not known: objects are merged, null removes, all else
// is replaced. It uses up both.
func MergeJSON(base, overlay map[string]any) map[string]any {
	if base == nil {
		base = map[string]any{}
	}
	for name, v := range overlay {
		over, isObject := v.(map[string]any)
		switch {
		case v == nil:
			delete(base, name)
		case isObject:
			base[name] = MergeJSON(Object(base[name]), over)
		default:
			base[name] = v
		}
	}
	return base
}

// mergeKeys checks that the elements of a list can be told apart by the list's merge key.
func (w *walker) mergeKeys(m *Member, v any) {
	list, ok := v.([]any)
	if !ok || m.MergeKey == "" {
		return
	}
	for i, elem := range list {
		object, ok := Plain(elem).(map[string]any)
		if !ok || object[m.MergeKey] != nil {
			continue
		}
		before := len(w.errs)
		want := fmt.Sprintf("a %s, by which the elements of this list are merged", m.MergeKey)
		w.fail(&FieldError{Path: m.MergeKey, Want: want, Got: GotNothing})
		w.underIndex(before, i)
	}
}
