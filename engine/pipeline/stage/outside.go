package stage

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/engine/identity"
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
	// ExternalWithSecrets is External with what the calls were authenticated by, where an answer repeats it; for content alone.
	ExternalWithSecrets map[string]any

	// Provided holds the outputs of what providers have made, by id; nil until the cycle has come to them.
	Provided map[string]any
	// ProvidedWithSecrets is Provided with the outputs that are secret, for content alone.
	ProvidedWithSecrets map[string]any

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

// MayRead says whether the account of the box may read objects of a kind in a namespace: the one of a name, or without a name all of them.
// The answer is an input of the cycle, and expires: what was read under a right that is withdrawn is not given any more. A refusal is a
// *WithheldError.
func (c *Cycle) MayRead(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) error {
	if c.Ports.Access == nil {
		return nil
	}
	until, err := c.Ports.Access.Reads(ctx, kind, namespace, name)
	c.ReconcileAt(until)
	return err
}

// WithheldError says that the account of a box may not read something.
type WithheldError struct {
	// Account that lacks the right.
	Account identity.Account
	// What it may not read.
	What string
}

// Error gives one line.
func (e *WithheldError) Error() string {
	return fmt.Sprintf("%s may not read %s; the box's condition PermissionsGranted names the right", e.Account, e.What)
}
