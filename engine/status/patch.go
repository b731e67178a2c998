package status

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Patch is the JSON merge patch that turns the stored status into the desired one; nil when nothing differs. It contains the
// resourceVersion, since a merge patch replaces lists, and so all conditions, as a whole: a condition that somebody else has added
// since is a conflict then, and is not lost.
func Patch(stored *unstructured.Unstructured, desired map[string]any) ([]byte, error) {
	diff := difference(storedStatus(stored), desired)
	if len(diff) == 0 {
		return nil, nil
	}
	patch := map[string]any{fieldStatus: diff}
	if stored != nil && stored.GetResourceVersion() != "" {
		patch["metadata"] = map[string]any{"resourceVersion": stored.GetResourceVersion()}
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encoding the status: %w", err)
	}
	return data, nil
}

// difference is a JSON merge patch: null removes, objects are merged, everything else is replaced.
func difference(stored, desired map[string]any) map[string]any {
	diff := map[string]any{}
	for name := range stored {
		if _, stays := desired[name]; !stays {
			diff[name] = nil
		}
	}
	for name, want := range desired {
		have, found := stored[name]
		wantFields, isObject := want.(map[string]any)
		haveFields, wasObject := have.(map[string]any)
		switch {
		case isObject && wasObject:
			if below := difference(haveFields, wantFields); len(below) > 0 {
				diff[name] = below
			}
		case want == nil && have == nil:
			// A merge patch can't tell null from absent.
		case !found || !sameValue(have, want):
			diff[name] = want
		}
	}
	return diff
}
