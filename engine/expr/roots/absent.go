package roots

import (
	"cmp"
	"errors"
	"strings"

	"github.com/orkspace/orkestra/engine/value"
)

// AbsentError says that an expression read something that is not there, in a place where that matters. It names paths and
// types only, never values: what stands in children may be secret.
type AbsentError struct {
	// Path is what was read. It is empty where a function had no value to work on.
	Path value.Path
	// What stands for Path where there is none: "argument 1 of trim".
	What string
	// Found says what was there instead, such as "spec.image is a string"; it may be empty.
	Found string
	// Hint says what to do where it may be absent; empty for templates.
	Hint string
}

// Error names what is absent and what to do about it.
func (e *AbsentError) Error() string {
	var b strings.Builder
	switch {
	case len(e.Path) == 0 && e.Hint != "":
		b.WriteString(e.What)
	case len(e.Path) == 0:
		b.WriteString(e.What + ": no value")
	case e.Path[0] == Children:
		b.WriteString(e.Path.String() + ": no such child or field yet")
	case e.Path[0] == Cross:
		b.WriteString(e.Path.String() + ": no such object or field yet")
	case e.Path[0] == External:
		b.WriteString(e.Path.String() + ": no such field in the answer")
	default:
		b.WriteString(e.Path.String() + ": no such field in this resource")
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
