package view

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/value"
	"github.com/orkspace/orkestra/engine/web/api"
)

// BoxDeclaration is a declaration of a plan.
func BoxDeclaration(d *declare.Declaration) api.BoxDeclaration {
	kind := d.Kind.GVK.Kind
	switch {
	case d.Patch != nil:
		kind = "patch"
	case kind == "": // its template says it
		kind = "any"
	default:
	}
	return api.BoxDeclaration{Declaration: d.Label(), Path: d.Where, Kind: kind, Conditional: d.Gate != nil, Loop: d.Loop != nil}
}

// maxChanges is how many changes of a revision are shown.
const maxChanges = 100

// Revisions are the kept specs of a box, the newest first, each with what it changed.
func Revisions(kept []appsv1.ControllerRevision, current string) []api.Revision {
	out := make([]api.Revision, 0, len(kept))
	for i := range kept {
		r := api.Revision{Name: kept[i].Name, Number: kept[i].Revision, Created: kept[i].CreationTimestamp.Time, Current: kept[i].Name == current}
		if i+1 < len(kept) {
			r.Changes = changes(kept[i+1].Data.Raw, kept[i].Data.Raw)
		}
		out = append(out, r)
	}
	return out
}

// changes says field by field what differs between two specs.
func changes(before, after []byte) []string {
	var a, b any
	if json.Unmarshal(before, &a) != nil || json.Unmarshal(after, &b) != nil {
		return []string{"what was kept can't be read"}
	}
	var out []string
	differ("", a, b, func(path string, a, b any) { out = append(out, path+": "+short(a)+" → "+short(b)) })
	if len(out) > maxChanges {
		out = append(out[:maxChanges], fmt.Sprintf("and %d more", len(out)-maxChanges))
	}
	return out
}

// absent stands for a field that is not there.
type absent struct{}

// differ walks two values at the same time, in the order of their keys, and tells of each leaf that differs.
func differ(path string, a, b any, tell func(path string, a, b any)) {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			keys := maps.Clone(x)
			maps.Copy(keys, y)
			for _, key := range slices.Sorted(maps.Keys(keys)) {
				differ(joined(path, key), at(x, key), at(y, key), tell)
			}
			return
		}
	case []any:
		if y, ok := b.([]any); ok {
			for i := range max(len(x), len(y)) {
				differ(fmt.Sprintf("%s[%d]", path, i), item(x, i), item(y, i), tell)
			}
			return
		}
	default:
	}
	_, goneA := a.(absent)
	_, goneB := b.(absent)
	if goneA == goneB && (goneA || value.Same(a, b)) {
		return
	}
	tell(path, a, b)
}

func joined(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func at(fields map[string]any, key string) any {
	if v, there := fields[key]; there {
		return v
	}
	return absent{}
}

func item(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return absent{}
}

// maxValue is how much of one value is shown, in characters.
const maxValue = 200

// short is a value as JSON, cut where it is long.
func short(v any) string {
	if _, gone := v.(absent); gone {
		return "absent"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	if runes := []rune(string(text)); len(runes) > maxValue {
		return string(runes[:maxValue]) + "…"
	}
	return string(text)
}

// maxRendered is how many objects of one resource are shown.
const maxRendered = 500

// Objects are those that are rendered, and patches, each masked as others are. left says how many are not shown.
func Objects(objects, patches []*unstructured.Unstructured) (shown []api.RenderedObject, left int) {
	shown = []api.RenderedObject{}
	for i, obj := range append(append([]*unstructured.Unstructured{}, objects...), patches...) {
		if len(shown) == maxRendered {
			return shown, len(objects) + len(patches) - maxRendered
		}
		shown = append(shown, api.RenderedObject{
			APIVersion: obj.GetAPIVersion(), Kind: obj.GetKind(), Namespace: obj.GetNamespace(), Name: obj.GetName(), Patch: i >= len(objects), YAML: YAML(obj),
		})
	}
	return shown, 0
}

// Planned are the conditions that a resource would have; those of which nothing is said are left out.
func Planned(all []metav1.Condition) []api.Condition {
	out := []api.Condition{}
	for _, c := range all {
		if c.Type != "" {
			out = append(out, api.Condition{Type: c.Type, Status: string(c.Status), Reason: c.Reason, Message: c.Message})
		}
	}
	return out
}

// More is the sentence about what is left out of a list; empty: nothing is.
func More(left int, of string) string {
	if left == 0 {
		return ""
	}
	return fmt.Sprintf("%d more %s are not shown", left, of)
}
