package taken

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/orkspace/orkestra/engine/drift"
)

// Put puts the values of fields into an object, as an apply that sets them names them: an entry of a list is named by its keys.
func Put(obj *unstructured.Unstructured, fields []Field) error {
	for _, f := range fields {
		value, err := decoded(f.Value)
		if err != nil {
			return fmt.Errorf("reading the former value of %s: %w", f.Place(), err)
		}
		path := f.steps()
		if len(path) == 0 || path[0].FieldName == nil {
			return fmt.Errorf("reading what was taken: %q is no path", f.Path)
		}
		obj.Object = put(obj.Object, path, value).(map[string]any) //nolint:forcetypeassert // the path begins with a field
	}
	return nil
}

// decoded keeps whole numbers whole, of any size.
func decoded(raw json.RawMessage) (value any, err error) {
	err = utiljson.Unmarshal(raw, &value)
	return value, err
}

// put gives what in becomes with a value at a path below it.
func put(in any, path fieldpath.Path, value any) any {
	if len(path) == 0 {
		return value
	}
	step := path[0]
	if step.FieldName != nil {
		fields, _ := in.(map[string]any)
		if fields == nil {
			fields = map[string]any{}
		}
		fields[*step.FieldName] = put(fields[*step.FieldName], path[1:], value)
		return fields
	}
	list, _ := in.([]any)
	if at, found := drift.EntryAt(list, step); found {
		list[at] = put(list[at], path[1:], value)
		return list
	}
	var fresh any
	if step.Key != nil {
		keys := map[string]any{}
		for _, key := range *step.Key {
			keys[key.Name] = key.Value.Unstructured()
		}
		fresh = keys
	}
	return append(list, put(fresh, path[1:], value))
}

// Stay puts the value of a field that an object has into another one, as an apply that sets it names it.
func Stay(obj, live *unstructured.Unstructured, path fieldpath.Path) {
	value, found := drift.ValueAt(live.Object, path)
	if !found {
		return
	}
	obj.Object, _ = put(obj.Object, path, runtime.DeepCopyJSONValue(value)).(map[string]any)
}
