package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
)

// normalize computes fields of the working copy. Each expression sees the resource as stored.
type normalize struct{ fields []setter }

// setter computes one field of the working copy.
type setter struct {
	path   expr.Path
	value  *expr.Value
	schema *apiextensionsv1.JSONSchemaProps
}

func compileNormalize(c *compiler) Stage {
	n := c.box.Spec.Normalize
	if n == nil || len(n.Spec) == 0 {
		return nil
	}
	at := field.NewPath("spec", "normalize", "spec")
	var s normalize
	for _, key := range slices.Sorted(maps.Keys(n.Spec)) {
		raw := n.Spec[key]
		if set, ok := c.setter("spec."+key, at.Key(key), &raw, at.Key(key)); ok {
			s.fields = append(s.fields, set)
		}
	}
	return s
}

// resourceScope is what templates may read before anything else is read.
func (c *compiler) resourceScope() *expr.Scope {
	return c.scope.WithoutRoots(rootChildren, rootCross, rootExternal)
}

const rootChildren = "children"

// setter compiles a field of the working copy and the value that it gets. pathAt and at say where both are written.
func (c *compiler) setter(path string, pathAt *field.Path, value *apiextensionsv1.JSON, at *field.Path) (setter, bool) {
	p, err := expr.ParsePath(path)
	if err != nil {
		c.fail(field.Invalid(pathAt, path, err.Error()))
		return setter{}, false
	}
	if len(p) < 2 || p[0] != "spec" {
		c.fail(field.Invalid(pathAt, path, "wanted a path below spec"))
		return setter{}, false
	}
	schema, err := c.scope.SchemaAt(p)
	if err != nil {
		c.fail(field.Invalid(pathAt, path, err.Error()))
		return setter{}, false
	}
	tree, err := decodeJSON(value)
	if err != nil {
		c.fail(field.Invalid(at, string(value.Raw), err.Error()))
		return setter{}, false
	}
	v, errs := c.resourceScope().CompileValue(tree, at)
	if len(errs) > 0 {
		c.fail(errs...)
		return setter{}, false
	}
	if literal, ok := v.Literal(); ok {
		if _, err := toSchema(literal, schema); err != nil {
			c.fail(field.Invalid(at, literal, err.Error()))
		}
	}
	c.read(v.Paths())
	return setter{path: p, value: v, schema: schema}, true
}

// compute evaluates the value in the type that the schema wants.
func (s setter) compute(ctx context.Context, data expr.Data) (any, error) {
	v, err := s.value.Eval(ctx, data)
	if err != nil {
		return nil, evaluating(s.path.String(), v1alpha1.ReasonTemplateError, err)
	}
	v, err = toSchema(v, s.schema)
	if misfit, ok := errors.AsType[*misfitError](err); ok {
		return nil, evaluating(s.path.String()+misfit.at, v1alpha1.ReasonTemplateError, misfit.problem)
	}
	return v, err
}

// Name implements Stage.
func (normalize) Name() string { return stepNormalize }

// Run implements Stage.
func (n normalize) Run(ctx context.Context, r *Run) (Outcome, error) {
	data := r.data(false)
	values := make([]any, len(n.fields))
	for i, f := range n.fields {
		v, err := f.compute(ctx, data)
		if err != nil {
			return Hold, err
		}
		values[i] = v
	}
	// Only now is the working copy changed, so that no expression sees another's result.
	for i, f := range n.fields {
		if err := assign(r.Object, f.path, values[i]); err != nil {
			return Hold, permanent(v1alpha1.ReasonTemplateError, fmt.Errorf("setting a field: %w", err))
		}
	}
	return Next, nil
}
