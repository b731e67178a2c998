package roots

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/orkspace/orkestra/engine/value"
)

// AbsentError says that an expression read something that is not there, in a place where that matters. It names paths and
// types only, never values: what stands in children may be secret.
type AbsentError struct {
	// Path is what was read. It is empty where a function had no value to work on.
	Path value.Path
	// What stands for Path where there is none: "argument 1 of trim", or the key that was looked up.
	What string
	// Found says what was there instead, such as "spec.image is a string"; it may be empty.
	Found string
	// Hint says what to do where it may be absent; empty for templates.
	Hint string
	// Through are the values that were read on the way to it, such as values.want, from the first to the last.
	Through []value.Path
	// Reads is all that the value reads below which Path is; nil: Path is not below a value.
	Reads []value.Path
}

// Become makes of the error that a value is absent the error of what the value has read in vain.
func (e *AbsentError) Become(cause *AbsentError) {
	through := append([]value.Path{e.Path[:2]}, cause.Through...)
	*e = *cause
	e.Through = through
}

// Below says whether what is absent is below a root, or is made of what is: it may come when that changes.
func (e *AbsentError) Below(root string) bool {
	return len(e.Path) > 0 && e.Path[0] == root || slices.ContainsFunc(e.Reads, func(p value.Path) bool { return p[0] == root })
}

// Place is where it is absent: the values that were read on the way, and the path, or what stands for it.
func (e *AbsentError) Place() string {
	var b strings.Builder
	for _, p := range e.Through {
		b.WriteString(p.String() + ": ")
	}
	if len(e.Path) == 0 {
		return b.String() + e.What
	}
	return b.String() + e.Path.String()
}

// Error names what is absent and what to do about it.
func (e *AbsentError) Error() string {
	var b strings.Builder
	place := e.Place()
	switch {
	case len(e.Path) == 0 && e.Hint != "":
		b.WriteString(place)
	case len(e.Path) == 0:
		b.WriteString(place + ": no value")
	case e.Path[0] == Children:
		b.WriteString(place + ": no such child or field yet")
	case e.Path[0] == Cross:
		b.WriteString(place + ": no such object or field yet")
	case e.Path[0] == Providers:
		b.WriteString(place + ": not made yet, or no such output")
	case e.Path[0] == External:
		b.WriteString(place + ": no such field in the answer")
	case e.Path[0] == Values:
		b.WriteString(place + ": no such field in the value")
	default:
		b.WriteString(place + ": no such field in this resource")
	}
	if e.Found != "" {
		b.WriteString(" (" + e.Found + ")")
	}
	b.WriteString("; where it may be absent, " + cmp.Or(e.Hint, "use default or if"))
	return b.String()
}

// IsAbsent says whether err comes from reading something that is not there.
func IsAbsent(err error) bool {
	_, ok := errors.AsType[*AbsentError](err)
	return ok
}
