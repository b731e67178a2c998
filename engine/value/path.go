package value

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// AnyElement is the path segment of an element whose index or key is known only when a template runs.
const AnyElement = "[]"

// Path names a value below a root, one segment for each step: ["spec", "replicas"]. List indices are decimal segments.
type Path []string

// ParsePath reads spec.list[0].x, metadata.annotations['a.b/c'] and the like. One leading dot is allowed.
func ParsePath(text string) (Path, error) {
	rest := strings.TrimPrefix(strings.TrimSpace(text), ".")
	if rest == "" {
		return nil, errors.New("a path is empty")
	}
	var p Path
	for first := true; rest != ""; first = false {
		var segment string
		var err error
		switch {
		case rest[0] == '[' && !first:
			segment, rest, err = bracketed(rest)
		case first:
			segment, rest, err = plain(rest)
		case rest[0] == '.':
			segment, rest, err = plain(rest[1:])
		default:
			err = errors.New("after ] there must be a dot or another [")
		}
		if err != nil {
			return nil, fmt.Errorf("reading path %q: %w", Shorten(text), err)
		}
		p = append(p, segment)
	}
	if isIndex(p[0]) {
		return nil, fmt.Errorf("reading path %q: a path begins with a name", Shorten(text))
	}
	return p, nil
}

func plain(text string) (segment, rest string, err error) {
	end := strings.IndexAny(text, ".[")
	if end < 0 {
		end = len(text)
	}
	segment, rest = text[:end], text[end:]
	switch {
	case segment == "":
		return "", "", errors.New("a name is missing beside a dot")
	case !IsPlain(segment):
		return "", "", fmt.Errorf("%q is no plain name; write it as ['…']", Shorten(segment))
	}
	return segment, rest, nil
}

func bracketed(text string) (segment, rest string, err error) {
	text = text[1:]
	if text == "" || (text[0] != '\'' && text[0] != '"') {
		index, rest, ok := strings.Cut(text, "]")
		if _, err := strconv.ParseUint(index, 10, 31); !ok || err != nil {
			return "", "", errors.New("inside [ ] there must be an index or a quoted key")
		}
		return strings.TrimLeft(index[:len(index)-1], "0") + index[len(index)-1:], rest, nil
	}
	quote := text[0]
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case text[i] != quote:
			b.WriteByte(text[i])
		case !strings.HasPrefix(text[i+1:], "]"):
			return "", "", errors.New("a quoted key must be followed by ]")
		default:
			return b.String(), text[i+2:], nil
		}
	}
	return "", "", errors.New("a quoted key has no end")
}

// String prints the path as ParsePath reads it.
func (p Path) String() string {
	var b strings.Builder
	for i, s := range p {
		switch {
		case s == AnyElement:
			b.WriteString(s)
		case isIndex(s):
			b.WriteString("[" + s + "]")
		case IsPlain(s) && i == 0:
			b.WriteString(s)
		case IsPlain(s):
			b.WriteString("." + s)
		default:
			b.WriteString("['" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "']")
		}
	}
	return b.String()
}

// Known is the path up to the first element whose index is not known.
func (p Path) Known() Path {
	for i, s := range p {
		if s == AnyElement {
			return p[:i:i]
		}
	}
	return p
}

// With gives a new path with further segments.
func (p Path) With(segments ...string) Path {
	return append(slices.Clip(p), segments...)
}

// IsPlain says whether a segment can stand in a path without quotes.
func IsPlain(s string) bool {
	for _, r := range s {
		if r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return false
		}
	}
	return s != ""
}

func isIndex(s string) bool {
	if s == "" || s[0] < '0' || s[0] > '9' {
		return false // as nearly all segments are: ParseUint would make an error
	}
	n, err := strconv.ParseUint(s, 10, 31)
	return err == nil && strconv.FormatUint(n, 10) == s
}

// Lookup reads a path below an object. It says false where there is nothing, or null. A decimal segment indexes a list.
func Lookup(object map[string]any, p Path) (any, bool) {
	if len(p) == 0 {
		return nil, false
	}
	v, _ := Walk(object, p, len(p))
	return v, v != nil
}

// Walk reads p below v. From segment number fold on, a capital first letter may stand for a small one, so that .Spec.Image finds image, too. Where it ends early
// it gives nil and the number of segments that it could read.
func Walk(v any, p Path, fold int) (any, int) {
	for i, segment := range p {
		next, ok := step(v, segment)
		if !ok && i >= fold {
			next, ok = step(v, LowerFirst(segment))
		}
		if !ok || next == nil {
			return nil, i
		}
		v = next
	}
	return v, len(p)
}

func step(v any, segment string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		next, ok := v[segment]
		return next, ok
	case []any:
		if i, err := strconv.Atoi(segment); err == nil && i >= 0 && i < len(v) {
			return v[i], true
		}
	}
	return nil, false
}

// LowerFirst gives a name with a small first letter.
func LowerFirst(s string) string {
	if s == "" || s[0] < 'A' || s[0] > 'Z' {
		return s
	}
	return string(s[0]+'a'-'A') + s[1:]
}

// Place gives the place of an entry of an object in a box: a plain key after a dot, any other one in brackets.
func Place(at *field.Path, key string) *field.Path {
	if IsPlain(key) {
		return at.Child(key)
	}
	return at.Key(key)
}

// MapIn is the map in a field of an object. It is put there where there is none, also in the place of null.
func MapIn(object map[string]any, field string) map[string]any {
	inner, ok := object[field].(map[string]any)
	if !ok {
		inner = map[string]any{}
		object[field] = inner
	}
	return inner
}

// TextsIn is MapIn for labels and annotations, of which null is the empty text, as the API server has it.
func TextsIn(metadata map[string]any, field string) map[string]any {
	texts := MapIn(metadata, field)
	for name, v := range texts {
		if v == nil {
			texts[name] = ""
		}
	}
	return texts
}
