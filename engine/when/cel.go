package when

// Conditions that are CEL expressions.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/value"
)

// The lengths of what a message shows of a CEL expression.
const (
	maxReads   = 6   // values
	maxValues  = 160 // runes of all values together
	wantedTrue = "true"
)

// celTest is what a condition has in place of field and operator.
type celTest struct {
	text      string
	predicate *expr.Predicate
	views     []view // how much a message may show of each value that it reads
	ours      bool   // it reads the resource alone
}

// compileCEL checks a test that is an expression.
func compileCEL(t v1alpha1.Test, s *expr.Scope, at *field.Path) (*Condition, field.ErrorList) {
	if errs := besidesCEL(t, at); len(errs) > 0 {
		return nil, errs
	}
	p, err := s.CompileCEL(t.CEL)
	if err != nil {
		return nil, field.ErrorList{field.Invalid(at.Child("cel"), t.CEL, err.Error())}
	}
	label := "cel " + strconv.Quote(clip(oneLine(t.CEL), maxField))
	c := &Condition{field: label, label: label, negate: t.Negate, wanted: wantedTrue, cel: &celTest{text: t.CEL, predicate: p, ours: true}}
	if t.Negate {
		c.wanted = "false"
	}
	for i, read := range p.Reads() {
		behind := p.Behind(i)
		c.cel.views = append(c.cel.views, viewOf(behind, read.Path[0] != roots.Values))
		c.cel.ours = c.cel.ours && !slices.ContainsFunc(behind, othersAnswer)
	}
	c.paths = addPaths(nil, p.Paths())
	c.waits = slices.ContainsFunc(c.paths, waitsFor)
	return c, nil
}

// besidesCEL refuses fields that would be ignored beside an expression.
func besidesCEL(t v1alpha1.Test, at *field.Path) field.ErrorList {
	given := map[string]bool{"field": t.Field != "", "operator": t.Operator != "", "value": t.Value != nil, "valueType": t.ValueType != ""}
	for i := range operators {
		given[operators[i].short] = given[operators[i].short] || operators[i].form(&t.ShortForms) != nil
	}
	var errs field.ErrorList
	for key, set := range given {
		if set {
			errs = append(errs, field.Forbidden(at.Child(key), "cel stands alone: write the comparison in it"))
		}
	}
	slices.SortFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Field, b.Field) })
	return errs
}

// othersAnswer says whether a path leads out of the resource: to children, other objects, an answer, or the child that is tested.
func othersAnswer(p expr.Path) bool { return waitsFor(p) || p[0] == rootObject }

// evalCEL evaluates the expression. What is absent of other objects makes it false, since it may not be there yet. An absent field of the
// resource is an error: has() is the way to say that a field may be absent.
func (c *Condition) evalCEL(ctx context.Context, d expr.Data) (Verdict, error) {
	v := Verdict{Field: c.field, Wanted: c.wanted, of: c, cel: true}
	truth, err := c.cel.predicate.Eval(ctx, d)
	if absent, ok := errors.AsType[*roots.AbsentError](err); ok && !c.cel.ours && (len(absent.Path) == 0 || !roots.OfResource(absent.Path[0])) {
		v.Absent, v.Actual = true, c.shown(c.cel.predicate.Seen(ctx, d))
		return v, nil
	}
	if err != nil {
		return v, err
	}
	v.True, v.Actual = truth != c.negate, c.shown(c.cel.predicate.Seen(ctx, d))
	return v, nil
}

// shown says what the expression read: `self.spec.min is 5, self.spec.max is 3`.
func (c *Condition) shown(d expr.Data) string {
	var parts []string
	for i, read := range c.cel.predicate.Reads() {
		if i == maxReads {
			parts = append(parts, "…")
			break
		}
		value, _ := value.Lookup(d, read.Path) // absent: nil
		parts = append(parts, fmt.Sprintf("%s is %s", clip(read.Text, maxActual), showActual(normalize(value), c.cel.views[i])))
	}
	if len(parts) == 0 {
		return strconv.FormatBool(c.negate)
	}
	return clip(strings.Join(parts, ", "), maxValues)
}
