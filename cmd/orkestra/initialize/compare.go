package initialize

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/orkspace/orkestra/cmd/orkestra/importer/draft"
	"github.com/orkspace/orkestra/engine/apply"
)

// plainly is an object without what Orkestra writes into every child.
func plainly(object map[string]any) map[string]any {
	out := runtime.DeepCopyJSON(object)
	metadata, _ := out["metadata"].(map[string]any)
	delete(metadata, "namespace")
	delete(metadata, "ownerReferences")
	for name, ours := range map[string][]string{"labels": apply.OwnershipLabels, "annotations": apply.OwnershipAnnotations} {
		entries, _ := metadata[name].(map[string]any)
		for _, key := range ours {
			delete(entries, key)
		}
		if len(entries) == 0 {
			delete(metadata, name)
		}
	}
	return out
}

// difference is the first field in which an object is not what is wanted, and in what; empty: there is none.
func difference(wanted, got any) (path, why string) { return differs("", wanted, got) }

func differs(at string, wanted, got any) (path, why string) {
	switch wanted := wanted.(type) {
	case map[string]any:
		other, ok := got.(map[string]any)
		if !ok && (got != nil || len(wanted) > 0) {
			return at, fmt.Sprintf("wanted an object, got %v", got)
		}
		keys := slices.Concat(slices.Collect(maps.Keys(wanted)), slices.Collect(maps.Keys(other)))
		slices.Sort(keys)
		for _, key := range slices.Compact(keys) {
			if path, why := differs(draft.Below(at, key), wanted[key], other[key]); why != "" {
				return path, why
			}
		}
		return "", ""
	case []any:
		other, ok := got.([]any)
		if !ok && (got != nil || len(wanted) > 0) || len(other) != len(wanted) {
			return at, fmt.Sprintf("wanted a list of %d, got %v", len(wanted), got)
		}
		for i := range wanted {
			if path, why := differs(fmt.Sprintf("%s[%d]", at, i), wanted[i], other[i]); why != "" {
				return path, why
			}
		}
		return "", ""
	case nil:
		if isEmpty(got) {
			return "", ""
		}
	}
	if reflect.DeepEqual(number(wanted), number(got)) {
		return "", ""
	}
	return at, fmt.Sprintf("wanted %v, got %v", wanted, got)
}

// isEmpty says whether a value says as much as none.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	default:
		return v == nil
	}
}

// number gives numbers of all types as one.
func number(v any) any {
	if n, ok := v.(int64); ok {
		return float64(n)
	}
	return v
}
