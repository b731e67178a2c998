package kro

import (
	"errors"
	"strings"
)

// part is a piece of a text: as it is written, or an expression.
type part struct {
	text string
	cel  bool
}

// errOpen says that an expression does not end.
var errOpen = errors.New("${ is not closed by }")

// parts takes a text apart at its expressions: ${...}, in which braces are balanced outside of CEL's quotes.
func parts(text string) ([]part, error) {
	var out []part
	for text != "" {
		at := strings.Index(text, "${")
		if at < 0 {
			return append(out, part{text: text}), nil
		}
		if at > 0 {
			out = append(out, part{text: text[:at]})
		}
		end := closing(text[at+2:])
		if end < 0 {
			return nil, errOpen
		}
		out = append(out, part{text: strings.TrimSpace(text[at+2 : at+2+end]), cel: true})
		text = text[at+2+end+1:]
	}
	return out, nil
}

// closing is where the brace stands that closes an expression; -1: nowhere.
func closing(text string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"', '\'':
			length := quoted(text[i:], i > 0 && (text[i-1] == 'r' || text[i-1] == 'R'))
			if length < 0 {
				return -1
			}
			i += length - 1
		case '{':
			depth++
		case '}':
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	return -1
}

// quoted is how long the literal is that a text begins with; -1: it does not end. In a raw one a backslash is a character.
func quoted(text string, raw bool) int {
	mark := text[:1]
	if strings.HasPrefix(text, strings.Repeat(mark, 3)) {
		mark = text[:3]
	}
	for i := len(mark); i < len(text); i++ {
		switch {
		case text[i] == '\\' && !raw:
			i++
		case strings.HasPrefix(text[i:], mark):
			return i + len(mark)
		}
	}
	return -1
}
