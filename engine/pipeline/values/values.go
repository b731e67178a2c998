// Package values compiles what a box gives names to, so that its templates, conditions and CEL can read it. What a value gives is computed by
// those who read it, when they do: package expr.
package values

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/value"
)

// Compile compiles the values of a box, and adds them to its scope.
func Compile(b *compile.Box) {
	if len(b.Spec.Values) == 0 {
		return
	}
	var known []*expr.Named
	for i := range b.Spec.Values {
		known = append(known, one(b, i, known))
	}
	b.Scope = b.Scope.WithNamed(known, nil)
}

// one compiles a value that may read those before it. It may read whatever the content of a child may: who reads it must be allowed to read
// all of that.
func one(b *compile.Box, i int, before []*expr.Named) *expr.Named {
	in, at := &b.Spec.Values[i], field.NewPath("spec", "values").Index(i)
	if slices.ContainsFunc(b.Spec.Values[:i], func(other v1alpha1.NamedValue) bool { return other.Name == in.Name }) {
		b.Fail(field.Duplicate(at.Child("name"), in.Name))
		return expr.Unknown(in.Name)
	}
	later := map[string]string{in.Name: "a value can't read itself"}
	for _, other := range b.Spec.Values[i+1:] {
		later[other.Name] = "it stands later in the list, and a value reads those before it"
	}
	scope := b.ContentScope(b.Scope, compile.RootChildren, compile.RootCross, compile.RootProviders).WithNamed(before, later)
	written, ok := b.JSON(in.Value, at.Child("value"))
	switch {
	case !ok:
	case (in.Value == nil) == (in.CEL == ""):
		b.Fail(field.Invalid(at, in.Name, "give exactly one of value and cel"))
	case in.CEL != "":
		named, err := scope.NameCEL(in.Name, in.CEL)
		if err == nil {
			return named
		}
		b.Fail(field.Invalid(at.Child("cel"), in.CEL, err.Error()))
	case value.MisplacedCEL(written) != "":
		b.Fail(field.Invalid(at.Child("value"), written,
			`an expression stands beside the name: write {name: `+in.Name+`, cel: …}; for a map with an entry called cel, {{ dict "cel" "…" }}`))
	default:
		named, errs := scope.NameTree(in.Name, written, at.Child("value"))
		if len(errs) == 0 {
			return named
		}
		b.Fail(errs...)
	}
	return expr.Unknown(in.Name)
}

// Unread gives the names of values that nothing reads, in their order.
func Unread(b *compile.Box) []string {
	var names []string
	for i := range b.Spec.Values {
		if name := b.Spec.Values[i].Name; !b.ValuesRead[name] {
			names = append(names, name)
		}
	}
	return names
}
