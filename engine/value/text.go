package value

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Text gives a scalar as JSON writes it, a text without its quotes; ok is false for everything else.
func Text(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool, int64, float64:
		text, err := json.Marshal(v)
		return string(text), err == nil
	default:
		return "", false
	}
}

// Decimal gives a scalar as text, a number in digits alone: unlike Text it never writes an exponent. Conditions and short forms promise
// that, so that 10000000 is the text that a user would write for it, and not 1e+07.
func Decimal(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), isFinite(v)
	default:
		return "", false
	}
}

// Print gives a value as it stands in text: strings as they are, everything else as compact JSON.
func Print(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case int:
		return strconv.Itoa(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	}
	return JSON(v, "")
}

// JSON writes a value with sorted keys and without HTML escapes, on one line where indent is empty. The size of the value must have been
// checked. The error names its type alone.
func JSON(v any, indent string) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return "", fmt.Errorf("a %s cannot be written as JSON", TemplateType(v))
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// maxShortened is how many characters Shorten leaves.
const maxShortened = 64

// Shorten puts text on one line and cuts it to 64 characters, for messages.
func Shorten(text string) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) <= maxShortened {
		return string(runes)
	}
	return string(runes[:maxShortened-1]) + "…"
}
