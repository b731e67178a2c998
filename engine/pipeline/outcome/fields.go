package outcome

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/status"
	"github.com/orkspace/orkestra/engine/value"
	"github.com/orkspace/orkestra/engine/when"
)

// errNotKnown says that a cycle ended, or held, before it came to what is read.
var errNotKnown = errors.New("not known in this cycle")

// statusField is one path of a resource's status, with the values that it may get: the first one whose gate holds.
type statusField struct {
	path       expr.Path // below status; empty for a condition
	condition  string    // the type of a condition of the box's own; empty for a field
	at         *field.Path
	candidates []statusCandidate
}

type statusCandidate struct {
	value        *expr.Value
	gate         *when.Gate
	usesChildren bool
	outside      []compile.Outside // that value and gate read
}

// reservedStatus are fields of the status that Orkestra itself writes.
var reservedStatus = map[string]bool{statusConditions: true, "observedGeneration": true}

func (p *Plan) compileFields(b *compile.Box, fields []v1alpha1.StatusField) {
	at := field.NewPath("spec", "status", "fields")
	byPath := map[string]*statusField{}
	gated := map[string]bool{}
	for i := range fields {
		where := at.Index(i)
		in, candidate, ok := p.field(b, &fields[i], where)
		if !ok {
			continue
		}
		key := in.label()
		f := byPath[key]
		if f == nil {
			f = in
			p.overwritten(b, f, fields[i].Path)
			byPath[key], gated[key] = f, true
			p.fields = append(p.fields, f)
		}
		gated[key] = gated[key] && candidate.gate != nil
		f.candidates = append(f.candidates, candidate)
		if len(f.candidates) > 1 && !gated[key] {
			b.Fail(&field.Error{Type: field.ErrorTypeDuplicate, Field: where.Child("path").String(), BadValue: fields[i].Path,
				Detail: "several fields write this path; give each of them a gate (when or anyOf): the first that holds is written"})
		}
	}
}

// overwritten reports a field that takes with it what an earlier one has written below it.
func (p *Plan) overwritten(b *compile.Box, f *statusField, written string) {
	for _, other := range p.fields {
		if n := len(f.path); n > 0 && len(other.path) > n && slices.Equal(other.path[:n], f.path) {
			b.Fail(field.Invalid(f.at.Child("path"), written, fmt.Sprintf(
				"it is written after %s, and as a whole: the value of %s would be lost; put it in front of that", other.label(), other.at.Child("path"))))
		}
	}
}

// field compiles one entry: its path, or the condition that it stands for, and its value.
func (p *Plan) field(b *compile.Box, in *v1alpha1.StatusField, at *field.Path) (*statusField, statusCandidate, bool) {
	f := &statusField{at: at}
	var err error
	if kind, is := ownCondition(in.Path); is {
		f.condition, err = kind, p.checkCondition(kind)
	} else {
		f.path, err = statusPath(b.Scope, in.Path)
	}
	if err != nil {
		b.Fail(field.Invalid(at.Child("path"), in.Path, err.Error()))
		return nil, statusCandidate{}, false
	}
	tree, ok := b.JSON(&in.Value, at.Child("value"))
	if !ok {
		return nil, statusCandidate{}, false
	}
	scope := fieldScope(b)
	value, errs := scope.CompileValue(tree, at.Child("value"))
	gate, gateErrs := when.CompileGate(in.Gate, scope, at)
	b.Fail(errs...)
	b.Fail(gateErrs...)
	if len(errs)+len(gateErrs) > 0 {
		return nil, statusCandidate{}, false
	}
	if f.condition != "" {
		err = checkOwn(f.condition, tree)
	} else if literal, ok := value.Literal(); b.Written(tree, shownSchema(b, f.path), at.Child("value")) && ok {
		_, err = p.Writer.Fit(f.path, literal)
	}
	if err != nil {
		b.Fail(field.Invalid(at.Child("value"), string(in.Value.Raw), err.Error()))
	}
	paths := value.Paths()
	if gate != nil {
		paths = append(paths, gate.Paths()...)
	}
	return f, statusCandidate{value: value, gate: gate, usesChildren: b.Reads(paths), outside: b.Outside(paths)}, true
}

// shownSchema is the schema of a field of the status; nil where nothing is known of it.
func shownSchema(b *compile.Box, path expr.Path) *roots.Schema {
	node, err := b.Scope.SchemaAt(append(expr.Path{roots.Status}, path...))
	if err != nil {
		return nil
	}
	return node
}

// statusPath reads the path of a field, below status.
func statusPath(scope *expr.Scope, written string) (expr.Path, error) {
	p, err := value.ParsePath("status." + written)
	if err != nil {
		return nil, err
	}
	if reservedStatus[p[1]] {
		hint := ""
		if p[1] == statusConditions {
			hint = "; a condition of your own has the path conditions[Available]"
		}
		return nil, errors.New("Orkestra writes this field itself" + hint)
	}
	if _, err = scope.SchemaAt(p); err != nil {
		if rest, twice := strings.CutPrefix(written, "status."); twice {
			return nil, fmt.Errorf("the path is below status already: leave out \"status.\", and write %q", rest)
		}
		return nil, err
	}
	for i := 2; i < len(p); i++ {
		if node, err := scope.SchemaAt(p[:i]); err == nil && node != nil && node.Items != nil {
			return nil, fmt.Errorf("%s is a list, which is written as a whole", p[:i])
		}
	}
	return p[1:], nil
}

// evaluate gives the fields against what the children are now. Those that can be evaluated are given, and the first
// error.
func (p *Plan) evaluate(ctx context.Context, c *stage.Cycle, shown expr.Data) (fields []status.Field, conditions []status.Own, first error) {
	if c.Deleting {
		return p.ofCode(c) // what the box declares is about a resource that is served
	}
	for _, f := range p.fields {
		value, found, err := f.evaluate(ctx, p.Writer, c, shown)
		if errors.Is(err, errNotKnown) {
			continue // what is stored stays
		}
		if err == nil && f.condition != "" {
			var own status.Own
			if own, err = status.NewOwn(f.condition, value); err == nil {
				conditions = append(conditions, own)
				continue
			}
			err = stage.NewPermanent(v1alpha1.ReasonTemplateError, err)
		}
		if err != nil {
			// The others are still worth showing.
			if first == nil {
				first = f.wrap(err)
			}
			continue
		}
		fields = append(fields, status.Field{Path: f.path, Value: value, Remove: !found})
	}
	more, own, err := p.ofCode(c)
	return append(fields, more...), append(conditions, own...), cmp.Or(first, err)
}

// CheckCode says what is wrong with the fields and conditions that code has set.
func (p *Plan) CheckCode(c *stage.Cycle) error {
	_, _, err := p.ofCode(c)
	return err
}

// ofCode gives the fields and conditions that code has set.
func (p *Plan) ofCode(c *stage.Cycle) (fields []status.Field, conditions []status.Own, first error) {
	for _, f := range c.Shown.Fields {
		path, err := statusPath(p.scope, f.Path)
		var fitted any
		if err == nil {
			fitted, err = p.Writer.Fit(path, f.Value)
		}
		if err != nil {
			first = cmp.Or(first, stage.NewPermanent(v1alpha1.ReasonTemplateError, placed("status."+f.Path, err)))
			continue
		}
		fields = append(fields, status.Field{Path: path, Value: fitted, Remove: fitted == nil})
	}
	for _, condition := range c.Shown.Conditions {
		err := status.CheckType(condition.Type)
		own, wrong := status.Own{}, err
		if err == nil {
			own, wrong = status.NewOwn(condition.Type, map[string]any{"status": string(condition.Status), "reason": textOrNil(condition.Reason), "message": textOrNil(condition.Message)})
		}
		if wrong != nil {
			first = cmp.Or(first, stage.NewPermanent(v1alpha1.ReasonTemplateError, placed("status."+status.OwnPath(condition.Type), wrong)))
			continue
		}
		conditions = append(conditions, own)
	}
	for _, kind := range c.Shown.Gone {
		conditions = append(conditions, status.Own{Condition: metav1.Condition{Type: kind}, Remove: true})
	}
	return fields, conditions, first
}

// placed names a place in front of what is wrong there, unless that does.
func placed(at string, err error) error {
	if rest, named := strings.CutPrefix(err.Error(), at); named && rest != "" && strings.ContainsRune(":.[", rune(rest[0])) {
		return err
	}
	return fmt.Errorf("%s: %w", at, err)
}

// textOrNil gives a text, or nil where it is empty: that is filled in then.
func textOrNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// evaluate gives the value of the first candidate whose gate holds. A value that reads something absent is left out. The error is
// errNotKnown where a candidate reads what this cycle has not come to.
func (f *statusField) evaluate(ctx context.Context, w *status.Writer, c *stage.Cycle, shown expr.Data) (value any, found bool, err error) {
	for _, one := range f.candidates {
		if !c.Outside.Knows(one.outside) {
			return nil, false, errNotKnown
		}
		data := c.Data(one.usesChildren)
		maps.Copy(data, shown)
		open, err := c.IsOpen(ctx, one.gate, data)
		if err != nil {
			return nil, false, err
		}
		if !open {
			continue
		}
		v, err := one.value.Eval(ctx, data)
		if _, absent := errors.AsType[*roots.AbsentError](err); absent {
			return nil, false, nil
		}
		if err != nil {
			return nil, false, stage.NewPermanent(v1alpha1.ReasonTemplateError, err)
		}
		if f.condition != "" {
			return v, v != nil, nil
		}
		fitted, err := w.Fit(f.path, v)
		if misfit, ok := errors.AsType[*status.FieldError](err); ok && expr.MayShow(one.value.Paths()) {
			err = misfit.WithValue()
		}
		if err != nil {
			return nil, false, stage.NewPermanent(v1alpha1.ReasonTemplateError, err)
		}
		return fitted, fitted != nil, nil
	}
	return nil, false, nil
}

// wrap names the field, unless the error does.
func (f *statusField) wrap(err error) error {
	if _, named := errors.AsType[*status.FieldError](err); named {
		return fmt.Errorf("fields: %w", err)
	}
	return fmt.Errorf("fields: %s: %w", f.label(), err)
}

// label names the field as boxes do.
func (f *statusField) label() string {
	if f.condition != "" {
		return status.OwnPath(f.condition)
	}
	return f.path.String()
}
