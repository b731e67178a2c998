package compile

import (
	"cmp"

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
	path, single := t.Path()
	if !single || path[0] == RootSpec && (spec.Normalize != nil || spec.Mutation != nil) {
		return shape.Anything
	}
	node, err := scope.SchemaAt(path)
	if err != nil || node == nil {
		return shape.Anything
	}
	return shape.YieldOf(node.Type)
}

// Identity is what an object is found by, as a box writes it: each is a text, or a template of one.
type Identity struct {
	Name, Namespace     string
	Labels, Annotations map[string]string
}

// NeverTexts reports what gives a list or a map, as its schema says. Numbers and truth values are written as texts.
func (i Identity) NeverTexts(yields func(string) shape.Yield, at *field.Path) field.ErrorList {
	errs := neverTexts(yields, map[string]string{"name": i.Name, "namespace": i.Namespace}, at)
	errs = append(errs, neverTexts(yields, i.Labels, at.Child("labels"))...)
	return append(errs, neverTexts(yields, i.Annotations, at.Child("annotations"))...)
}

func neverTexts(yields func(string) shape.Yield, texts map[string]string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for name, text := range texts {
		switch yields(text) {
		case shape.AList:
			errs = append(errs, field.Invalid(value.Place(at, name), text, "want string, got array, as its schema says"))
		case shape.AMap:
			errs = append(errs, field.Invalid(value.Place(at, name), text, "want string, got object, as its schema says"))
		default:
		}
	}
	return errs
}
