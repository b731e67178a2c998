package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"
)

// How fields are taken that a type does not have.
const (
	strict = true
	loose  = false
)

// decode decodes what was parsed as JSON. A text is parsed first: some servers do not say that they send JSON.
func decode(body, into any, strict bool) error {
	var text []byte
	switch body := body.(type) {
	case nil:
		return errors.New("the answer is empty, wanted a JSON object")
	case string:
		text = []byte(body)
	default:
		var err error
		if text, err = json.Marshal(body); err != nil {
			return fmt.Errorf("encoding the answer: %w", err)
		}
	}
	if !strings.HasPrefix(strings.TrimSpace(string(text)), "{") {
		return errors.New("the answer is no JSON object") // it is not quoted: it may say what was sent
	}
	unknown, err := kjson.UnmarshalStrict(text, into)
	if misfit, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && misfit.Field != "" {
		return fmt.Errorf("the answer does not fit the protocol: %s: wanted %s, got %s", clip(misfit.Field), wanted(misfit.Type), clip(misfit.Value))
	}
	if err != nil {
		return fmt.Errorf("the answer does not fit the protocol: %s", clip(err.Error()))
	}
	if !strict { // what is there twice is refused all the same: one of the two would delete what the other declares
		unknown = slices.DeleteFunc(unknown, func(e error) bool { return !strings.HasPrefix(e.Error(), "duplicate field") })
	}
	if len(unknown) > 0 {
		return fmt.Errorf("the answer does not fit the protocol: %s", clip(errors.Join(unknown...).Error()))
	}
	return nil
}

// wanted is what a Go type wants of JSON.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		return "array"
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	default:
		return "number"
	}
}

// maxShown is how many characters of an answer a message shows.
const maxShown = 160

// clip shortens what a webhook said, and makes it one line.
func clip(s string) string {
	runes := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " "))
	if len(runes) > maxShown {
		return string(runes[:maxShown-1]) + "…"
	}
	return string(runes)
}

// said is a kind as messages say it.
func said(apiVersion, kind string) string {
	if apiVersion == "" && kind == "" {
		return "of no apiVersion and kind"
	}
	return clip(apiVersion + " " + kind)
}
