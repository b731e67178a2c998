package functions

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/value"
)

const maxWidth = 1000

// printf formats one verb at a time, so that a format cannot ask for more text than the output limit, and so that values
// look as they do everywhere in templates. Too many or too few values are errors.
func printf(format string, values ...any) (string, error) {
	var b strings.Builder
	rest := values
	for format != "" {
		text, verb, ok := strings.Cut(format, "%")
		b.WriteString(text)
		if !ok {
			break
		}
		flags := verb[:len(verb)-len(strings.TrimLeft(verb, "+-# 0123456789."))]
		if len(flags) == len(verb) {
			return "", badArgument("the format ends inside a verb")
		}
		letter := []rune(verb[len(flags):])[0]
		format = verb[len(flags)+len(string(letter)):]
		if letter == '%' {
			b.WriteByte('%')
			continue
		}
		if len(rest) == 0 {
			return "", badArgument("there are fewer values than verbs in the format")
		}
		formatted, err := formatOne(flags, letter, rest[0])
		if err != nil {
			return "", err
		}
		rest = rest[1:]
		b.WriteString(formatted)
		if b.Len() > budget.MaxOutput {
			return "", budget.Over(budget.Output)
		}
	}
	if len(rest) > 0 {
		return "", badArgument("there are more values than verbs in the format")
	}
	return b.String(), nil
}

// formatOne formats one value. flags are everything between the % and the letter.
func formatOne(flags string, letter rune, v any) (string, error) {
	for _, number := range strings.FieldsFunc(flags, func(r rune) bool { return r < '0' || r > '9' }) {
		if n, err := strconv.Atoi(number); err != nil || n > maxWidth {
			return "", badArgument("a width in the format is over %d", maxWidth)
		}
	}
	verb := "%" + flags + string(letter)
	switch letter {
	case 'v', 's', 'q':
		text, err := value.Print(v)
		if err != nil {
			return "", badArgument("%v", err)
		}
		return fmt.Sprintf(strings.ReplaceAll(verb, "v", "s"), text), nil
	case 'd', 'c', 'o', 'b', 'U':
		if n, ok := value.Whole(v); ok {
			return fmt.Sprintf(verb, n), nil
		}
	case 'x', 'X':
		if text, ok := v.(string); ok {
			return fmt.Sprintf(verb, text), nil
		}
		if n, ok := value.Whole(v); ok {
			return fmt.Sprintf(verb, n), nil
		}
	case 'e', 'E', 'f', 'F', 'g', 'G':
		if _, ok := v.(string); !ok {
			if n, err := toNumber(v); err == nil && !math.IsNaN(asFloat(n)) {
				return fmt.Sprintf(verb, asFloat(n)), nil
			}
		}
	case 't':
		if truth, ok := v.(bool); ok {
			return fmt.Sprintf(verb, truth), nil
		}
	case 'T':
		return value.TemplateType(v), nil
	default:
		return "", badArgument("%%%c is no verb that can be used", letter)
	}
	return "", badArgument("%%%c cannot format a %s", letter, value.TemplateType(v))
}
