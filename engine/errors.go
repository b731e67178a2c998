package engine

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/worker"
)

// ErrNotStarted says that the engine does not run (yet, or any more); the caller tries again.
var ErrNotStarted = errors.New("the engine does not run")

// StuckError says that a box does not stop, because code that works for it does not come back although its context has ended. Nothing of the
// box is begun any more, and it can't start anew. BoxChanged tells when one of the resources comes back, and when the box has stopped.
type StuckError struct {
	// Box is its name.
	Box string
	// Resources are those whose reconciles do not end, sorted by namespace and name.
	Resources []types.NamespacedName
	// Constructor is the function that does not return; empty: none is called.
	Constructor string
}

// newStuckError says what of a box does not come back. runs says that its workers have begun.
func newStuckError(plan *pipeline.Plan, overdue *worker.Overdue, runs bool) *StuckError {
	err := &StuckError{Box: plan.Box, Resources: overdue.Keys()}
	if plan.Constructor != nil && !runs {
		err.Constructor = plan.Constructor.Name
	}
	return err
}

// Error implements error.
func (e *StuckError) Error() string {
	return fmt.Sprintf("box %q does not stop: it %s", e.Box, e.Waits())
}

// Waits says what the box waits for, as it follows the name of the box. It names three resources at most.
func (e *StuckError) Waits() string {
	what := "work that does not end"
	switch {
	case len(e.Resources) > 0:
		what = "reconciles that do not end: " + worker.Names(e.Resources)
	case e.Constructor != "":
		what = fmt.Sprintf("constructor %s, which does not return", e.Constructor)
	}
	return fmt.Sprintf("waits for %s; nothing of this box is reconciled until that is over, or the manager is restarted", what)
}
