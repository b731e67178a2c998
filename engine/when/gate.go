package when

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
)

// Gate is a compiled pair of when and anyOf, or several that must all hold (the box's own and the declaration's). It is
// immutable. A nil gate is always open.
type Gate struct {
	groups []group
}

// group is one list of conditions.
type group struct {
	conditions []*Condition
	any        bool // one is enough
}

// Result is the answer of a gate.
type Result struct {
	Open     bool      // whether all lists hold
	Choice   bool      // whether choices alone closed it; waits were not evaluated then
	Unmet    []Verdict // the conditions that keep it closed, in the order they are written; a status shows the first
	NextFlip time.Time // the earliest moment at which the time changes an answer; zero: never
}

// CompileGate compiles when and anyOf; at is the object that holds them. It gives nil for a gate without conditions, and
// where there are errors.
func CompileGate(g v1alpha1.Gate, s *expr.Scope, at *field.Path) (*Gate, field.ErrorList) {
	all, errs := CompileAll(g.When, s, at.Child("when"))
	conditions, anyErrs := compileList(g.AnyOf, s, at.Child("anyOf"))
	errs = append(errs, anyErrs...)
	if len(errs) > 0 {
		return nil, errs
	}
	if len(conditions) == 0 {
		return all, nil
	}
	return Join(all, &Gate{groups: []group{{conditions: conditions, any: true}}}), nil
}

// CompileAll compiles a list of conditions that must all hold, such as readyWhen; at is the list. It gives nil for an empty one,
// and where there are errors.
func CompileAll(list []v1alpha1.Condition, s *expr.Scope, at *field.Path) (*Gate, field.ErrorList) {
	conditions, errs := compileList(list, s, at)
	if len(errs) > 0 || len(conditions) == 0 {
		return nil, errs
	}
	return &Gate{groups: []group{{conditions: conditions}}}, nil
}

func compileList(list []v1alpha1.Condition, s *expr.Scope, at *field.Path) ([]*Condition, field.ErrorList) {
	var conditions []*Condition
	var errs field.ErrorList
	for i := range list {
		c, err := Compile(list[i].Test, s, at.Index(i))
		conditions = append(conditions, c)
		errs = append(errs, err...)
	}
	return conditions, errs
}

// Join gives the gate that is open when all of gates are. Nil ones may be among them; of nothing else it makes nil.
func Join(gates ...*Gate) *Gate {
	var joined Gate
	for _, g := range gates {
		if g != nil {
			joined.groups = append(joined.groups, g.groups...)
		}
	}
	if len(joined.groups) == 0 {
		return nil
	}
	return &joined
}

// Eval answers for d at the moment now.
//
// Choices are evaluated first. They close the gate by themselves when one of a when is false, or when an anyOf has choices only and all
// are false: a wait in an anyOf could still open it. Waits are evaluated only if the choices have not decided. As with && and ||, an
// error counts only where no earlier choice (or wait) of the same list has decided the list.
func (g *Gate) Eval(ctx context.Context, d expr.Data, now time.Time) (Result, error) {
	if g == nil {
		return Result{Open: true}, nil
	}
	states := make([]state, len(g.groups))
	for _, waits := range []bool{false, true} {
		closed := false
		for i := range g.groups {
			if err := states[i].ask(ctx, &g.groups[i], waits, d, now); err != nil {
				return Result{}, err
			}
			closed = closed || states[i].closed
		}
		if closed {
			return Result{Choice: !waits, Unmet: unmet(states), NextFlip: nextFlip(states)}, nil
		}
	}
	return Result{Open: true, NextFlip: nextFlip(states)}, nil
}

// Paths gives all that the gate's conditions read, each path once.
func (g *Gate) Paths() []expr.Path {
	var paths []expr.Path
	for c := range g.all {
		paths = addPaths(paths, c.paths)
	}
	return paths
}

// Needs gives the paths below children without which the gate stays closed; the declarations of these children have to come first. An
// anyOf of several conditions needs none of its paths.
func (g *Gate) Needs() []expr.Path {
	if g == nil {
		return nil
	}
	var paths []expr.Path
	for _, group := range g.groups {
		if group.any && len(group.conditions) > 1 {
			continue
		}
		for _, c := range group.conditions {
			if c.cel != nil && !c.negate {
				paths = addPaths(paths, below(c.cel.predicate.Needs(), rootChildren))
				continue
			}
			if c.single && c.path[0] == rootChildren && c.op.absent == c.negate {
				paths = addPaths(paths, []expr.Path{c.path})
			}
			if c.falseWithoutItsChild() {
				paths = addPaths(paths, c.paths)
			}
		}
	}
	return paths
}

// falseWithoutItsChild says whether a condition whose template reads one child, and nothing else, is false while that child does not
// exist, such as one with jobSucceeded. What a function gives for an absent child is found out by evaluating it.
//
//nolint:contextcheck,nolintlint // a box is compiled without one, and the limits of templates hold; what the callers are told is not counted as a use
func (c *Condition) falseWithoutItsChild() bool {
	if c.cel != nil || c.single || c.value != nil || len(c.paths) != 1 || len(c.paths[0]) == 0 || c.paths[0][0] != rootChildren {
		return false
	}
	ctx := context.Background() //nolint:forbidigo // see above
	v, err := c.Eval(ctx, expr.Data{rootChildren: map[string]any{}}, time.Time{})
	return err == nil && !v.True
}

// below gives those of the paths that begin with a root.
func below(paths []expr.Path, root string) []expr.Path {
	return slices.DeleteFunc(slices.Clone(paths), func(p expr.Path) bool { return len(p) == 0 || p[0] != root })
}

// all goes over the conditions.
func (g *Gate) all(yield func(*Condition) bool) {
	if g == nil {
		return
	}
	for _, group := range g.groups {
		for _, c := range group.conditions {
			if !yield(c) {
				return
			}
		}
	}
}

// Message says in one line what keeps the gate closed: `spec.replicas: wanted at least 2, actual 1`. It is empty for an open one.
func (r Result) Message() string {
	if len(r.Unmet) == 0 {
		return ""
	}
	v := r.Unmet[0]
	if v.cel {
		return v.Broken("")
	}
	return clip(oneLine(v.Field), maxField) + ": wanted " + v.Wanted + ", actual " + v.Actual
}

// state is what is known of one list while a gate is evaluated.
type state struct {
	asked  int       // conditions that were evaluated
	unmet  []indexed // those of them that do not hold
	opened bool      // one of an anyOf holds
	closed bool      // the list does not hold, whatever the rest says
	flip   time.Time // see Result.NextFlip
}

type indexed struct {
	at int
	Verdict
}

// ask evaluates the choices or the waits of a list.
func (s *state) ask(ctx context.Context, g *group, waits bool, d expr.Data, now time.Time) error {
	if s.opened {
		return nil
	}
	for i, c := range g.conditions {
		if c.waits != waits {
			continue
		}
		s.asked++
		v, err := c.Eval(ctx, d, now)
		switch {
		case err != nil && !s.opened && !s.closed:
			return err
		case err != nil: // the list is decided without it
			continue
		case v.True:
			s.opened = s.opened || g.any
		default:
			s.unmet = append(s.unmet, indexed{i, v})
			s.closed = s.closed || !g.any
		}
		s.flip = earliest(s.flip, v.NextFlip)
	}
	if g.any && !s.opened {
		s.closed = s.asked == len(g.conditions)
	}
	return nil
}

// unmet gives what keeps the closed lists closed, as written.
func unmet(states []state) []Verdict {
	var out []Verdict
	for i := range states {
		if !states[i].closed {
			continue
		}
		slices.SortFunc(states[i].unmet, func(a, b indexed) int { return a.at - b.at })
		for _, u := range states[i].unmet {
			out = append(out, u.Verdict)
		}
	}
	return out
}

func nextFlip(states []state) time.Time {
	var next time.Time
	for i := range states {
		next = earliest(next, states[i].flip)
	}
	return next
}

// earliest gives the earlier of two moments, of which either may be zero: never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
