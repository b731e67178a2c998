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
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/value"
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
	n := c.Spec.Normalize
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

// setter compiles a field of the working copy and the value that it gets. pathAt and at say where both are written.
func (c *compiler) setter(path string, pathAt *field.Path, in *apiextensionsv1.JSON, at *field.Path) (setter, bool) {
	p, err := value.ParsePath(path)
	if err != nil {
		c.Fail(field.Invalid(pathAt, path, err.Error()))
		return setter{}, false
	}
	if len(p) < 2 || p[0] != "spec" {
		c.Fail(field.Invalid(pathAt, path, "wanted a path below spec"))
		return setter{}, false
	}
	schema, err := c.Scope.SchemaAt(p)
	if err != nil {
		c.Fail(field.Invalid(pathAt, path, err.Error()))
		return setter{}, false
	}
	tree, ok := c.JSON(in, at)
	if !ok {
		return setter{}, false
	}
	v, errs := c.ResourceScope().CompileValue(tree, at)
	if len(errs) > 0 {
		c.Fail(errs...)
		return setter{}, false
	}
	if literal, ok := v.Literal(); c.Written(tree, schema, at) && ok {
		if _, err := value.ToSchema(literal, schema); err != nil {
			c.Fail(field.Invalid(at, literal, err.Error()))
		}
	}
	c.Reads(v.Paths())
	return setter{path: p, value: v, schema: schema}, true
}

// compute evaluates the value in the type that the schema wants.
func (s setter) compute(ctx context.Context, data expr.Data) (any, error) {
	v, err := s.value.Eval(ctx, data)
	if err != nil {
		return nil, stage.Evaluating(s.path.String(), v1alpha1.ReasonTemplateError, err)
	}
	v, err = value.ToSchema(v, s.schema)
	if misfit, ok := errors.AsType[*value.MisfitError](err); ok {
		return nil, stage.Evaluating(s.path.String()+misfit.At, v1alpha1.ReasonTemplateError, misfit.Problem)
	}
	return v, err
}

// Name implements Stage.
func (normalize) Name() string { return stage.StepNormalize }

// Run implements Stage.
func (n normalize) Run(ctx context.Context, r *Run) (stage.Outcome, error) {
	data := r.Data(false)
	values := make([]any, len(n.fields))
	for i, f := range n.fields {
		v, err := f.compute(ctx, data)
		if err != nil {
			return stage.Hold, err
		}
		values[i] = v
	}
	// Only now is the working copy changed, so that no expression sees another's result.
	for i, f := range n.fields {
		if err := assign(r.Object, f.path, values[i]); err != nil {
			return stage.Hold, stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("setting a field: %w", err))
		}
	}
	r.Edited()
	return stage.Next, nil
}

// assign sets the value at a path of a JSON tree. Missing parents are made; nil removes the field.
func assign(tree map[string]any, p expr.Path, v any) error {
	node := tree
	for i, name := range p[:len(p)-1] {
		next, found := node[name]
		if !found || next == nil {
			if v == nil {
				return nil
			}
			next = map[string]any{}
			node[name] = next
		}
		m, ok := next.(map[string]any)
		if !ok {
			return fmt.Errorf("%s: can't set a field below %s, which is %s", p, p[:i+1], value.TypeName(next))
		}
		node = m
	}
	last := p[len(p)-1]
	if v == nil {
		delete(node, last)
		return nil
	}
	node[last] = v
	return nil
}
