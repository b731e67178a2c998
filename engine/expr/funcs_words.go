package expr

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

func spellingFuncs() []row {
	return []row{
		{"lower", argText, "TEXT in small letters.", `lower "ABC"`, "abc", strings.ToLower, 0, "toLower tolower lowercase"},
		{"upper", argText, "TEXT in capital letters.", `upper "abc"`, "ABC", strings.ToUpper, 0, "toUpper toupper uppercase"},
		{"title", argText, "TEXT with capital first letters.", `title "hello world"`, "Hello World", func(text string) string { return mapFirst(text, unicode.ToTitle) }, 0, "toTitleCase titlecase"},
		{"untitle", argText, "TEXT with small first letters.", `untitle "Hello World"`, "hello world", func(text string) string { return mapFirst(text, unicode.ToLower) }, 0, ""},
		{"capitalize", argText, "TEXT with its first letter capital.", `capitalize "web site"`, "Web site", func(text string) string { return changeFirst(text, unicode.ToUpper) }, 0, ""},
		{"uncapitalize", argText, "TEXT with its first letter small.", `uncapitalize "Site"`, "site", func(text string) string { return changeFirst(text, unicode.ToLower) }, 0, ""},
		{"swapcase", argText, "TEXT with small letters made capital and the other way round.", `swapcase "aB"`, "Ab", swapCase, 0, "swapCase"},
		{"camelcase", argText, "TEXT as one word in PascalCase.", `camelcase "http_server"`, "HttpServer", pascalCase, 0, "toPascalCase"},
		{"toCamelCase", argText, "TEXT as one word in camelCase.", `toCamelCase "http_server"`, "httpServer", func(text string) string { return changeFirst(pascalCase(text), unicode.ToLower) }, 0, ""},
		{"snakecase", argText, "TEXT as one word in snake_case.", `snakecase "FirstName"`, "first_name", func(text string) string { return separated(text, '_') }, 0, "snake toSnakeCase"},
		{"kebabcase", argText, "TEXT as one word in kebab-case.", `kebabcase "FirstName"`, "first-name", func(text string) string { return separated(text, '-') }, 0, "kebab toKebabCase"},
		{"toConstantCase", argText, "TEXT as one word in CONSTANT_CASE.", `toConstantCase "FirstName"`, "FIRST_NAME", func(text string) string { return strings.ToUpper(separated(text, '_')) }, 0, "constantcase"},
		{"toDotCase", argText, "TEXT as one word in dot.case.", `toDotCase "FirstName"`, "first.name", func(text string) string { return separated(text, '.') }, 0, "dotcase"},
		{"toPathCase", argText, "TEXT as one word in path/case.", `toPathCase "FirstName"`, "first/name", func(text string) string { return separated(text, '/') }, 0, "pathcase"},
		{"initials", argText, "The first letter of each word.", `initials "First Try"`, "FT", initials, 0, ""},
		{"plural", "ONE MANY COUNT", "ONE where COUNT is 1, otherwise MANY.", `plural "pod" "pods" 2`, "pods",
			func(one, many string, n int) string {
				if n == 1 {
					return one
				}
				return many
			}, 0, ""},
	}
}

// mapFirst changes the first letter of every word.
func mapFirst(text string, change func(rune) rune) string {
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

// changeFirst changes the first letter of the text.
func changeFirst(text string, change func(rune) rune) string {
	r, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return ""
	}
	return string(change(r)) + text[size:]
}

func swapCase(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLower(r) {
			return unicode.ToUpper(r)
		}
		return unicode.ToLower(r)
	}, text)
}

func isSeparator(r rune) bool { return r == ' ' || r == '-' || r == '_' }

func pascalCase(text string) string {
	words := strings.FieldsFunc(text, isSeparator)
	for i := range words {
		words[i] = changeFirst(words[i], unicode.ToUpper)
	}
	return strings.Join(words, "")
}

// separated puts a separator between words: where there was one, before a capital that begins a word, and before digits.
func separated(text string, separator rune) string {
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

func initials(text string) string {
	var b strings.Builder
	for word := range strings.FieldsSeq(text) {
		r, _ := utf8.DecodeRuneInString(word)
		b.WriteRune(r)
	}
	return b.String()
}

func numberedUpTo(st *state, sep string, n int, text string) (map[string]any, error) {
	return numbered(st, sep, n, text)
}

// numbered makes a map of a text's parts with the keys _0, _1 and so on.
func numbered(st *state, sep string, most int, text string) (map[string]any, error) {
	if n := partsOf(text, sep); n > maxIterations && (most < 0 || most > maxIterations) {
		return nil, overBudget(limitIterations)
	} else if err := st.allocateMap(n); err != nil {
		return nil, err
	}
	parts := strings.SplitN(text, sep, most)
	m := make(map[string]any, len(parts))
	for i, part := range parts {
		m["_"+strconv.Itoa(i)] = part
	}
	return m, nil
}

// substring takes bytes; negative bounds count from the end. It never leaves half a character.
func substring(start, end int, text string) string {
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

func truncate(length int, text string) string {
	switch {
	case length >= 0:
		return substring(0, min(length, len(text)), text)
	case -length < len(text):
		return substring(length, len(text), text)
	}
	return text
}

// abbreviate cuts to width characters, dots included, beginning at an offset.
func abbreviate(offset, width int, text string) string {
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

// wrap puts sep between words so that lines are at most length characters long, if that can be. Where cut is set, it can:
// longer words are cut.
func wrap(length int, sep, text string, cut bool) string {
	length = max(length, 1)
	var b strings.Builder
	width := 0 // of the current line
	write := func(piece []rune, joint string) {
		b.WriteString(joint)
		b.WriteString(string(piece))
	}
	for i, word := range strings.Fields(text) {
		runes := []rune(word)
		if i > 0 && width+1+len(runes) <= length {
			write(runes, " ")
			width += 1 + len(runes)
			continue
		}
		if i > 0 {
			b.WriteString(sep)
		}
		for cut && len(runes) > length {
			write(runes[:length], "")
			b.WriteString(sep)
			runes = runes[length:]
		}
		write(runes, "")
		width = len(runes)
	}
	return b.String()
}
