package pipeline

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
)

// writtenObject is what tells the object of a declaration from others, as it is written.
type writtenObject struct {
	kind            schema.GroupKind
	namespace, name string
}

// uniqueObjects reports declarations of a group that make one object, whatever the resource is: of the same kind, in whatever version, with the same
// texts for name and namespace. At a resource it would be a DuplicateChild, with the first of them made already. A gate may see that never both act, a
// loop may have no item, and what one template gives whole is not known. What is wrong is reported for itself: its name may not be the one that is meant.
func uniqueObjects(group []*declare.Declaration, wrong func(at string) bool) field.ErrorList {
	var errs field.ErrorList
	first := map[writtenObject]*declare.Declaration{}
	for _, d := range group {
		kind := d.Kinds.Only().GroupKind()
		if d.Gated || d.Loop != nil || d.Whole || kind.Empty() || wrong(d.Where) {
			continue
		}
		key := writtenObject{kind: kind, namespace: textOf(d.Namespace, "namespace"), name: textOf(d.Name, "name")}
		other := first[key]
		if other == nil {
			first[key] = d
			continue
		}
		if other.ID == d.ID {
			continue // which is what is reported
		}
		errs = append(errs, &field.Error{Type: field.ErrorTypeDuplicate, Field: d.Where, BadValue: key.name, Detail: fmt.Sprintf(
			"%s makes the %s of the same name, and neither has a gate; give one of them another name, or each a `when` by which never both are made", other.Where, kind.Kind)})
	}
	return errs
}

// textOf is a name or a namespace as it is written; without one, it is that of the resource.
func textOf(t *expr.Template, part string) string {
	if t == nil {
		return "{{ .metadata." + part + " }}"
	}
	return t.String()
}
