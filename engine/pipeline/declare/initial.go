package declare

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/pipeline/check"
	"github.com/orkspace/orkestra/engine/value"
)

// initial compiles the fields of a declaration that are set when the object is made, and then left alone.
func (e *entry) initial() {
	d, at := e.d, e.at.Child("initialFields")
	if d.Once && len(e.InitialFields) > 0 {
		e.c.Fail(field.Forbidden(at, "this object is made once, and all its fields are left alone afterwards; "+mendOnce(d.Phase, e.Once, "initialFields")))
		return
	}
	for i, text := range e.InitialFields {
		path, err := value.ParsePath(string(text))
		if err == nil {
			err = check.InitialField(d.Kinds, string(text), path)
		}
		if err != nil {
			e.c.Fail(field.Invalid(at.Index(i), text, err.Error()))
			continue
		}
		if other := slices.IndexFunc(d.Initial, func(o drift.FieldPath) bool { return Overlap(o, drift.FieldPath(path)) }); other >= 0 {
			e.c.Fail(field.Invalid(at.Index(i), text, fmt.Sprintf("%s is in this list, and one of the two is part of the other", d.Initial[other])))
			continue
		}
		d.Initial = append(d.Initial, drift.FieldPath(path))
	}
}

// mendOnce says what to do about a field that means nothing to an object that is made once. asked says that the field once asks for that.
func mendOnce(phase Phase, asked bool, name string) string {
	remove := "remove " + name
	switch {
	case phase == OnDelete:
		return remove
	case phase == OnCreate && asked:
		return "set reconcile: true in place of once, or " + remove
	case phase == OnCreate:
		return "move it to onReconcile, or set reconcile: true, or " + remove
	case asked:
		return "remove once, or " + remove
	default:
		return "remove reconcile: false, or " + remove
	}
}

// Overlap says whether one path leads to a part of the other.
func Overlap(a, b drift.FieldPath) bool {
	n := min(len(a), len(b))
	return slices.Equal([]string(a[:n]), []string(b[:n]))
}
