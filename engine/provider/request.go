package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMessage bounds what a service can put into a status.
const maxMessage = 500

// Decode writes what is declared into a struct with JSON tags. A field that the struct lacks, or a value of another type, is an Invalid.
func (r *Request) Decode(into any) error {
	text, err := json.Marshal(r.Declared)
	if err == nil {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		err = decoder.Decode(into)
	}
	if err != nil {
		return &Error{Class: Invalid, Operation: "Declared", Message: fmt.Sprintf("what is declared can't be read: %v", err)}
	}
	return nil
}

// Has says whether a field is declared.
func (r *Request) Has(field string) bool {
	_, ok := r.Declared[field]
	return ok
}

// Line makes one short line of what a service says, without the values of credentials and secrets: services repeat what they were sent.
func (r *Request) Line(text string) string {
	hidden := slices.Collect(maps.Values(r.Credentials))
	for _, secret := range r.Secrets {
		hidden = append(hidden, secret.Value)
	}
	if r.WebIdentity != nil {
		hidden = append(hidden, r.WebIdentity.Token)
	}
	// The longest first: one may be part of another.
	slices.SortFunc(hidden, func(a, b string) int { return len(b) - len(a) })
	for _, value := range hidden {
		text = hide(text, value)
	}
	line := strings.Join(strings.Fields(text), " ")
	if len(line) <= maxMessage {
		return line
	}
	return strings.ToValidUTF8(line[:maxMessage], "") + "…"
}

// wholeWord is the length below which a value is hidden only where it stands as a word: "u" is in most words, and cutting it out of them would make a
// message hard to read, and tell the value.
const wholeWord = 4

// hide replaces a value in a text.
func hide(text, value string) string {
	switch {
	case value == "":
		return text
	case len(value) >= wholeWord:
		return strings.ReplaceAll(text, value, "[hidden]")
	}
	isPart := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	var out strings.Builder
	from := 0
	for {
		at := strings.Index(text[from:], value)
		if at < 0 {
			return out.String() + text[from:]
		}
		at += from
		last, _ := utf8.DecodeLastRuneInString(text[:at])
		next, _ := utf8.DecodeRuneInString(text[at+len(value):])
		out.WriteString(text[from:at])
		if isPart(last) || isPart(next) {
			out.WriteString(value)
		} else {
			out.WriteString("[hidden]")
		}
		from = at + len(value)
	}
}

// Foreign says of a thing that carries the mark of another owner why this one does not touch it, and what helps. A custom resource that was made again
// has another UID than the one before it, and nothing of that one is its own: people may have left it on purpose. unmark says how the mark is taken off.
func (o Owner) Foreign(what string, marked Owner, unmark string) string {
	if o.Name == "" || marked.Box != o.Box || marked.Namespace != o.Namespace || marked.Name != o.Name {
		return fmt.Sprintf("%s belongs to %s: declare another name", what, marked)
	}
	return fmt.Sprintf("%s belongs to a former %s, which had the UID %s: delete it, or declare another name; to take it over, %s and declare adopt: IfUnowned", what, marked, marked.UID, unmark)
}

// Twice says of a thing that the owner has made with another token why it is not touched, and what helps.
func Twice(operation, what string) error {
	return &Error{Class: Duplicate, Operation: operation,
		Message: what + " is what another declaration of this resource has made, which has another address for it: declare it once"}
}

// String names the owner as people know it: the box, and the custom resource; by its UID where nothing else is known.
func (o Owner) String() string {
	if o.Name == "" || o.Box == "" {
		return "the resource with the UID " + o.UID
	}
	if o.Namespace == "" {
		return fmt.Sprintf("%s of the box %s", o.Name, o.Box)
	}
	return fmt.Sprintf("%s/%s of the box %s", o.Namespace, o.Name, o.Box)
}
