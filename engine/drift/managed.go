package drift

import (
	"encoding/json"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/orkspace/orkestra/engine/value"
)

// How managed fields name what is below a field: "f:<name>" is a field, "k:<keys>" an entry of a list by its keys, "v:<value>" an entry of a set.
// A field with nothing below it is managed as a whole, and "." is the field itself.
const (
	ofField = "f:"
	ofKeys  = "k:"
	ofValue = "v:"
	itself  = "."
)

// InPlace says whether the managed fields of an object are just what is wanted of it, and the live object has them. compared says that the values
// have been compared already.
func InPlace(fields map[string]any, wanted, live any, compared bool) bool {
	met := 0
	for name, below := range fields {
		if name == itself {
			continue
		}
		w, found := managedEntry(wanted, name)
		l, lives := managedEntry(live, name)
		if !found || !lives {
			return false
		}
		met++
		inner, _ := below.(map[string]any)
		if whole := len(inner) == 0; whole && !compared && !value.Same(w, l) || !whole && !InPlace(inner, w, l, compared) {
			return false
		}
	}
	return met >= sizeOf(wanted)
}

// sizeOf is how many entries an object or a list has that say something.
func sizeOf(v any) int {
	switch v := v.(type) {
	case map[string]any:
		size := 0
		for _, below := range v {
			if !saysNothing(below) {
				size++
			}
		}
		return size
	case []any:
		return len(v)
	default:
		return 0
	}
}

func saysNothing(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	default:
		return false
	}
}

// managedEntry finds what managed fields name, in an object or a list.
func managedEntry(in any, name string) (any, bool) {
	switch {
	case strings.HasPrefix(name, ofField):
		fields, _ := in.(map[string]any)
		v, found := fields[strings.TrimPrefix(name, ofField)]
		return v, found
	case strings.HasPrefix(name, ofKeys):
		var keys map[string]any
		if json.Unmarshal([]byte(strings.TrimPrefix(name, ofKeys)), &keys) != nil {
			return nil, false
		}
		return entryWith(in, keys)
	case strings.HasPrefix(name, ofValue):
		var wanted any
		if json.Unmarshal([]byte(strings.TrimPrefix(name, ofValue)), &wanted) != nil {
			return nil, false
		}
		return entrySame(in, wanted)
	default:
		return nil, false
	}
}

// keyDefaults are the keys of entries that the API server fills in: an entry may leave them out.
var keyDefaults = map[string]any{"protocol": "TCP"}

func entryWith(in any, keys map[string]any) (any, bool) {
	list, _ := in.([]any)
	i := indexWith(list, keys)
	if i < 0 {
		return nil, false
	}
	return list[i], true
}

func indexWith(list []any, keys map[string]any) int {
	return slices.IndexFunc(list, func(entry any) bool {
		fields, isObject := entry.(map[string]any)
		for name, key := range keys {
			v, found := fields[name]
			if !found {
				v = keyDefaults[name]
			}
			if !value.Same(v, key) {
				return false
			}
		}
		return isObject
	})
}

func entrySame(in, wanted any) (any, bool) {
	list, _ := in.([]any)
	i := slices.IndexFunc(list, func(entry any) bool { return value.Same(entry, wanted) })
	if i < 0 {
		return nil, false
	}
	return list[i], true
}

// EntryAt finds the entry of a list that a step of a path of managed fields names.
func EntryAt(list []any, step fieldpath.PathElement) (at int, found bool) {
	switch {
	case step.Key != nil:
		at = indexWith(list, keysOf(step))
	case step.Value != nil:
		at = slices.IndexFunc(list, func(entry any) bool { return value.Same(entry, (*step.Value).Unstructured()) })
	default:
		at = -1 // a place in a list is not managed on its own
	}
	return at, at >= 0
}

func keysOf(step fieldpath.PathElement) map[string]any {
	keys := make(map[string]any, len(*step.Key))
	for _, key := range *step.Key {
		keys[key.Name] = key.Value.Unstructured()
	}
	return keys
}

// ValueAt gives what a path of managed fields leads to.
func ValueAt(in any, path fieldpath.Path) (any, bool) {
	for _, step := range path {
		var found bool
		switch {
		case step.FieldName != nil:
			in, found = managedEntry(in, ofField+*step.FieldName)
		default:
			list, _ := in.([]any)
			var at int
			if at, found = EntryAt(list, step); found {
				in = list[at]
			}
		}
		if !found {
			return nil, false
		}
	}
	return in, true
}
