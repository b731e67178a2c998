package when

import (
	"regexp"
	"strings"
	"time"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/value"
)

// Form is what a condition compares, for those who say it in another language. It holds literals alone.
type Form struct {
	// Field is the field as written.
	Field string
	// Path is where the field is. It is empty with CEL.
	Path expr.Path
	// Operator is never one that a flag of false turns round: for `exists: false` it is notExists.
	Operator v1alpha1.Operator
	// As is the type that both sides are converted to; empty: the field's own.
	As v1alpha1.ValueType
	// Not turns the answer of the comparison round: the operator is the opposite of another.
	Not bool
	// Absent is the answer for a field that is absent, before Negate.
	Absent bool
	// Negate turns every answer round.
	Negate bool
	// Value is what the field is compared with, as the operator wants it: a list for in and between, the text of an expression for regex.
	Value any
	// Wanted is what a message says of it: `at least 2`.
	Wanted string
	// CEL is the expression that stands in place of all that.
	CEL string
}

// Form gives what the condition compares; why says what of it is not a literal.
func (c *Condition) Form() (form Form, why string) {
	switch {
	case c.cel != nil:
		return Form{Field: c.field, CEL: c.cel.text, Negate: c.negate, Wanted: c.wanted}, ""
	case !c.single && !expr.IsTemplate(c.field):
		return Form{}, "the API server knows no values of a box"
	case !c.single:
		return Form{}, "the field is a template"
	case c.value != nil:
		return Form{}, "the value is a template"
	}
	form = Form{
		Field: c.field, Path: c.path, Operator: c.op.name, As: c.as, Not: c.op.not, Absent: c.op.absent, Negate: c.negate, Value: c.shaped, Wanted: c.wanted,
	}
	if re, ok := c.shaped.(*regexp.Regexp); ok {
		form.Value = re.String()
	}
	return form, ""
}

// Problem is the message of a field and a value that can't be compared, for the names that Describe gives of their types.
func (f Form) Problem(actual, wanted string) string {
	return (&TypeError{Field: f.Field, Operator: f.Operator, Problem: mismatched(actual, wanted, f.As)}).Error()
}

// unseen stands for what was found, in a message that is cut there.
const unseen = "\x00"

// Text is what a message says before and after what was found where the condition does not hold; says is the author's own message.
func (f Form) Text(says string) (before, after string) {
	before, after, _ = strings.Cut(Verdict{Field: f.Field, Wanted: f.Wanted, Actual: unseen}.Broken(says), unseen)
	return before, after
}

// GroupForm is one list of a gate's conditions.
type GroupForm struct {
	Conditions []*Condition
	Any        bool // one of them is enough
}

// Groups gives the lists of the gate's conditions, all of which must hold.
func (g *Gate) Groups() []GroupForm {
	if g == nil {
		return nil
	}
	out := make([]GroupForm, len(g.groups))
	for i, group := range g.groups {
		out[i] = GroupForm{Conditions: group.conditions, Any: group.any}
	}
	return out
}

// Readings are all that a literal can be read as in a comparison.
type Readings struct {
	Number   any // int64 or float64; nil: it is none
	Quantity string
	Duration *time.Duration
	Time     *time.Time
	Bool     *bool
	Text     *string
	// Is names its type as messages do: "a number".
	Is string
}

// Read gives all that a literal can be read as.
func Read(literal any) Readings {
	r := Readings{Is: describe(literal)}
	if n, ok := parse(asNumber, literal); ok {
		r.Number = n.i
		if n.isFloat {
			r.Number = n.f
		}
	}
	text, isText := value.Decimal(literal)
	if isText {
		r.Text = &text
	}
	if _, ok := parse(asQuantity, literal); ok {
		r.Quantity = text
	}
	if d, ok := parse(asDuration, literal); ok {
		duration := time.Duration(d.i)
		r.Duration = &duration
	}
	if t, ok := parse(asTime, literal); ok {
		r.Time = &t.t
	}
	if b, ok := parse(asBool, literal); ok {
		is := b.i == 1
		r.Bool = &is
	}
	return r
}
