package patches

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/value"
)

// object is what a declaration leads to, as far as it is known before there is a resource: two that are written alike are one object.
type object struct {
	kind            schema.GroupKind
	namespace, name string
}

// ownName is how the name of a child is written that has the name of its resource.
const ownName = "{{ .metadata.name }}"

// objectOf gives the object of a declaration; false: what stands in a loop leads to several, and what one template gives as a whole is not
// known.
func objectOf(d *declare.Declaration) (object, bool) {
	to := object{kind: d.Kinds.Only().GroupKind(), name: ownName}
	if d.Name != nil {
		to.name = d.Name.String()
	}
	if d.Namespace != nil {
		to.namespace = d.Namespace.String()
	}
	return to, d.Loop == nil && !d.Whole
}

// Rivals gives the patches of which it is known, before there is a resource, that they can't stand: of a child of the box, whose own declaration
// would put it back, and of a field that another patch sets to something else. Of two that have gates, it is not known whether both are ever open.
func Rivals(declared *declare.Set) field.ErrorList {
	children := map[object]*declare.Declaration{}
	for _, d := range declared.Live {
		if to, one := objectOf(d); one && !d.Gated {
			children[to] = d
		}
	}
	var errs field.ErrorList
	before := map[object][]*declare.Declaration{}
	for _, d := range declared.Patches {
		to, one := objectOf(d)
		if !one {
			continue
		}
		if child := children[to]; child != nil {
			errs = append(errs, field.Forbidden(field.NewPath(d.Where).Child("target"), fmt.Sprintf(
				"%s is a child of this box (%s), and its own declaration would put it back; write the fields there", to.kind.Kind, child.Where)))
		}
		for _, other := range before[to] {
			if d.Gated && other.Gated {
				continue
			}
			if at := setOtherwise(other.Patch, d.Patch, expr.Path{}); at != nil {
				errs = append(errs, field.Forbidden(field.NewPath(d.Where).Child("patch"), fmt.Sprintf(
					"%s sets %s of this %s to another value: one of the two would always be in conflict; take the field out of one of them", other.Where, at, to.kind.Kind)))
			}
		}
		before[to] = append(before[to], d)
	}
	return errs
}

// setOtherwise finds the first field that two patches set to values that differ and hold no templates; nil: none is known. What stands in
// lists is not compared: their entries may be merged.
func setOtherwise(a, b map[string]any, at expr.Path) expr.Path {
	for _, name := range slices.Sorted(maps.Keys(a)) {
		here := append(slices.Clone(at), name)
		left, right := a[name], b[name]
		inner, isMap := left.(map[string]any)
		other, bothMaps := right.(map[string]any)
		switch {
		case isMap && bothMaps:
			if found := setOtherwise(inner, other, here); found != nil {
				return found
			}
		case fixed(left) && fixed(right) && !value.Same(left, right):
			return here
		}
	}
	return nil
}

// fixed says whether a value is written out: a scalar without a template.
func fixed(v any) bool {
	switch v := v.(type) {
	case nil, map[string]any, []any:
		return false
	case string:
		return !expr.IsTemplate(v)
	default:
		return true
	}
}
