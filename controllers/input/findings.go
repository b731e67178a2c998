package input

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/engine/suggest"
)

// Source is what found a mistake.
type Source int

const (
	// FromSchema is the schema of the kind, or a Go type.
	FromSchema Source = iota
	fromRules         // the CEL rules in that schema
	// FromCompile is the compiler of boxes.
	FromCompile
)

// finding is an error that one of the checks has found. Another finding may say the same better: see distinct.
type finding struct {
	source Source
	err    *field.Error
	steps  []step // the path of the error, taken apart
	path   string // the same as text, in one spelling
}

// Findings collects what all checks find wrong with one document.
type Findings struct {
	written map[string]any // the document as written: defaults and pruning would change what a path means
	all     []finding
}

// NewFindings gives no findings of a document with this content.
func NewFindings(written map[string]any) *Findings { return &Findings{written: written} }

// Mistakes gives one mistake for each of them, with its place in the document.
func (f *Findings) Mistakes(doc Document) []Mistake {
	distinct := f.distinct()
	mistakes := make([]Mistake, 0, len(distinct))
	for _, found := range distinct {
		line, column := doc.places.at(found.steps)
		mistakes = append(mistakes, Mistake{Path: found.path, Message: message(found.err), Line: line, Column: column})
	}
	if f.isFull() {
		mistakes = append(mistakes, Mistake{Message: fmt.Sprintf("there are more than %d mistakes: mend these first", maxFindings)})
	}
	return mistakes
}

// maxFindings is how many are looked at of one document: each is compared with others.
const maxFindings = 2000

func (f *Findings) isFull() bool { return len(f.all) >= maxFindings }

// Exceed says whether the document has more of something than its schema allows, or more mistakes than are looked at. To look further would take
// longer than anybody waits.
func (f *Findings) Exceed() bool {
	return f.isFull() || slices.ContainsFunc(f.all, func(known finding) bool {
		return known.err.Type == field.ErrorTypeTooMany || known.err.Type == field.ErrorTypeTooLong
	})
}

// Add adds errors, whose paths are those of the document as written.
func (f *Findings) Add(s Source, errs ...*field.Error) {
	for _, e := range errs {
		if f.isFull() {
			return
		}
		// Errors of the root have no path, which field.Path spells "<nil>".
		steps := parsePath(strings.TrimPrefix(e.Field, "<nil>"), f.written)
		f.all = append(f.all, finding{source: s, err: e, steps: steps, path: pathString(steps)})
	}
}

// Tells says whether something is known to be wrong at a path or below it.
func (f *Findings) Tells(path string) bool {
	if f.isFull() {
		return true
	}
	steps := parsePath(path, f.written)
	return slices.ContainsFunc(f.all, func(known finding) bool {
		return len(known.steps) >= len(steps) && slices.Equal(known.steps[:len(steps)], steps)
	})
}

// distinct leaves one message for each mistake. One mistake is often found by several of the checks, and what follows from it is found
// too: a misspelled field is unknown, and the field that was meant is missing.
func (f *Findings) distinct() []finding {
	return slices.DeleteFunc(slices.Clone(f.all), reportedBy(f.all).covers)
}

// reported is what the findings of a document say together, by path.
type reported struct {
	meant      map[string]bool // paths of fields that were written with another spelling
	misspelled map[string]bool // paths of objects that have an unknown field
	settled    map[string]bool // paths of fields that are missing or unknown by the schema: no other check says it better
	compiled   map[string]bool // paths of errors of the compiler
	explains   map[string]bool // paths of objects of which the compiler says that a field is missing or may not be there
}

func reportedBy(found []finding) reported {
	o := reported{
		meant: map[string]bool{}, misspelled: map[string]bool{}, settled: map[string]bool{}, compiled: map[string]bool{}, explains: map[string]bool{},
	}
	for _, f := range found {
		missing, parent := f.err.Type == field.ErrorTypeRequired, f.parent()
		unknown := unknownName.FindStringSubmatch(f.err.Detail)
		if unknown != nil {
			o.misspelled[pathString(parent)] = true
			if unknown[1] != "" {
				o.meant[pathString(below(parent, step{name: unknown[1]}))] = true
			}
		}
		switch f.source {
		case FromCompile:
			o.compiled[f.path] = true
			o.explains[pathString(parent)] = o.explains[pathString(parent)] || missing || f.err.Type == field.ErrorTypeForbidden
		case FromSchema:
			o.settled[f.path] = o.settled[f.path] || missing || unknown != nil
		case fromRules:
		}
	}
	return o
}

// unknownName finds the nearest valid name in an error about an unknown one.
var unknownName = regexp.MustCompile(`^unknown (?:field|key)(?:, did you mean "(.*?)"\?)?`)

// covers says whether another finding says what f says, or its cause, so that f is left out.
func (o reported) covers(f finding) bool {
	if f.err.Type == field.ErrorTypeRequired && f.source != fromRules {
		// The operator of a condition may be written as one of many short forms, so a misspelled one makes it missing too.
		shortForm := o.misspelled[pathString(f.parent())] && f.steps[len(f.steps)-1].name == "operator"
		return o.meant[f.path] || shortForm || f.source == FromCompile && o.settled[f.path]
	}
	switch f.source {
	case FromCompile:
		return o.settled[f.path]
	case fromRules:
		return o.misspelled[f.path] || o.explains[f.path] || o.compiled[f.path]
	default:
		return o.compiled[f.path] && !o.settled[f.path]
	}
}

func (f finding) parent() []step { return f.steps[:max(0, len(f.steps)-1)] }

var (
	// inBody is how the OpenAPI validator names the field a second time.
	inBody = regexp.MustCompile(`^\S* ?in body `)
	// ofType is what it says of a wrong type.
	ofType = regexp.MustCompile(`^must be of type (\w+): "(\w+)"$`)
	// quoted finds the valid values in a message.
	quoted = regexp.MustCompile(`"([^"]*)"`)
)

// message says what is wrong without the path, on one line.
func message(e *field.Error) string {
	short := *e
	short.Detail = inBody.ReplaceAllString(strings.Join(strings.Fields(e.Detail), " "), "")
	if _, ok := e.BadValue.(field.OmitValueType); ok || e.Type == field.ErrorTypeForbidden || unknownName.MatchString(short.Detail) {
		return short.Detail
	}
	switch e.Type {
	case field.ErrorTypeTypeInvalid:
		if m := ofType.FindStringSubmatch(short.Detail); m != nil {
			return wrongType("want "+m[1], m[2])
		}
		return wrongType(short.Detail, fmt.Sprint(e.BadValue))
	case field.ErrorTypeNotSupported:
		var valid []string
		for _, m := range quoted.FindAllStringSubmatch(short.Detail, -1) {
			valid = append(valid, m[1])
		}
		return fmt.Sprintf("%s: %q%s (supported: %s)", e.Type, fmt.Sprint(e.BadValue), suggest.DidYouMean(fmt.Sprint(e.BadValue), valid), strings.Join(valid, ", "))
	default:
		short.BadValue = excerpt(e.BadValue)
		return short.ErrorBody()
	}
}

// wrongType says what to do where YAML reads a word or a number that was meant as text.
func wrongType(want, got string) string {
	want, hint, hinted := strings.Cut(want, "; ")
	text := want + ", got " + got
	switch {
	case hinted:
		return text + "; " + hint
	case want != "want string":
		return text
	case got == "boolean":
		return text + ": YAML reads y, n, yes, no, on, off, true and false as booleans; put it in quotes"
	case got == "integer" || got == "number":
		return text + "; put it in quotes"
	default:
		return text
	}
}

// maxExcerpt is the number of characters of a value that a message shows.
const maxExcerpt = 200

// excerpt cuts a value that is too long to be read.
func excerpt(value any) any {
	text := []rune(fmt.Sprint(value))
	if len(text) <= maxExcerpt {
		return value
	}
	return string(text[:maxExcerpt-1]) + "…"
}
