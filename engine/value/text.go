package value

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
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

// longName is a name, or a path of names, that is longer than a label may be.
var longName = regexp.MustCompile(`[A-Za-z0-9._/-]{64,}`)

// quoted is a long name in quotes, or a path with one, of which the middle is gone.
var quoted = regexp.MustCompile(`"[A-Za-z0-9._/-]*…[A-Za-z0-9._/-]*"`)

// The characters that Excerpt leaves of a long name, and of a quoted one, with its quotes, where that is not enough.
const (
	nameBegin   = 40
	nameEnd     = 22
	quotedBegin = 17
	quotedEnd   = 13
)

// Excerpt gives a text in at most so many characters, and makes it readable. One that is longer loses the middle of its long names, so that what is
// said of them stays, then more of its quoted names, of which the API server repeats some, and then its end; an ellipsis stands for what is left out.
func Excerpt(text string, most int) string {
	text = Readable(text)
	if !isLonger(text, most) {
		return text
	}
	text = longName.ReplaceAllStringFunc(text, middleless(nameBegin, nameEnd))
	if !isLonger(text, most) {
		return text
	}
	text = quoted.ReplaceAllStringFunc(text, middleless(quotedBegin, quotedEnd))
	if !isLonger(text, most) {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// middleless takes the middle out of a text that is longer than its begin and its end.
func middleless(begin, end int) func(string) string {
	return func(text string) string {
		runes := []rune(text)
		if len(runes) <= begin+end+1 {
			return text
		}
		return string(runes[:begin]) + "…" + string(runes[len(runes)-end:])
	}
}

func isLonger(text string, most int) bool {
	return len(text) > most && utf8.RuneCountInString(text) > most
}

// Readable makes a text fit to be shown: control characters, which a terminal would obey, are written as Go does, such as \x1b; line breaks and tabs
// stay. Bytes that are no UTF-8 become the replacement character, as they would in the API server.
func Readable(text string) string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	if strings.IndexFunc(text, obeyed) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if obeyed(r) {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// obeyed says whether a terminal does something on a character, other than to begin a line or to leave room.
func obeyed(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

// maxLogged is how many bytes of an error are logged.
const maxLogged = 4096

// Loggable gives an error to log: one of more than 4096 bytes is cut, and says how many there were. What a log has of it comes again with each retry.
func Loggable(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if len(text) <= maxLogged {
		return err
	}
	return errors.New(strings.ToValidUTF8(text[:maxLogged], "") + fmt.Sprintf("… (cut: the error has %d bytes)", len(text)))
}
