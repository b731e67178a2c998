package hook

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Outcome is what a hook said while it was called, whether it is Go code or a webhook.
type Outcome struct {
	// Children that it declared, in order.
	Children []Child
	// Status are the fields that it set. Of two with one path, the later one counts.
	Status []StatusField
	// Conditions that it set.
	Conditions []metav1.Condition
	// StatusStays says that it said nothing of the status: the conditions that it set before stay.
	StatusStays bool
	// Waits are what it waits for.
	Waits []Wait
	// RequeueAfter has the resource reconciled again after that time; zero: nothing does.
	RequeueAfter time.Duration
	// Events to be sent.
	Events []Event
	// Secrets are the values that it read. They are not shown.
	Secrets []string
	// Credentials are the values of Secrets by which a webhook was asked. They are not shown either.
	Credentials []string

	ids        map[string]bool // of the children
	statusSize int             // of the fields, in bytes
	wrong      error           // the first thing that it said and that can't be
}

// The limits of what one call may say.
const (
	// MaxChildren is how many children a hook may declare, which is how many a resource may have.
	MaxChildren = 1000
	// MaxStatus is how many bytes the fields may have that a hook sets of the status, as JSON.
	MaxStatus = 256 << 10

	maxID   = 253 // characters of a child's id
	maxSaid = 32  // conditions, waits or events
)

// word is a reason: one word, as Kubernetes wants it of conditions.
var word = regexp.MustCompile(`^([A-Za-z]([A-Za-z0-9_]{0,62}[A-Za-z0-9])?)?$`)

// mistakeError is a mistake of code, or of what the box hands to it. It is a terminal error, without saying so to people: no retry mends it.
type mistakeError struct{ error }

func (e *mistakeError) Unwrap() error { return e.error }

// Is says that it is one.
func (*mistakeError) Is(target error) bool { return errors.Is(target, reconcile.TerminalError(nil)) }

// mistake notes something that can't be, so that it counts also where the hook ignores it: a child that is not declared by mistake would be
// deleted.
func (o *Outcome) mistake(err error) error {
	err = &mistakeError{err}
	if o.wrong == nil {
		o.wrong = err
	}
	return err
}

// says notes what is wrong with the reason of a wait or an event, and with their number.
func (o *Outcome) says(what, reason string, before int) bool {
	switch {
	case !word.MatchString(reason):
		_ = o.mistake(fmt.Errorf("%s: the reason %q is not one word in CamelCase, such as Importing", what, reason)) // it is noted
	case before >= maxSaid:
		_ = o.mistake(fmt.Errorf("%s %s: at most %d in one call", what, reason, maxSaid)) // it is noted
	default:
		return true
	}
	return false
}

// Child is an object that a hook declared.
type Child struct {
	// ID tells it from the other children of the hook. Default: its kind and name.
	ID string
	// Object as it is declared.
	Object *unstructured.Unstructured
	// Once, Adopt, Orphan and Replace are the fields of these names of a declaration: once, adopt: IfUnowned, deletionPolicy: Orphan, replace.
	Once, Adopt, Orphan, Replace bool
	// At is where the answer of a webhook says it, such as children[2]; empty: Go code does.
	At string
}

// StatusField is a field of a status.
type StatusField struct {
	// Path below status, such as "database.users".
	Path string
	// Value as JSON.
	Value any
}

// Wait is what a resource waits for.
type Wait struct {
	// Reason is one word in CamelCase. Default: WaitingForHook.
	Reason string
	// Message for people.
	Message string
}

// Event is something that has happened.
type Event struct {
	// Reason is one word in CamelCase.
	Reason string
	// Message for people.
	Message string
	// Warning says that it is of the type Warning.
	Warning bool
}

// ApplyOption says how a child is made.
type ApplyOption func(*Child)

// WithID names the child: templates read it as .children.hook.<id>, and a child whose name changes is replaced by the one with the same id.
func WithID(id string) ApplyOption { return func(c *Child) { c.ID = id } }

// Once makes the child once and does not put it back.
func Once() ApplyOption { return func(c *Child) { c.Once = true } }

// Adopt takes over an object that is there and has no owner.
func Adopt() ApplyOption { return func(c *Child) { c.Adopt = true } }

// Orphan leaves the child when it is declared no more, or when the resource is deleted.
func Orphan() ApplyOption { return func(c *Child) { c.Orphan = true } }

// Replace deletes the child and makes it again where it can't be changed.
func Replace() ApplyOption { return func(c *Child) { c.Replace = true } }
