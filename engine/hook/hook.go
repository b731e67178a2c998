// Package hook is the contract of Go code that takes part in the reconciles of a box: hooks, which run beside its templates, and
// constructors, which replace them. It is the one package that such code imports, and stays compatible.
//
// A hook reads through the Call that it is given, and says there what it wants: children, status, conditions, events. It writes nothing
// itself. What it declares is written when it returns, with the ownership, drift correction and pruning that children of templates have.
//
// The package knows nothing of boxes, plans or clients of the engine.
package hook

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ErrWait is returned by a hook that has to wait for something. It is no failure: what the hook has declared is written, what it made before
// stays, and the resource shows that it is reconciling. Wrapped, it says what for: fmt.Errorf("the import runs: %w", hook.ErrWait).
var ErrWait = errors.New("waiting")

// Hooks are what a function gives that spec.reconciler.hooks names. T is an API type of the user's own module, such as *v1.Database, or
// *unstructured.Unstructured. Each function may be nil. They are called by several goroutines at the same time, for different resources.
//
// An error ends the cycle of that resource and shows in its status; nothing of what the hook declared is written then, and what it has made
// before stays. Any error is tried again with growing pauses, but for three kinds: one of the API server counts as it does for templates (a
// missing right waits for the right); and a reconcile.TerminalError, and a mistake, are not tried again until something changes that the hook has
// read. A mistake is what Apply, SetStatus and SetCondition refuse, a kind that is not listed, and a resource or arguments that do not fit their
// Go types. A panic is an error that is tried again. An error that Apply, SetStatus or SetCondition returns is that of the hook, also where the
// hook ignores it. Wait, Event and Warn return nothing: a reason that is not one word, or more of them than the limit, fails the hook in the
// same way.
//
// A hook must return when its context ends. One that does not keeps a worker of its box until it does, and the box shows that it is stuck when
// all of its workers are kept so. Goroutines that a hook starts and leaves behind are nobody's: they are neither ended nor counted.
type Hooks[T client.Object] struct {
	// OnCreate is called until the resource is Active: until a cycle has first succeeded with nothing left to wait for. It comes before
	// OnReconcile.
	OnCreate func(context.Context, *Call[T]) error
	// OnUpdate is called in the cycles of an Active resource until one has succeeded at its generation: after each change of its spec. It
	// comes before OnReconcile.
	OnUpdate func(context.Context, *Call[T]) error
	// OnReconcile is called in every cycle: when something has changed of the resource, its children, or what was read, and at each resync.
	OnReconcile func(context.Context, *Call[T]) error
	// OnDelete is called while the resource is being deleted, after the box's onDelete and before its children and finalizers go. It is
	// called again until it returns nil, and must stand being called again after that. It declares no children.
	OnDelete func(context.Context, *Call[T]) error
	// Pure says that what the hooks do depends on nothing but what they read through the Call, which includes Now only where they ask for
	// RequeueAfter. They are not called then while none of it has changed. Default: they are called at every resync, too.
	Pure bool
}

// Call is one call of a hook, for one resource. It is used by one goroutine, and worth nothing when the hook has returned.
type Call[T client.Object] struct {
	// Resource is a copy of the resource after normalize, mutation and validation; in OnDelete, as it is stored. Changes of it are not kept.
	Resource T

	Cycle
}
