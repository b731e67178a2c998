package compile

import (
	"cmp"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/kinds/shape"
	"github.com/orkspace/orkestra/engine/value"
)

// maxTexts is how many texts one field may hold.
const maxTexts = 64

// Texts are texts by name as a box writes them, such as labels.
type Texts struct {
	// Value gives them; nil: there are none.
	Value *expr.Value
	// Written are those that are written out, which may be templates; one template for all of them has none.
	Written map[string]string
}

// Texts compiles texts by name: an object whose values are texts, or one template that gives such an object. Entries that are null are
// left out, here and when a template gives them. A mistake that is known already is not reported again.
func (b *Box) Texts(scope *expr.Scope, in *apiextensionsv1.JSON, at *field.Path) Texts {
	out := Texts{Written: map[string]string{}}
	decoded, ok := b.JSON(in, at)
	if !ok || decoded == nil {
		return out
	}
	if text, isText := decoded.(string); isText && expr.GivesText(text) {
		b.failOnce(field.ErrorList{field.Invalid(at, text, "want a map of texts, got a text"+shape.OneAction(value.TypeObject))})
		return out
	}
	if text, isText := decoded.(string); isText && expr.IsTemplate(text) {
		b.failOnce(misfit(scope, &b.Spec, text, value.TypeObject, at))
		out.Value = b.tree(scope, text, at)
		return out
	}
	all, ok := decoded.(map[string]any)
	if !ok {
		b.failOnce(field.ErrorList{field.TypeInvalid(at, value.TypeName(decoded), "wanted an object whose values are texts, or one template that gives it")})
		return out
	}
	if hint := shape.ExpressionEntry(all); hint != "" {
		b.failOnce(field.ErrorList{field.Invalid(at, all["cel"], "want a map of texts, got an expression"+hint)})
		return out
	}
	if len(all) > maxTexts {
		b.failOnce(field.ErrorList{field.TooMany(at, len(all), maxTexts)})
		return out
	}
	for name, v := range all {
		switch v := v.(type) {
		case nil:
			delete(all, name)
		case string:
			out.Written[name] = v
			b.failOnce(misfit(scope, &b.Spec, v, value.TypeString, value.Place(at, name)))
		default:
			b.failOnce(field.ErrorList{field.TypeInvalid(value.Place(at, name), value.TypeName(v), "wanted a text"+
				cmp.Or(value.MisplacedCEL(v), "; YAML takes words such as y, no, on and 1.0 for other types, so quote it"))})
			delete(all, name)
		}
	}
	if len(all) > 0 {
		out.Value = b.tree(scope, all, at)
	}
	return out
}

// YieldOf says what a string gives when it is rendered, as far as the string alone says it.
func YieldOf(text string) shape.Yield {
	switch {
	case !expr.IsTemplate(text):
		return shape.Literal
	case expr.GivesText(text):
		return shape.Text
	default:
		return shape.Anything
	}
}

// Yields is YieldOf for strings of a scope: a path has a type, where the scope knows a schema of it. That of a path of the spec says nothing where
// the box changes the spec before it is read. A string is looked at once, because a field is asked for several times: for its type, its form and
// its hints. What is returned must not be used by two goroutines at a time.
func Yields(scope *expr.Scope, spec *v1alpha1.OperatorBoxSpec) func(string) shape.Yield {
	known := map[string]shape.Yield{}
	return func(text string) shape.Yield {
		if !expr.IsTemplate(text) {
			return shape.Literal
		}
		yield, looked := known[text]
		if !looked {
			yield = yieldIn(scope, spec, text)
			known[text] = yield
		}
		return yield
	}
}

// yieldIn says what a template gives.
func yieldIn(scope *expr.Scope, spec *v1alpha1.OperatorBoxSpec, text string) shape.Yield {
	t, err := scope.Compile(text)
	if err != nil {
		return YieldOf(text) // the error is reported where it is compiled
	}
	if t.GivesText() {
		return shape.Text
	}
	return shape.YieldOf(typeOf(scope, spec, t))
}

// typeOf is the type that the schema of a template has which is one path; empty: it is none, or its type is not known.
func typeOf(scope *expr.Scope, spec *v1alpha1.OperatorBoxSpec, t *expr.Template) string {
	path, single := t.Path()
	if !single || path[0] == RootSpec && (spec.Normalize != nil || spec.Mutation != nil) {
		return ""
	}
	node, err := scope.SchemaAt(path)
	if err != nil || node == nil {
		return ""
	}
	return node.Type
}

// misfit is what is wrong with a text that is a template and never gives what is wanted. One that can't be compiled is reported where it is.
func misfit(scope *expr.Scope, spec *v1alpha1.OperatorBoxSpec, text, want string, at *field.Path) field.ErrorList {
	if !expr.IsTemplate(text) {
		return nil
	}
	t, err := scope.Compile(text)
	if err != nil {
		return nil
	}
	if why := mistyped(scope, spec, t, want); why != "" {
		return field.ErrorList{field.Invalid(at, text, why)}
	}
	return nil
}

// mistyped says why a template never gives what is wanted, which is a text or an object; empty: it may. Numbers and truth values are written as texts.
func mistyped(scope *expr.Scope, spec *v1alpha1.OperatorBoxSpec, t *expr.Template, want string) string {
	got := typeOf(scope, spec, t)
	if got == "" || got == want || want == value.TypeString && got != value.TypeArray && got != value.TypeObject {
		return ""
	}
	return fmt.Sprintf("want %s, got %s, as its schema says", want, got)
}
