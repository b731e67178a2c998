package cel

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

	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/suggest"
	"github.com/orkspace/orkestra/engine/value"
)

// errNoKey is what reading a field fails with that is not there. Its text is CEL's.
var errNoKey = errors.New("no such key")

// The messages of CEL's type checker that name what it does not know.
var (
	undefinedField = regexp.MustCompile(`^undefined field '(.*)'$`)
	undeclaredName = regexp.MustCompile(`^undeclared reference to '([^']*)'`)
	objectName     = regexp.MustCompile(`object\(([^()]*)\)`)
)

// translate makes one error of what is wrong with an expression: the first mistake, with its position.
func (t *typeProvider) translate(text string, issues *cel.Issues) error {
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
	return fmt.Errorf("%s: %s", where, t.explain(first.Message))
}

// explain puts the checker's words into ours where ours say more.
func (t *typeProvider) explain(message string) string {
	if m := undefinedField.FindStringSubmatch(message); m != nil {
		if err := t.missing[m[1]]; err != nil {
			return err.Error()
		}
	}
	if m := undeclaredName.FindStringSubmatch(message); m != nil {
		name := strings.TrimPrefix(m[1], ".")
		if roots.OfResource(name) && !t.roots.Hides(name) {
			return fmt.Sprintf("%s: the resource is self: write self.%s", name, name)
		}
		if err := t.roots.Check(name); err != nil && (t.roots.Hides(name) || name == roots.Values || strings.Contains(err.Error(), "only inside")) {
			return err.Error()
		}
		return fmt.Sprintf("%s: no such variable or function%s", value.Shorten(name), suggest.DidYouMean(name, append(variables(t.roots), functionNames()...)))
	}
	return typeText(message)
}

// functionNames are the names that a suggestion may offer besides the variables.
func functionNames() []string {
	base, err := newBase()
	if err != nil {
		return nil
	}
	var names []string
	for name := range base.env.Functions() {
		if value.IsPlain(name) && !strings.HasPrefix(name, "_") {
			names = append(names, name)
		}
	}
	return append(names, operators.Has, operators.All, operators.Exists, operators.ExistsOne, operators.Map, operators.Filter)
}

// typeText shows the types of objects by their paths alone, on one line.
func typeText(message string) string {
	return strings.Join(strings.Fields(objectName.ReplaceAllString(message, "the object $1")), " ")
}

// failed says what went wrong in an evaluation.
func (p *Expression) failed(ctx context.Context, d map[string]any, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if stopped, ok := errors.AsType[interpreter.EvalCancelledError](err); ok && stopped.Cause == interpreter.CostLimitExceeded {
		err = budget.Over(budget.Cost)
	} else if budget, ok := errors.AsType[*budget.ExceededError](err); ok {
		err = budget
	} else {
		err = p.problem(ctx, d, err)
	}
	return fmt.Errorf("evaluating cel %q: %w", value.Shorten(p.text), err)
}

// problem says what CEL failed with. What its own messages quote may come from children, and is not shown then.
func (p *Expression) problem(ctx context.Context, d map[string]any, err error) error {
	message := err.Error()
	if strings.HasPrefix(message, errNoKey.Error()) || strings.HasPrefix(message, "index out of bounds") {
		if absent := p.absent(ctx, d); absent != nil {
			return absent
		}
		for _, read := range p.reads {
			if absent := read.absent(d); absent != nil {
				return absent
			}
		}
		// Macros of two variables take no lists that know their place. Of what the expression reads of others, anything may be missing.
		for _, read := range p.reads {
			if !roots.OfResource(read.Path[0]) && read.Path[0] != roots.Box {
				return &roots.AbsentError{Path: read.Path, Hint: "use has() or an optional field (.?)"}
			}
		}
		return &roots.AbsentError{What: message, Hint: "use has() or an optional field (.?)"}
	}
	if p.own || strings.HasPrefix(message, "no such overload") || strings.HasPrefix(message, "division by zero") {
		return errors.New(value.Shorten(message))
	}
	return errors.New("CEL can't work on these values")
}

// absent gives the error of the first part of the place that has to be there and is not; nil where all are.
func (r Read) absent(d map[string]any) error {
	for n := 1; n <= r.must; n++ {
		if _, ok := value.Lookup(d, r.Path[:n]); ok {
			continue
		}
		place := r.Path[:n]
		if roots.OfResource(place[0]) {
			place = value.Path{rootSelf}.With(place...)
		}
		return &roots.AbsentError{Path: r.Path[:n], Hint: "use has(" + place.String() + ") or an optional field (.?)"}
	}
	return nil
}
