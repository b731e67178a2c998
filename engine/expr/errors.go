package expr

import (
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
}

// Error names what is absent and what to do about it.
func (e *AbsentError) Error() string {
	var b strings.Builder
	switch {
	case len(e.Path) == 0:
		b.WriteString(e.what + ": no value")
	case e.Path[0] == rootChildren:
		b.WriteString(e.Path.String() + ": no such child or field yet")
	default:
		b.WriteString(e.Path.String() + ": no such field in this resource")
	}
	if e.found != "" {
		b.WriteString(" (" + e.found + ")")
	}
	b.WriteString(`; where it may be absent, use default or if`)
	return b.String()
}

// IsAbsent says whether err comes from reading something that is not there.
func IsAbsent(err error) bool {
	_, ok := errors.AsType[*AbsentError](err)
	return ok
}

// The limits of one evaluation.
const (
	maxOutput     = 1 << 20 // bytes of text, and the weight of values
	maxIterations = 10_000  // range bodies, template calls, and the length of a generated list
	maxDepth      = 32      // template calls inside one another
	maxNesting    = 100     // lists and maps inside one another; parentheses and blocks inside one another
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
)

// BudgetError says that an evaluation went over one of its limits. Trying again cannot help.
type BudgetError struct {
	// Limit is the limit's name: output, iterations, depth, nesting or time.
	Limit string
	// Size is the limit's size with its unit, such as "1 MiB".
	Size string
}

// Error names the limit and its size.
func (e *BudgetError) Error() string {
	return fmt.Sprintf("over the %s limit of a template (%s)", e.Limit, e.Size)
}

func overBudget(limit string) *BudgetError {
	e := &BudgetError{Limit: limit}
	switch limit {
	case limitOutput:
		e.Size = "1 MiB"
	case limitIterations:
		e.Size = fmt.Sprint(maxIterations)
	case limitDepth:
		e.Size = fmt.Sprintf("%d template calls inside one another", maxDepth)
	case limitNesting:
		e.Size = fmt.Sprintf("%d levels", maxNesting)
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

// translateParse removes the prefix from a parse error, and says the line where there are several.
func translateParse(text string, err error) error {
	message := err.Error()
	m := parsePrefix.FindStringSubmatch(message)
	if m == nil {
		return errors.New(shorten(message))
	}
	message = strings.Join(strings.Fields(strings.TrimPrefix(message, m[0])), " ")
	if strings.Contains(text, "\n") {
		message = "line " + m[1] + ": " + message
	}
	return errors.New(message)
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
