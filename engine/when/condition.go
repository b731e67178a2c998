// Package when compiles and evaluates conditions: when, anyOf, readyWhen and the tests of validation rules. Conditions are pure:
// they read what they are handed and the time they are told, and have no side effects. The package knows expressions, and may
// know nothing of stages, clients or the engine.
package when

import (
	"context"
	"fmt"
	"time"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/value"
)

// The roots below which other objects and answers are. A condition that reads one of them is a wait.
const (
	rootChildren  = "children"
	rootCross     = "cross"
	rootExternal  = "external"
	rootProviders = "providers"
)

// rootObject is the child itself, in the readyWhen of its declaration.
const rootObject = "object"

// Condition is one compiled test. It is immutable and may be used by many goroutines at once.
type Condition struct {
	field  string // as written
	label  string // field, fit for messages
	op     *operator
	as     v1alpha1.ValueType
	negate bool

	template *expr.Template
	path     expr.Path // where single
	single   bool      // the field is one path
	view     view      // what a message may show of the field
	paths    []expr.Path
	waits    bool

	value  *expr.Value // nil: the value is a literal, or there is none
	raw    string      // value, as written, for messages
	shaped any         // the literal, as the operator wants it
	wanted string      // what Verdict.Wanted says, where it is known beforehand
	secret bool        // value reads something that a message may not show

	cel *celTest // in place of all that speaks of the field, the operator and the value
}

// Verdict is the answer of one condition.
type Verdict struct {
	True     bool      // whether the condition holds, negate included
	Absent   bool      // whether the field was missing or null
	Field    string    // the field as written
	Wanted   string    // what was wanted (`at least 2`), at most 128 runes
	Actual   string    // what was found (`1`, `absent`), at most 64 runes, of CEL 160; the type alone (`a string`) where the value may not be shown
	NextFlip time.Time // when the time will change the answer; zero: never

	of  *Condition
	cel bool // Field is an expression, and Actual says what it read
}

// Reads is all that the condition reads, each path once. The caller must not change it.
func (v Verdict) Reads() []expr.Path { return v.of.paths }

// Broken is the message of a condition that does not hold, on one line. says is the message of its author, or empty.
func (v Verdict) Broken(says string) string {
	switch {
	case v.cel && says != "":
		return fmt.Sprintf("%s (%s)", says, v.Actual) // without the expression, which may be long
	case v.cel:
		return fmt.Sprintf("%s: %s", v.Field, v.Actual)
	case says != "":
		return fmt.Sprintf("%s: %s (found %s)", v.Field, says, v.Actual)
	default:
		return fmt.Sprintf("%s: wanted %s, found %s", v.Field, v.Wanted, v.Actual)
	}
}

// TypeError says that a field and a value can't be compared by an operator. Retrying does not help until one of them changes. It
// names types and never shows a value.
type TypeError struct {
	Field    string            // the field as written
	Operator v1alpha1.Operator // how it should have been compared
	Problem  string            // both types, or what is wrong with the value
}

// Error gives one line that is the same for the same types.
func (e *TypeError) Error() string {
	return fmt.Sprintf("comparing %q by %s: %s", clip(oneLine(e.Field), maxField), e.Operator, e.Problem)
}

// Operator gives what the condition compares by: for `exists: false` it is notExists. negate is not part of it. A CEL expression has
// none: it gives "".
func (c *Condition) Operator() v1alpha1.Operator {
	if c.cel != nil {
		return ""
	}
	return c.op.name
}

// Paths gives all that the condition reads, each path once. The caller must not change it.
func (c *Condition) Paths() []expr.Path { return c.paths }

// Waits says that the condition is a wait: it reads children, cross, external or the time, so that it may hold later without an edit of
// the resource. All others are choices.
func (c *Condition) Waits() bool { return c.waits }

// Eval answers for d at the moment now. It fails with a *TypeError when the two sides can't be compared, and with what the
// templates fail with.
func (c *Condition) Eval(ctx context.Context, d expr.Data, now time.Time) (Verdict, error) {
	if c.cel != nil {
		return c.evalCEL(ctx, d)
	}
	v := Verdict{Field: c.field, Wanted: c.wanted, of: c}
	actual, null, err := c.read(ctx, d)
	if err != nil {
		return v, err
	}
	v.Absent, v.Actual = actual == nil, showActual(actual, c.view)
	shaped := c.shaped
	absent := v.Absent && !null
	// The value is evaluated also where the field is absent, for the message. An error of it does not matter then.
	if c.value != nil {
		shaped, v.Wanted, err = c.evalValue(ctx, d)
		if err != nil && !absent {
			return v, err
		}
	}
	if absent {
		v.True = c.op.absent != c.negate
		return v, nil
	}
	o := operands{actual: actual, wanted: shaped, as: c.as, now: now}
	holds, err := c.op.test(&o)
	if err != nil {
		return v, c.typeError(err)
	}
	v.True = holds != c.op.not != c.negate // != is exclusive or: each negation turns the answer round
	if o.flip.After(now) {
		v.NextFlip = o.flip
	}
	return v, nil
}

// read gives the field's value, normalized: nil where it is absent. null says that a null stands at the field's path, for
// operators that tell it from nothing.
func (c *Condition) read(ctx context.Context, d expr.Data) (found any, null bool, err error) {
	if c.single {
		v, there := value.Lookup(d, c.path)
		return normalize(v), !there && c.op.null && c.holdsNull(d), nil
	}
	v, err := c.template.Eval(ctx, d)
	if roots.IsAbsent(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading field %q: %w", c.label, err)
	}
	return normalize(v), false, nil
}

// holdsNull says whether the parent of the absent field has its key.
func (c *Condition) holdsNull(d expr.Data) bool {
	last := len(c.path) - 1
	if last < 1 {
		return false
	}
	parent, _ := value.Lookup(d, c.path[:last]) // absent: no map
	m, _ := parent.(map[string]any)
	_, found := m[c.path[last]]
	return found
}

// evalValue gives the value as the operator wants it, and what a message says of it, also when it can't be had.
func (c *Condition) evalValue(ctx context.Context, d expr.Data) (any, string, error) {
	asWritten := showWanted(c.op, c.raw, c.negate)
	value, err := c.value.Eval(ctx, d)
	if err != nil {
		return nil, asWritten, fmt.Errorf("reading the value for field %q: %w", c.label, err)
	}
	value = normalize(value)
	shaped, err := c.op.shape(value, c.as)
	if err != nil {
		return nil, asWritten, c.typeError(fmt.Errorf("wrong value: %w", err))
	}
	if c.secret {
		return shaped, asWritten, nil
	}
	return shaped, showWanted(c.op, value, c.negate), nil
}

func (c *Condition) typeError(err error) error {
	return &TypeError{Field: c.field, Operator: c.op.name, Problem: err.Error()}
}
