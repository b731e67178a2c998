package expr

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/interpreter"
)

// errNoKey is what reading a field fails with that is not there. Its text is CEL's.
var errNoKey = errors.New("no such key")

// The messages of CEL's type checker that name what it does not know.
var (
	celUndefined  = regexp.MustCompile(`^undefined field '(.*)'$`)
	celUndeclared = regexp.MustCompile(`^undeclared reference to '([^']*)'`)
	celObjectName = regexp.MustCompile(`object\(([^()]*)\)`)
)

// translate makes one error of what is wrong with an expression: the first mistake, with its position.
func (t *celTypes) translate(s *Scope, text string, issues *cel.Issues) error {
	found := slices.Clone(issues.Errors())
	slices.SortStableFunc(found, func(a, b *common.Error) int {
		if d := a.Location.Line() - b.Location.Line(); d != 0 {
			return d
		}
		return a.Location.Column() - b.Location.Column()
	})
	first := found[0]
	where := fmt.Sprintf("column %d", max(first.Location.Column(), 0)+1)
	if strings.Contains(text, "\n") {
		where = fmt.Sprintf("line %d, %s", first.Location.Line(), where)
	}
	return fmt.Errorf("%s: %s", where, t.explain(s, first.Message))
}

// explain puts the checker's words into ours where ours say more.
func (t *celTypes) explain(s *Scope, message string) string {
	if m := celUndefined.FindStringSubmatch(message); m != nil {
		if err := t.missing[m[1]]; err != nil {
			return err.Error()
		}
	}
	if m := celUndeclared.FindStringSubmatch(message); m != nil {
		name := strings.TrimPrefix(m[1], ".")
		if ofResource(name) && !s.hidden[name] {
			return fmt.Sprintf("%s: the resource is self: write self.%s", name, name)
		}
		if err := s.checkRoot(name); err != nil && (s.hidden[name] || strings.Contains(err.Error(), "only inside")) {
			return err.Error()
		}
		return fmt.Sprintf("%s: no such variable or function%s", shorten(name), didYouMean(name, append(s.variables(), celFunctions()...)))
	}
	return typeText(message)
}

// celFunctions are the names that a suggestion may offer besides the variables.
func celFunctions() []string {
	base, err := newCELBase()
	if err != nil {
		return nil
	}
	var names []string
	for name := range base.env.Functions() {
		if isPlain(name) && !strings.HasPrefix(name, "_") {
			names = append(names, name)
		}
	}
	return append(names, operators.Has, operators.All, operators.Exists, operators.ExistsOne, operators.Map, operators.Filter)
}

// typeText shows the types of objects by their paths alone, on one line.
func typeText(message string) string {
	return strings.Join(strings.Fields(celObjectName.ReplaceAllString(message, "the object $1")), " ")
}

// failed says what went wrong in an evaluation.
func (p *Predicate) failed(ctx context.Context, d Data, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if stopped, ok := errors.AsType[interpreter.EvalCancelledError](err); ok && stopped.Cause == interpreter.CostLimitExceeded {
		err = overBudget(limitCost)
	} else if budget, ok := errors.AsType[*BudgetError](err); ok {
		err = budget
	} else {
		err = p.problem(d, err)
	}
	return fmt.Errorf("evaluating cel %q: %w", shorten(p.text), err)
}

// problem says what CEL failed with. What its own messages quote may come from children, and is not shown then.
func (p *Predicate) problem(d Data, err error) error {
	message := err.Error()
	if strings.HasPrefix(message, errNoKey.Error()) || strings.HasPrefix(message, "index out of bounds") {
		for _, read := range p.reads {
			if absent := read.absent(d); absent != nil {
				return absent
			}
		}
		if !p.own {
			message = errNoKey.Error()
		}
		return &AbsentError{what: message, hint: "use has() or an optional field (.?)"}
	}
	if p.own || strings.HasPrefix(message, "no such overload") || strings.HasPrefix(message, "division by zero") {
		return errors.New(shorten(message))
	}
	return errors.New("CEL can't work on these values")
}

// absent gives the error of the first part of the place that has to be there and is not; nil where all are.
func (r Read) absent(d Data) error {
	for n := 1; n <= r.must; n++ {
		if _, ok := Lookup(d, r.Path[:n]); ok {
			continue
		}
		place := r.Path[:n]
		if ofResource(place[0]) {
			place = Path{rootSelf}.with(place...)
		}
		return &AbsentError{Path: r.Path[:n], hint: "use has(" + place.String() + ") or an optional field (.?)"}
	}
	return nil
}
