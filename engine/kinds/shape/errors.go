package shape

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/engine/suggest"
	"github.com/orkspace/orkestra/engine/value"
)

// FieldError says which field of a declaration is wrong, and why.
type FieldError struct {
	// Path of the field, such as `env[0].value`.
	Path string
	// Want is what the field should be: "integer". Empty where the field may not be there at all.
	Want string
	// Got is the type of what it is, as in JSON: "string"; "nothing" where it is missing. Where Want is empty it says what
	// the field is: "unknown field", or with a Value, what that should be.
	Got string
	// Value is what it is, at most 64 characters; empty for objects and arrays. It may come from a Secret, so Error does
	// not show it: see WithValue.
	Value string
	// Hint says what to do; it is the end of the message.
	Hint string
	// Place says where what an unknown field means stands instead, or is empty.
	Place string
	// Near is the valid name that an unknown field most likely stands for, or empty.
	Near string
}

// The values of Got that are not types.
const (
	// GotNothing says that the field is missing.
	GotNothing = "nothing"
	gotUnknown = "unknown field"
)

// maxExcerpt is the number of characters of a value that an error carries.
const maxExcerpt = 64

// Missing says of a field that it must be there, and what it should be.
func Missing(path, want string) *FieldError {
	return &FieldError{Path: path, Want: want, Got: GotNothing}
}

// Error gives the path and what is wrong there, without the value.
func (e *FieldError) Error() string {
	return e.at() + e.problem()
}

// WithValue gives the same message and the value. It is only for values that their readers may see.
func (e *FieldError) WithValue() string {
	if e.Value == "" {
		return e.Error()
	}
	return fmt.Sprintf("%s %q", e.Error(), e.Value)
}

// Unknown says whether the field is one that its kind does not have.
func (e *FieldError) Unknown() bool {
	return e.Got == gotUnknown
}

func (e *FieldError) at() string {
	if e.Path == "" {
		return ""
	}
	return e.Path + ": "
}

func (e *FieldError) problem() string {
	switch {
	case e.Unknown() && e.Place != "":
		return gotUnknown + "; " + e.Place
	case e.Unknown() && e.Near != "":
		return fmt.Sprintf("%s, did you mean %q?", gotUnknown, e.Near)
	case e.Want == "":
		return e.Got
	default:
		return fmt.Sprintf("want %s, got %s%s", e.Want, e.Got, e.Hint)
	}
}

// below gives the error as one of a field below at.
func (e *FieldError) below(at *field.Path) *field.Error {
	path := e.Path
	if at != nil {
		path = JoinPath(at.String(), e.Path)
	}
	switch {
	case e.Want == "" && e.Value == "":
		return &field.Error{Type: field.ErrorTypeForbidden, Field: path, BadValue: "", Detail: e.problem()}
	case e.Got == GotNothing:
		return &field.Error{Type: field.ErrorTypeRequired, Field: path, BadValue: "", Detail: e.Want}
	case e.Value == "":
		return &field.Error{Type: field.ErrorTypeTypeInvalid, Field: path, BadValue: e.Got, Detail: "want " + e.Want + e.Hint}
	default:
		return &field.Error{Type: field.ErrorTypeInvalid, Field: path, BadValue: e.Value, Detail: e.problem()}
	}
}

func unknownField(name string, known []string) *FieldError {
	e := &FieldError{Got: gotUnknown, Near: suggest.Nearest(name, known)}
	for _, p := range places[name] {
		if slices.Contains(known, p.beside) {
			e.Place = p.text
		}
	}
	return e
}

// place is a hint for an unknown field. It is given where the object has the field beside, which tells short forms and containers apart.
type place struct{ beside, text string }

// places are the hints for fields that people know from Kubernetes or kro, and that a declaration has elsewhere or under another name.
var places = map[string][]place{
	"livenessProbe":  {{"probes", "write probes: {liveness: …}"}},
	"readinessProbe": {{"probes", "write probes: {readiness: …}"}},
	"startupProbe":   {{"probes", "write probes: {startup: …}"}},
	"template":       {{"image", "a pod template goes under spec, as spec: {template: …}"}, {"manifest", "write manifest for the object"}},
	"externalRef":    {{"manifest", readOnly}, {"image", readOnly}},
	"includeWhen":    {{"manifest", "write when: [{cel: …}]"}, {"image", "write when: [{cel: …}]"}},
	"containers":     {{"image", "the short fields describe one container; others are sidecars, or go under spec, as spec: {template: {spec: {containers: …}}}"}},
	"port":           {{"containerPort", inContainer}},
	"targetPort":     {{"containerPort", inContainer}},
	"containerPort":  {{"targetPort", "write port, and targetPort for the container's"}, {"probes", "write port"}},
}

// readOnly says where objects stand that are only read.
const readOnly = "an object that is read and not made goes under spec.cross, as cross: [{name: …, apiVersion: …, kind: …, selector: {name: …}}], and is read as .cross.<name>"

// inContainer says what a container's port is called.
const inContainer = "write containerPort: the port that the container listens on"

// word says in a message what is wanted.
func (s *Shape) word() string {
	switch {
	case (s.Form == FormInteger || s.Form == FormUnsigned) && s.Bits < 64:
		return strconv.Itoa(s.Bits) + "-bit " + words[s.Form]
	case s.Form == FormQuantity:
		return words[s.Form] + quantityExamples
	default:
		return words[s.Form]
	}
}

func (w *walker) fail(e *FieldError) {
	w.errs = append(w.errs, e)
}

// under, underKey and underIndex put one step in front of the paths of the errors that were found since errs had the length before. Each
// level of the walk adds its own step on the way back, so that a tree without errors builds no paths at all.
func (w *walker) under(before int, name string) {
	for _, e := range w.errs[before:] {
		e.Path = JoinPath(name, e.Path)
	}
}

func (w *walker) underKey(before int, key string) {
	for _, e := range w.errs[before:] {
		e.Path = JoinPath("["+key+"]", e.Path)
	}
}

func (w *walker) underIndex(before, i int) {
	if len(w.errs) > before {
		w.underKey(before, strconv.Itoa(i))
	}
}

// sorted gives the errors in the order of their paths, whatever order the maps were read in.
func (w *walker) sorted() []*FieldError {
	slices.SortStableFunc(w.errs, func(a, b *FieldError) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.problem(), b.problem()))
	})
	return w.errs
}

// first gives the first error, below at.
func (w *walker) first(at string) error {
	if len(w.errs) == 0 {
		return nil
	}
	e := *w.sorted()[0]
	e.Path = JoinPath(at, e.Path)
	return &e
}

// JoinPath leads on from a field to one below it; a child that begins with a bracket is an entry.
func JoinPath(parent, child string) string {
	if parent == "" || child == "" || strings.HasPrefix(child, "[") {
		return parent + child
	}
	return parent + "." + child
}

// Excerpt is the beginning of a scalar, for messages.
func Excerpt(v any) string {
	switch v.(type) {
	case string, bool, int64, float64:
	default:
		return ""
	}
	text := fmt.Sprint(v)
	n := 0
	for i := range text {
		if n == maxExcerpt {
			return text[:i]
		}
		n++
	}
	return text
}

// TypeOrNothing is value.TypeName, and says of what is absent that it is missing.
func TypeOrNothing(v any) string {
	if v == nil {
		return GotNothing
	}
	return value.TypeName(v)
}

// OneOf lists valid values for a message: "a, b or c".
func OneOf(valid []string) string {
	last := len(valid) - 1
	if last == 0 {
		return valid[0]
	}
	return strings.Join(valid[:last], ", ") + " or " + valid[last]
}
