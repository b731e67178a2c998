package budget

import (
	"fmt"
	"time"

	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// The limits of one evaluation of a template.
const (
	MaxOutput     = 1 << 20     // bytes of text, and the weight of values
	MaxMemory     = 16 << 20    // bytes of all that functions make, whether it is still used or not
	MaxWork       = 100_000_000 // bytes and elements that functions walk through, and what their calls cost
	MaxArguments  = 256         // of one call
	MaxIterations = 10_000      // range bodies, template calls, and the length of a generated list
	MaxDepth      = 32          // template calls inside one another
	MaxNesting    = 100         // lists and maps inside one another; parentheses and blocks inside one another
	maxTime       = time.Second
	maxSlices     = 10 // of maxTime, at the end of each of which the evaluation may be over, or canceled
)

// The limits of one evaluation of a CEL expression.
const (
	// MaxCost is what it may cost, in the units of the API server: about a tenth of a second.
	MaxCost = celconfig.PerCallLimit
	// MaxCELTime ends an evaluation that the cost does not. It is generous: a busy machine must not make it fail.
	MaxCELTime = 5 * time.Second
)

// The limits of regular expressions (RE2, in templates and in CEL alike).
const (
	// MaxInstructions is how many a pattern may compile to: a few characters with counted repetitions can ask for millions.
	MaxInstructions = 16 << 10
	// BytesOfInstruction is what one takes in memory, with what leads to it.
	BytesOfInstruction = 200
	// maxSearch is the product of a pattern's instructions and the input's bytes: what one search may cost.
	maxSearch = 4 << 20
)

// maxRendered is what the evaluations of one reconcile may give together. All of it can be held until the last child is written.
const maxRendered = 8 << 20

// Limit is the name of a limit, as messages say it.
type Limit string

// The limits.
const (
	Output     Limit = "output"
	Iterations Limit = "iterations"
	Depth      Limit = "depth"
	Nesting    Limit = "nesting"
	Time       Limit = "time"
	Pattern    Limit = "pattern"
	Search     Limit = "search"
	Memory     Limit = "memory"
	Work       Limit = "work"
	Rendered   Limit = "rendered"
	Cost       Limit = "cost"
	CELTime    Limit = "time of CEL"
)

// ExceededError says that an evaluation went over one of its limits. Trying again cannot help.
type ExceededError struct {
	Limit Limit
	// Size is the limit's size with its unit, such as "1 MiB".
	Size string
}

// Error names the limit and its size.
func (e *ExceededError) Error() string {
	switch e.Limit {
	case Cost:
		return fmt.Sprintf("over the cost limit of a CEL expression (%s)", e.Size)
	case CELTime:
		return fmt.Sprintf("over the time limit of a CEL expression (%s)", e.Size)
	case Rendered:
		return fmt.Sprintf("over the limit of what the templates of one resource may give in one reconcile (%s)", e.Size)
	default:
		return fmt.Sprintf("over the %s limit of a template (%s)%s", e.Limit, e.Size, advice[e.Limit])
	}
}

// advice says what to do, where the limit alone does not.
var advice = map[Limit]string{
	Pattern: ": repeat less, since {1,900} counts 900 times",
	Search:  ": search in less text, or by a pattern that repeats less",
}

// Over gives the error of a limit that was exceeded.
func Over(limit Limit) *ExceededError {
	e := &ExceededError{Limit: limit}
	switch limit {
	case Output:
		e.Size = bytesText(MaxOutput)
	case Memory:
		e.Size = bytesText(MaxMemory)
	case Rendered:
		e.Size = bytesText(maxRendered)
	case Work:
		e.Size = fmt.Sprintf("%d bytes and elements", MaxWork)
	case Iterations:
		e.Size = fmt.Sprint(MaxIterations)
	case Depth:
		e.Size = fmt.Sprintf("%d template calls inside one another", MaxDepth)
	case Nesting:
		e.Size = fmt.Sprintf("%d levels", MaxNesting)
	case Cost:
		e.Size = fmt.Sprintf("%d units", uint64(MaxCost))
	case Pattern:
		e.Size = fmt.Sprintf("%d instructions", MaxInstructions)
	case Search:
		e.Size = fmt.Sprintf("instructions of the pattern times bytes of the text: %d", maxSearch)
	case CELTime:
		e.Size = MaxCELTime.String()
	default:
		e.Size = maxTime.String()
	}
	return e
}

func bytesText(n int64) string {
	const mega = 1 << 20
	if n < mega {
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n/mega)
}
