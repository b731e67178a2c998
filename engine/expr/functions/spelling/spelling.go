// Package spelling changes how a text is written: upper and lower case, the separators of its words, line breaks, and its length. It knows
// no budget: its callers charge what it makes.
package spelling

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// FirstOfWords changes the first letter of every word.
func FirstOfWords(text string, change func(rune) rune) string {
	inside := false
	return strings.Map(func(r rune) rune {
		first := !inside && !unicode.IsSpace(r)
		inside = !unicode.IsSpace(r)
		if first {
			return change(r)
		}
		return r
	}, text)
}

// First changes the first letter of the text.
func First(text string, change func(rune) rune) string {
	r, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return ""
	}
	return string(change(r)) + text[size:]
}

// SwapCase makes small letters capital, and the other way round.
func SwapCase(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLower(r) {
			return unicode.ToUpper(r)
		}
		return unicode.ToLower(r)
	}, text)
}

func isSeparator(r rune) bool { return r == ' ' || r == '-' || r == '_' }

// Pascal writes words as one, each with a capital letter.
func Pascal(text string) string {
	words := strings.FieldsFunc(text, isSeparator)
	for i := range words {
		words[i] = First(words[i], unicode.ToUpper)
	}
	return strings.Join(words, "")
}

// Separated puts a separator between words: where there was one, before a capital that begins a word, and before digits.
func Separated(text string, separator rune) string {
	runes := []rune(strings.Join(strings.FieldsFunc(text, isSeparator), string(separator)))
	var b strings.Builder
	for i, r := range runes {
		if i > 0 && r != separator && runes[i-1] != separator {
			last := runes[i-1]
			nextLower := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			newWord := unicode.IsUpper(r) && (unicode.IsLower(last) || unicode.IsUpper(last) && nextLower)
			if newWord || unicode.IsDigit(r) && !unicode.IsDigit(last) {
				b.WriteRune(separator)
			}
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Initials gives the first letter of each word.
func Initials(text string) string {
	var b strings.Builder
	for word := range strings.FieldsSeq(text) {
		r, _ := utf8.DecodeRuneInString(word)
		b.WriteRune(r)
	}
	return b.String()
}

// Part takes bytes; negative bounds count from the end. It never leaves half a character.
func Part(start, end int, text string) string {
	if start < 0 {
		start += len(text)
	}
	if end < 0 {
		end += len(text)
	}
	start, end = max(start, 0), min(end, len(text))
	if start >= end {
		return ""
	}
	return strings.ToValidUTF8(text[start:end], "")
}

// Truncate gives the first bytes of a text, or where length is negative the last ones. It never leaves half a character.
func Truncate(length int, text string) string {
	switch {
	case length >= 0:
		return Part(0, min(length, len(text)), text)
	case -length < len(text):
		return Part(length, len(text), text)
	}
	return text
}

// Abbreviate cuts to width characters, dots included, beginning at an offset.
func Abbreviate(offset, width int, text string) string {
	runes := []rune(text)
	if width < 4 || offset > 0 && width < 7 || len(runes) <= width {
		return text
	}
	offset = min(max(offset, 0), len(runes))
	before, after := "", "..."
	room := width - len(after)
	if offset > 0 {
		before, room = "...", room-3
	}
	if offset+room >= len(runes) {
		return before + string(runes[offset:])
	}
	return before + string(runes[offset:offset+room]) + after
}

// Wrap puts sep between words so that lines are at most length characters long, if that can be. Where cut is set, it can:
// longer words are cut.
func Wrap(length int, sep, text string, cut bool) string {
	length = max(length, 1)
	var b strings.Builder
	width := 0 // of the current line
	for i, word := range strings.Fields(text) {
		runes := []rune(word)
		if i > 0 && width+1+len(runes) <= length {
			b.WriteString(" " + word)
			width += 1 + len(runes)
			continue
		}
		if i > 0 {
			b.WriteString(sep)
		}
		for cut && len(runes) > length {
			b.WriteString(string(runes[:length]) + sep)
			runes = runes[length:]
		}
		b.WriteString(string(runes))
		width = len(runes)
	}
	return b.String()
}
