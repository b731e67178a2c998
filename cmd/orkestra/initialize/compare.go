package initialize

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/orkspace/orkestra/cmd/orkestra/importer/draft"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/kinds/shape"
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

// difference is the first field in which an object is not what is wanted, and in what; empty: there is none. An empty list or map is another thing than
// none, as with emptyDir, but for the fields of an object itself and of its metadata.
func difference(wanted, got map[string]any) (path, why string) {
	return differs("", withoutEmpty(wanted), withoutEmpty(got))
}

func withoutEmpty(object map[string]any) map[string]any {
	out := maps.Clone(object)
	if metadata, ok := object["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		maps.DeleteFunc(metadata, func(_ string, v any) bool { return shape.Empty(v) })
		out["metadata"] = metadata
	}
	maps.DeleteFunc(out, func(_ string, v any) bool { return shape.Empty(v) })
	return out
}

func differs(at string, wanted, got any) (path, why string) {
	switch wanted := wanted.(type) {
	case map[string]any:
		other, ok := got.(map[string]any)
		if !ok {
			return at, "wanted an object, got " + shown(got)
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
		if !ok || len(other) != len(wanted) {
			return at, fmt.Sprintf("wanted a list of %d, got %s", len(wanted), shown(got))
		}
		for i := range wanted {
			if path, why := differs(fmt.Sprintf("%s[%d]", at, i), wanted[i], other[i]); why != "" {
				return path, why
			}
		}
		return "", ""
	}
	if reflect.DeepEqual(wanted, got) || reflect.DeepEqual(number(wanted), number(got)) {
		return "", ""
	}
	return at, fmt.Sprintf("wanted %s, got %s", shown(wanted), shown(got))
}

// shown is a value as a message has it.
func shown(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		return strconv.Quote(v)
	default:
		return fmt.Sprint(v)
	}
}

// number gives numbers of both types as one, where that loses nothing.
func number(v any) any {
	if n, ok := v.(int64); ok && int64(float64(n)) == n {
		return float64(n)
	}
	return v
}
