package expr

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/orkspace/orkestra/engine/suggest"
)

// AbsentError says that a template read something that is not there, in a place where that matters. It names paths and
// types only, never values: what stands in children may be secret.
type AbsentError struct {
	// Path is what was read. It is empty where a function had no value to work on.
	Path Path

	// what stands for Path where there is none.
	what string
	// found says what was there instead, such as "spec.image is a string"; it may be empty.
	found string
	// hint says what to do where it may be absent; empty for templates.
	hint string
}

// Error names what is absent and what to do about it.
func (e *AbsentError) Error() string {
	var b strings.Builder
	switch {
	case len(e.Path) == 0 && e.hint != "":
		b.WriteString(e.what)
	case len(e.Path) == 0:
		b.WriteString(e.what + ": no value")
	case e.Path[0] == rootChildren:
		b.WriteString(e.Path.String() + ": no such child or field yet")
	case e.Path[0] == rootCross:
		b.WriteString(e.Path.String() + ": no such object or field yet")
	case e.Path[0] == rootExternal:
		b.WriteString(e.Path.String() + ": no such field in the answer")
	default:
		b.WriteString(e.Path.String() + ": no such field in this resource")
	}
	if e.found != "" {
		b.WriteString(" (" + e.found + ")")
	}
	b.WriteString("; where it may be absent, " + cmp.Or(e.hint, "use default or if"))
	return b.String()
}

// IsAbsent says whether err comes from reading something that is not there.
func IsAbsent(err error) bool {
	_, ok := errors.AsType[*AbsentError](err)
	return ok
}

// The limits of one evaluation.
const (
	maxOutput     = 1 << 20     // bytes of text, and the weight of values
	maxMemory     = 16 << 20    // bytes of all that functions make, whether it is still used or not
	maxWork       = 100_000_000 // bytes and elements that functions walk through, and what their calls cost
	maxArguments  = 256         // of one call
	maxIterations = 10_000      // range bodies, template calls, and the length of a generated list
	maxDepth      = 32          // template calls inside one another
	maxNesting    = 100         // lists and maps inside one another; parentheses and blocks inside one another
	maxTime       = time.Second
	maxSlices     = 10 // of maxTime
)

// The names of the limits in a BudgetError.
const (
	limitOutput     = "output"
	limitIterations = "iterations"
	limitDepth      = "depth"
	limitNesting    = "nesting"
	limitTime       = "time"
	limitPattern    = "pattern"
	limitSearch     = "search"
	limitMemory     = "memory"
	limitWork       = "work"
	limitRendered   = "rendered"
	limitCost       = "cost"
	limitCELTime    = "time of CEL"
)

// FailError is what a template ends with that calls fail. Its text is made by the template, of whatever that reads.
type FailError struct {
	// Text is what the template says, shortened.
	Text string
}

// Error gives the text.
func (e *FailError) Error() string { return e.Text }

// BudgetError says that an evaluation went over one of its limits. Trying again cannot help.
type BudgetError struct {
	// Limit is the limit's name: output, memory, work, iterations, depth, nesting, time, pattern or search of a template, rendered of one reconcile, or
	// cost or time of a CEL expression.
	Limit string
	// Size is the limit's size with its unit, such as "1 MiB".
	Size string
}

// Error names the limit and its size.
func (e *BudgetError) Error() string {
	switch e.Limit {
	case limitCost:
		return fmt.Sprintf("over the cost limit of a CEL expression (%s)", e.Size)
	case limitCELTime:
		return fmt.Sprintf("over the time limit of a CEL expression (%s)", e.Size)
	case limitRendered:
		return fmt.Sprintf("over the limit of what the templates of one resource may give in one reconcile (%s)", e.Size)
	}
	return fmt.Sprintf("over the %s limit of a template (%s)%s", e.Limit, e.Size, wayOut[e.Limit])
}

// wayOut says what to do, where the limit alone does not.
var wayOut = map[string]string{
	limitPattern: ": repeat less, since {1,900} counts 900 times",
	limitSearch:  ": search in less text, or by a pattern that repeats less",
}

func overBudget(limit string) *BudgetError {
	e := &BudgetError{Limit: limit}
	switch limit {
	case limitOutput:
		e.Size = bytesText(maxOutput)
	case limitMemory:
		e.Size = bytesText(maxMemory)
	case limitRendered:
		e.Size = bytesText(maxRendered)
	case limitWork:
		e.Size = fmt.Sprintf("%d bytes and elements", maxWork)
	case limitIterations:
		e.Size = fmt.Sprint(maxIterations)
	case limitDepth:
		e.Size = fmt.Sprintf("%d template calls inside one another", maxDepth)
	case limitNesting:
		e.Size = fmt.Sprintf("%d levels", maxNesting)
	case limitCost:
		e.Size = fmt.Sprintf("%d units", uint64(maxCost))
	case limitPattern:
		e.Size = fmt.Sprintf("%d instructions", maxProgram)
	case limitSearch:
		e.Size = fmt.Sprintf("instructions of the pattern times bytes of the text: %d", maxSearch)
	case limitCELTime:
		e.Size = maxCELTime.String()
	default:
		e.Size = maxTime.String()
	}
	return e
}

// didYouMean ends a message with the nearest candidate. Very long names are nobody's slip, and would take long to compare.
func didYouMean(name string, candidates []string) string {
	if len(name) > 64 {
		return ""
	}
	return suggest.DidYouMean(name, candidates)
}

// shorten puts text on one line and cuts it to 64 runes.
func shorten(text string) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) <= 64 {
		return string(runes)
	}
	return string(runes[:63]) + "…"
}

// siteError adds the expression that went wrong, as it was written.
type siteError struct {
	expr string
	err  error
}

func (e *siteError) Error() string { return "evaluating " + e.expr + ": " + e.err.Error() }

func (e *siteError) Unwrap() error { return e.err }

// parsePrefix is what text/template puts before its errors.
var parsePrefix = regexp.MustCompile(`^template: [^:]*:(\d+)(?::\d+)?: (?:executing "[^"]*" at <.*>: )?`)

// translateParse puts the position of the action before a parse error, in place of the parser's own prefix.
func translateParse(text string, err error) error {
	message := err.Error()
	m := parsePrefix.FindStringSubmatch(message)
	if m == nil {
		return errors.New(shorten(message))
	}
	message = strings.Join(strings.Fields(strings.TrimPrefix(message, m[0])), " ")
	return fmt.Errorf("%s: %s", position(text, brokenAction(text)), message)
}

// translateExec gives the error of our own inside one of text/template. The few errors that text/template makes itself, such
// as a variable that was declared in another branch, hold no values.
func translateExec(text string, err error) error {
	if e, ok := errors.AsType[*siteError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*BudgetError](err); ok {
		return &siteError{expr: shorten(text), err: e}
	}
	return &siteError{expr: shorten(text), err: errors.New(parsePrefix.ReplaceAllString(err.Error(), ""))}
}
