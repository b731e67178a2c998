package pipeline

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/status"
	"github.com/orkspace/orkestra/engine/when"
)

// statusField is one path of a resource's status, with the values that it may get: the first one whose gate holds.
type statusField struct {
	path       expr.Path
	candidates []statusCandidate
}

type statusCandidate struct {
	value        *expr.Value
	gate         *when.Gate
	usesChildren bool
}

// reservedStatus are fields of the status that Orkestra itself writes.
var reservedStatus = map[string]bool{"conditions": true, "observedGeneration": true}

func (c *compiler) statusFields(fields []v1alpha1.StatusField) {
	at := field.NewPath("spec", "status", "fields")
	byPath := map[string]*statusField{}
	gated := map[string]bool{}
	for i := range fields {
		where := at.Index(i)
		path, candidate, ok := c.statusField(&fields[i], where)
		if !ok {
			continue
		}
		key := path.String()
		f := byPath[key]
		if f == nil {
			f = &statusField{path: path}
			byPath[key], gated[key] = f, true
			c.plan.fields = append(c.plan.fields, f)
		}
		gated[key] = gated[key] && candidate.gate != nil
		f.candidates = append(f.candidates, candidate)
		if len(f.candidates) > 1 && !gated[key] {
			c.fail(&field.Error{Type: field.ErrorTypeDuplicate, Field: where.Child("path").String(), BadValue: fields[i].Path,
				Detail: "several fields write this path; give each of them a gate (when or anyOf): the first that holds is written"})
		}
	}
}

func (c *compiler) statusField(in *v1alpha1.StatusField, at *field.Path) (expr.Path, statusCandidate, bool) {
	p, err := expr.ParsePath("status." + in.Path)
	if err == nil && reservedStatus[p[1]] {
		err = errors.New("Orkestra writes this field itself") //nolint:staticcheck // a product's name begins with a capital
	}
	if err == nil {
		_, err = c.scope.SchemaAt(p)
	}
	if err != nil {
		c.fail(field.Invalid(at.Child("path"), in.Path, err.Error()))
		return nil, statusCandidate{}, false
	}
	tree, err := decodeJSON(&in.Value)
	if err != nil {
		c.fail(field.Invalid(at.Child("value"), string(in.Value.Raw), err.Error()))
		return nil, statusCandidate{}, false
	}
	value, errs := c.scope.CompileValue(tree, at.Child("value"))
	gate, gateErrs := when.CompileGate(in.Gate, c.scope, at)
	c.fail(errs...)
	c.fail(gateErrs...)
	if len(errs)+len(gateErrs) > 0 {
		return nil, statusCandidate{}, false
	}
	if literal, ok := value.Literal(); ok {
		if _, misfit := c.plan.Status.Fit(p[1:], literal); misfit != nil {
			c.fail(field.Invalid(at.Child("value"), string(in.Value.Raw), misfit.Error()))
		}
	}
	paths := value.Paths()
	if gate != nil {
		paths = append(paths, gate.Paths()...)
	}
	return p[1:], statusCandidate{value: value, gate: gate, usesChildren: c.read(paths)}, true
}

// statusFields evaluates the fields against what the children are now.
func (p *Plan) statusFields(ctx context.Context, r *Run) ([]status.Field, error) {
	if r.Deleting {
		return nil, nil
	}
	var (
		out   []status.Field
		first error
	)
	for _, f := range p.fields {
		value, found, err := f.evaluate(ctx, r)
		if err != nil {
			// The others are still worth showing.
			if first == nil {
				first = f.wrap(err)
			}
			continue
		}
		out = append(out, status.Field{Path: f.path, Value: value, Remove: !found})
	}
	return out, first
}

// evaluate gives the value of the first candidate whose gate holds. A value that reads something absent is left out.
func (f *statusField) evaluate(ctx context.Context, r *Run) (value any, found bool, err error) {
	for _, c := range f.candidates {
		data := r.data(c.usesChildren)
		open, err := r.isOpen(ctx, c.gate, data)
		if err != nil {
			return nil, false, err
		}
		if !open {
			continue
		}
		v, err := c.value.Eval(ctx, data)
		if _, absent := errors.AsType[*expr.AbsentError](err); absent {
			return nil, false, nil
		}
		if err != nil {
			return nil, false, permanent(v1alpha1.ReasonTemplateError, err)
		}
		if v, err = r.Plan.Status.Fit(f.path, v); err != nil {
			return nil, false, permanent(v1alpha1.ReasonTemplateError, err)
		}
		return v, v != nil, nil
	}
	return nil, false, nil
}

// wrap names the field, unless the error does.
func (f *statusField) wrap(err error) error {
	if _, named := errors.AsType[*status.FieldError](err); named {
		return fmt.Errorf("fields: %w", err)
	}
	return fmt.Errorf("fields: %s: %w", f.path, err)
}
