package declare

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/value"
)

// object is what a declaration leads to, as far as it is known before there is a resource: two that are written alike are one object.
type object struct {
	kind            schema.GroupKind
	namespace, name string
}

// ownName is how the name of a child is written that has the name of its resource.
const ownName = "{{ .metadata.name }}"

// leadsTo gives the object of a declaration. What stands in a loop leads to several.
func (d *Declaration) leadsTo() (object, bool) {
	to := object{kind: d.GVK.GroupKind(), name: ownName}
	if d.Name != nil {
		to.name = d.Name.String()
	}
	if d.Namespace != nil {
		to.namespace = d.Namespace.String()
	}
	return to, d.Loop == nil
}

// rivals reports patches of which it is known, before there is a resource, that they can't stand: of a child of the box, whose own declaration
// would put it back, and of a field that another patch sets to something else. Of two that have gates, it is not known whether both are ever open.
func (c *compiler) rivals(s *Set) {
	children := map[object]*Declaration{}
	for _, d := range s.Live {
		if to, one := d.leadsTo(); one && !c.gated(d) {
			children[to] = d
		}
	}
	before := map[object][]*Declaration{}
	for _, d := range s.Patches {
		to, one := d.leadsTo()
		if !one {
			continue
		}
		if child := children[to]; child != nil {
			c.Fail(field.Forbidden(field.NewPath(d.Where).Child("target"), fmt.Sprintf(
				"%s is a child of this box (%s), and its own declaration would put it back; write the fields there", to.kind.Kind, child.Where)))
		}
		for _, other := range before[to] {
			if c.gated(d) && c.gated(other) {
				continue
			}
			if at := setOtherwise(c.patchOf(other), c.patchOf(d), expr.Path{}); at != nil {
				c.Fail(field.Forbidden(field.NewPath(d.Where).Child("patch"), fmt.Sprintf(
					"%s sets %s of this %s to another value: one of the two would always be in conflict; take the field out of one of them", other.Where, at, to.kind.Kind)))
			}
		}
		before[to] = append(before[to], d)
	}
}

// gated says whether a declaration has a gate of its own.
func (c *compiler) gated(d *Declaration) bool {
	return len(c.written[d].When)+len(c.written[d].AnyOf) > 0
}

// patchOf is what a patch sets, as it is written.
func (c *compiler) patchOf(d *Declaration) map[string]any {
	body, _ := d.takes.written["patch"].(map[string]any)
	return body
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
