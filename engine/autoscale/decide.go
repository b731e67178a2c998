package autoscale

import (
	"context"
	"strings"
	"time"
)

// State is what is known of a rule between two looks. The zero value is how it begins: the limits are those of the spec.
type State struct {
	// Active says that the limits are replaced.
	Active bool
	// Changed is when that changed last; zero: never.
	Changed time.Time
	// Unmet is since when the conditions have been false at every look; zero: they held at the last one.
	Unmet time.Time
	// Reason says why the limits are replaced, or have gone back; empty before the first change.
	Reason string
	// Problem says why the conditions could not be evaluated at the last look; empty: they were.
	Problem string
}

// Decide looks at the conditions once, and gives the next state. It is pure.
func (r *Rule) Decide(ctx context.Context, s State, m Measured, now time.Time) State {
	read := data(m, now)
	answer, err := r.gate.Eval(ctx, read, now)
	s.Problem = ""
	if err != nil {
		s.Problem = "the conditions can't be evaluated: " + strings.ReplaceAll(err.Error(), "\n", " ")
	}
	met := err == nil && answer.Open
	switch {
	case met:
		s.Unmet = time.Time{}
	case s.Unmet.IsZero():
		s.Unmet = now
	}
	if met == s.Active || !s.Changed.IsZero() && now.Sub(s.Changed) < r.interval {
		return s
	}
	if s.Active && now.Sub(s.Unmet) < r.cooldown {
		return s
	}
	s.Active, s.Changed = met, now
	if met {
		s.Reason = shown(r.gate.Paths(), read)
		return s
	}
	s.Reason = "the conditions have been false for " + now.Sub(s.Unmet).Round(time.Second).String()
	return s
}
