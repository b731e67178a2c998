package declare

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/engine/expr"
)

// object is what tells the object of a declaration from others, as it is written.
type object struct {
	kind            schema.GroupKind
	namespace, name string
}

// uniqueObjects reports declarations that make one object, whatever the resource is: of the same kind, with the same texts for name and namespace.
// A gate may see that never both act, and a loop may have no item.
func (c *compiler) uniqueObjects(group []*Declaration) {
	first := map[object]*Declaration{}
	for _, d := range group {
		kind := d.Kinds.Only().GroupKind()
		if d.Gated || d.Loop != nil || d.Whole || kind.Empty() {
			continue
		}
		key := object{kind: kind, namespace: asWritten(d.Namespace, "namespace"), name: asWritten(d.Name, "name")}
		other := first[key]
		if other == nil {
			first[key] = d
			continue
		}
		if other.ID == d.ID {
			continue // which is what is reported
		}
		c.Fail(&field.Error{Type: field.ErrorTypeDuplicate, Field: d.Where, BadValue: key.name, Detail: fmt.Sprintf(
			"%s makes the %s of the same name, and neither has a gate; give one of them another name, or each a `when` by which never both are made", other.Where, kind.Kind)})
	}
}

// asWritten is a name or a namespace as it is written; without one, it is that of the resource.
func asWritten(t *expr.Template, part string) string {
	if t == nil {
		return "{{ .metadata." + part + " }}"
	}
	return t.String()
}
