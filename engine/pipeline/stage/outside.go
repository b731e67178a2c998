package stage

import (
	"slices"

	"github.com/orkspace/orkestra/engine/pipeline/compile"
)

// Outside is what a cycle has read from outside.
type Outside struct {
	// Cross holds what sources gave, by their names; nil until the cycle has come to them.
	Cross map[string]any
	// CrossWithSecrets is Cross with what Secrets hold, for the templates of children alone (design: surface.md, "Secrets").
	CrossWithSecrets map[string]any
	// External holds what calls gave, by their names; nil until the cycle has come to them.
	External map[string]any

	known   map[compile.Outside]bool // what the cycle has come to: also what is absent is known then
	lacking map[compile.Outside]bool // what is required and absent: what reads it does not act
}

func newOutside() Outside {
	return Outside{known: map[compile.Outside]bool{}, lacking: map[compile.Outside]bool{}}
}

// Know notes that the cycle has come to a source.
func (o *Outside) Know(s compile.Outside) { o.known[s] = true }

// Lack notes that a source is required and absent.
func (o *Outside) Lack(s compile.Outside) { o.lacking[s] = true }

// LacksAny says whether anything is required and absent.
func (o *Outside) LacksAny() bool { return len(o.lacking) > 0 }

// Knows says whether this cycle has come to all of these. What it has not come to is not absent.
func (o *Outside) Knows(all []compile.Outside) bool {
	return !slices.ContainsFunc(all, func(s compile.Outside) bool { return !o.known[s] })
}

// Lacks says whether one of these is required and absent.
func (o *Outside) Lacks(names []compile.Outside) bool {
	return slices.ContainsFunc(names, func(s compile.Outside) bool { return o.lacking[s] })
}
