package when

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/suggest"
	"github.com/orkspace/orkestra/engine/value"
)

// Compile checks a test that stands at the path at, and freezes it. Paths are checked against the scope's schema, and literal
// values against the schema of the field. All that is wrong is reported; the condition is nil then.
func Compile(t v1alpha1.Test, s *expr.Scope, at *field.Path) (*Condition, field.ErrorList) {
	if t.CEL != "" {
		return compileCEL(t, s, at)
	}
	c := &Condition{field: t.Field, label: clip(oneLine(t.Field), maxField), as: t.ValueType, negate: t.Negate}
	schema, errs := c.compileField(s, at)
	value, key, pickErrs := c.pickOperator(t, at)
	errs = append(errs, pickErrs...)
	if c.op != nil {
		typeErrs := c.compileType(at)
		if len(typeErrs) > 0 {
			c.as = "" // or the value would be reported as not fitting the wrong type, too
		}
		errs = append(errs, typeErrs...)
		errs = append(errs, c.compileValue(value, s, schema, key)...)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	c.waits = c.op.clock || slices.ContainsFunc(c.paths, waitsFor)
	return c, nil
}

// compileField also gives the field's schema, where it is known and says one type.
func (c *Condition) compileField(s *expr.Scope, at *field.Path) (*apiextensionsv1.JSONSchemaProps, field.ErrorList) {
	if c.field == "" {
		return nil, field.ErrorList{field.Required(at.Child("field"), "say what is tested")}
	}
	template, err := s.CompilePath(c.field)
	if err != nil {
		return nil, field.ErrorList{field.Invalid(at.Child("field"), c.field, err.Error())}
	}
	c.template = template
	c.path, c.single = template.Path()
	c.single = c.single && c.path[0] != roots.Values // which have to be evaluated
	c.paths = addPaths(nil, template.Paths())
	c.view = viewOf(c.paths, c.single)
	if !c.single {
		return nil, nil
	}
	if schema, err := s.SchemaAt(c.path); err == nil && typed(schema) {
		return schema, nil
	}
	return nil, nil // CompilePath has refused what the schema rules out
}

// pickOperator finds the one way in which the test says its operator, and gives the value and where that stands.
func (c *Condition) pickOperator(t v1alpha1.Test, at *field.Path) (*apiextensionsv1.JSON, *field.Path, field.ErrorList) {
	var used []string
	var short *operator
	for i := range operators {
		if o := &operators[i]; o.form(&t.ShortForms) != nil {
			used = append(used, o.short)
			short = o
		}
	}
	switch {
	case len(used) > 1:
		return nil, nil, field.ErrorList{field.Invalid(at, strings.Join(used, ", "), "give one short form, not several")}
	case short != nil && t.Operator != "":
		return nil, nil, field.ErrorList{field.Forbidden(at.Child(short.short), "give operator and value, or one short form, not both")}
	case short != nil && t.Value != nil:
		return nil, nil, field.ErrorList{field.Forbidden(at.Child("value"), fmt.Sprintf("%q already holds the value", short.short))}
	case short != nil:
		c.op = short
		return short.form(&t.ShortForms), at.Child(short.short), nil
	case t.Operator == "":
		return nil, nil, field.ErrorList{field.Required(at.Child("operator"), "say how the field is compared")}
	}
	c.op = find(t.Operator)
	if c.op == nil {
		return nil, nil, field.ErrorList{field.Invalid(at.Child("operator"), string(t.Operator), "unknown operator"+nearest(string(t.Operator)))}
	}
	return t.Value, at.Child("value"), nil
}

// nearest suggests an operator. A short form's key stands for its operator.
func nearest(name string) string {
	var names []string
	for i := range operators {
		if operators[i].short == name {
			return fmt.Sprintf(", did you mean %q?", operators[i].name)
		}
		names = append(names, string(operators[i].name))
	}
	return suggest.DidYouMean(name, names) + " (valid: " + strings.Join(names, ", ") + ")"
}

func (c *Condition) compileType(at *field.Path) field.ErrorList {
	at = at.Child("valueType")
	_, known := typeKinds[c.as]
	switch {
	case c.as == "" || slices.Contains(c.op.types, c.as):
		return nil
	case !known:
		return field.ErrorList{field.NotSupported(at, c.as, allTypes)}
	case c.op.types == nil:
		return field.ErrorList{field.Forbidden(at, fmt.Sprintf("%s takes no valueType", c.op.name))}
	default:
		return field.ErrorList{field.NotSupported(at, c.as, c.op.types)}
	}
}

func (c *Condition) compileValue(
	written *apiextensionsv1.JSON, s *expr.Scope, schema *apiextensionsv1.JSONSchemaProps, at *field.Path,
) field.ErrorList {
	var given any
	if written != nil {
		if err := json.Unmarshal(written.Raw, &given); err != nil {
			return field.ErrorList{field.Invalid(at, string(written.Raw), "not a JSON value")}
		}
	}
	if c.op.flag {
		return c.compileFlag(given, at)
	}
	if given == nil {
		return field.ErrorList{field.Required(at, fmt.Sprintf("%s needs a value; notExists tests for absence", c.op.name))}
	}
	compiled, errs := s.CompileValue(given, at)
	if len(errs) > 0 {
		return errs
	}
	literal, isLiteral := compiled.Literal()
	if !isLiteral {
		c.value, c.raw = compiled, oneLine(show(given))
		c.secret = viewOf(compiled.Paths(), false) != viewValue
		c.paths = addPaths(c.paths, compiled.Paths())
		return c.checkFit(schema, unknown{}, given, at)
	}
	literal = normalize(literal)
	shaped, err := c.op.shape(literal, c.as)
	if err != nil {
		return field.ErrorList{field.Invalid(at, given, err.Error()+value.MisplacedCEL(given))}
	}
	c.shaped, c.wanted = shaped, showWanted(c.op, literal, c.negate)
	if list, ok := shaped.([]any); ok {
		literal = list
	}
	return c.checkFit(schema, literal, given, at)
}

// compileFlag reads the value of exists and notExists: nothing, or a bool. False means the opposite.
func (c *Condition) compileFlag(given any, at *field.Path) field.ErrorList {
	switch given {
	case nil, true:
	case false:
		c.op = c.op.opposite()
	default:
		return field.ErrorList{field.Invalid(at, given, "wants true, false or nothing")}
	}
	c.wanted = showWanted(c.op, nil, c.negate)
	return nil
}

func (c *Condition) checkFit(schema *apiextensionsv1.JSONSchemaProps, wanted, given any, at *field.Path) field.ErrorList {
	if schema == nil || c.op.fits == nil {
		return nil
	}
	if err := c.op.fits(schema, wanted, c.as); err != nil {
		return field.ErrorList{field.Invalid(at, given, err.Error()+value.MisplacedCEL(given))}
	}
	return nil
}

// addPaths appends those of more that are not there yet.
func addPaths(paths, more []expr.Path) []expr.Path {
	for _, p := range more {
		if !slices.ContainsFunc(paths, func(q expr.Path) bool { return slices.Equal(p, q) }) {
			paths = append(paths, p)
		}
	}
	return paths
}

// waitsFor says whether a path leads to other objects or answers, which may appear later. An empty path is all the data.
func waitsFor(p expr.Path) bool {
	return len(p) == 0 || p[0] == rootChildren || p[0] == rootCross || p[0] == rootExternal || p[0] == rootProviders
}
