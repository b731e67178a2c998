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
		e.c.Fail(field.Forbidden(at, d.whyOnce()))
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

// whyOnce says why initial fields mean nothing to a declaration that acts once.
func (d *Declaration) whyOnce() string {
	const once = "this object is made once, and all its fields are left alone afterwards; "
	switch d.Phase {
	case OnDelete:
		return once + "remove initialFields"
	case OnCreate:
		return once + "move it to onReconcile, or set reconcile: true, or remove initialFields"
	default:
		return once + "remove once (or reconcile: false), or remove initialFields"
	}
}

// Overlap says whether one path leads to a part of the other.
func Overlap(a, b drift.FieldPath) bool {
	n := min(len(a), len(b))
	return slices.Equal([]string(a[:n]), []string(b[:n]))
}
