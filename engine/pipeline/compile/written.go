package compile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/kinds/shape"
	"github.com/orkspace/orkestra/engine/value"
)

// Written reports what can't be right of a value as it is written, by the schema of the field that it is for: a text of several actions where a
// list or a map is wanted, and an expression where a value is. ok is false where it found any. What templates give is known only when they run.
func (b *Box) Written(v any, schema *roots.Schema, at *field.Path) (ok bool) {
	errs := misplaced(v, schema, at)
	b.Fail(errs...)
	return len(errs) == 0
}

func misplaced(v any, schema *roots.Schema, at *field.Path) field.ErrorList {
	if schema == nil {
		return nil
	}
	switch v := v.(type) {
	case string:
		if hint := shape.OneAction(schema.Type); hint != "" && expr.GivesText(v) {
			return field.ErrorList{field.Invalid(at, v, fmt.Sprintf("wanted %s, got a text%s", schema.Type, hint))}
		}
	case []any:
		var errs field.ErrorList
		for i := range v {
			errs = append(errs, misplaced(v[i], elementOf(schema), at.Index(i))...)
		}
		return errs
	case map[string]any:
		return misplacedIn(v, schema, at)
	}
	return nil
}

func misplacedIn(object map[string]any, schema *roots.Schema, at *field.Path) field.ErrorList {
	below := func(name string) (*roots.Schema, error) { return roots.Descend(schema, value.Path{roots.Spec}, name) }
	hint := ""
	if _, err := below("cel"); err != nil {
		hint = value.MisplacedCEL(object)
	} else if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		hint = shape.ExpressionEntry(object)
	}
	if hint != "" {
		return field.ErrorList{field.Invalid(at, object, fmt.Sprintf("wanted %s, got an expression%s", typeName(schema), hint))}
	}
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if node, err := below(name); err == nil {
			errs = append(errs, misplaced(object[name], node, value.Place(at, name))...)
		}
	}
	return errs
}

func typeName(schema *roots.Schema) string {
	if schema.XIntOrString {
		return value.TypeInteger + " or " + value.TypeString
	}
	return cmp.Or(schema.Type, value.TypeObject)
}

func elementOf(schema *roots.Schema) *roots.Schema {
	if schema.Items == nil {
		return nil
	}
	return schema.Items.Schema
}
