package declare

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/value"
)

// listIndex finds the index of a list in a path.
var listIndex = regexp.MustCompile(`\[\s*[0-9]`)

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
			err = mayBeInitialOf(d.Kinds, string(text), path)
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

// mayBeInitialOf is mayBeInitial for an object of one of several kinds: the field has to be one of any of them.
func mayBeInitialOf(all kinds.Set, text string, path expr.Path) (first error) {
	for _, gvk := range all {
		err := mayBeInitial(gvk, text, path)
		if err == nil {
			return nil
		}
		first = cmp.Or(first, err)
	}
	return first
}

// mayBeInitial says what is wrong with an initial field: it is no field of the object, or must be the declaration's.
func mayBeInitial(gvk schema.GroupVersionKind, text string, path expr.Path) error {
	if listIndex.MatchString(text) {
		return errors.New("fields in lists can't be named: an index is another entry when somebody adds one")
	}
	switch path[0] {
	case "apiVersion", "kind", "status":
		return fmt.Errorf("%s can't be left to others; wanted a field such as spec.replicas", path[0])
	case "stringData":
		return errors.New("the API server keeps it in data: name that")
	case "metadata":
		marks := map[string][]string{"labels": apply.OwnershipLabels, "annotations": apply.OwnershipAnnotations}
		if len(path) != 3 || marks[path[1]] == nil {
			return errors.New("of metadata only labels and annotations can be named, one by one: metadata.annotations['example.com/note']")
		}
		if slices.Contains(marks[path[1]], path[2]) {
			return errors.New("this is Orkestra's own; remove it")
		}
		return nil
	default:
		return kinds.CheckField(gvk, path)
	}
}

// Overlap says whether one path leads to a part of the other.
func Overlap(a, b drift.FieldPath) bool {
	n := min(len(a), len(b))
	return slices.Equal([]string(a[:n]), []string(b[:n]))
}
