package functions

import (
	"net/url"
	"strconv"
	"strings"
	"text/template"

	sproutfs "github.com/go-sprout/sprout/registry/filesystem"

	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/expr/functions/spelling"
	"github.com/orkspace/orkestra/engine/value"
)

func textFuncs() []row {
	return []row{
		{"trim", argText, "TEXT without white space at its ends.", `trim "  a "`, "a", strings.TrimSpace, 0, ""},
		{"trimAll", "CHARACTERS TEXT", "TEXT without these characters at its ends.", `trimAll "$" "$5$"`, "5", trimAll, 0, "trimall"},
		{"trimPrefix", "PREFIX TEXT", "TEXT without PREFIX.", `trimPrefix "v" "v1.2"`, "1.2", func(a, text string) string { return strings.TrimPrefix(text, a) }, 0, ""},
		{"trimSuffix", "SUFFIX TEXT", "TEXT without SUFFIX.", `trimSuffix ":80" "host:80"`, "host", func(a, text string) string { return strings.TrimSuffix(text, a) }, 0, ""},
		{"nospace", argText, "TEXT without any white space.", `nospace " a b "`, "ab", func(text string) string { return strings.Join(strings.Fields(text), "") }, 0, ""},
		{"contains", "PART TEXT", "Whether TEXT holds PART.", `contains "eb" "web"`, "true", func(a, text string) bool { return strings.Contains(text, a) }, 0, ""},
		{"hasPrefix", "PREFIX TEXT", "Whether TEXT begins with PREFIX.", `hasPrefix "w" "web"`, "true", func(a, text string) bool { return strings.HasPrefix(text, a) }, light, ""},
		{"hasSuffix", "SUFFIX TEXT", "Whether TEXT ends with SUFFIX.", `hasSuffix "b" "web"`, "true", func(a, text string) bool { return strings.HasSuffix(text, a) }, light, ""},
		{"replace", "OLD NEW TEXT", "TEXT with NEW in place of every OLD.", `replace "." "-" "a.b.c"`, "a-b-c", replace, 0, ""},
		{"repeat", "COUNT TEXT", "TEXT so many times.", `repeat 3 "ab"`, "ababab", repeat, 0, ""},
		{"join", "SEPARATOR LIST", "The elements of LIST as one text.", `join "," (list "a" 1)`, "a,1", join, 0, ""},
		{"split", "SEPARATOR TEXT", "The parts of TEXT as a map with the keys _0, _1 and so on.", `(split "/" "a/b")._1`, "b", func(limits *budget.Budget, sep, text string) (map[string]any, error) {
			return numbered(limits, sep, -1, text)
		}, counted, ""},
		{"splitn", "SEPARATOR COUNT TEXT", "The same with at most COUNT parts.", `(splitn "/" 2 "a/b/c")._1`, "b/c", numbered, counted, ""},
		{"substr", "START END TEXT", "The bytes of TEXT from START up to END.", `substr 0 4 "website"`, "webs", spelling.Part, light, ""},
		{"trunc", "LENGTH TEXT", "The first LENGTH bytes of TEXT; the last ones where LENGTH is negative.", `trunc 4 "website"`, "webs", spelling.Truncate, light, ""},
		{"abbrev", "LENGTH TEXT", "TEXT cut to LENGTH characters, dots included.", `abbrev 6 "a website"`, "a w...", func(width int, text string) string { return spelling.Abbreviate(0, width, text) }, 0, "ellipsis"},
		{"abbrevboth", "OFFSET LENGTH TEXT", "A middle part of TEXT between dots.", `abbrevboth 3 9 "abcdefghijkl"`, "...def...",
			spelling.Abbreviate, 0, "ellipsisBoth"},
		{"wrap", "LENGTH TEXT", "TEXT with line breaks between words.", `wrap 5 "a long line"`, "a\nlong\nline", func(length int, text string) string { return spelling.Wrap(length, "\n", text, false) }, 0, ""},
		{"wrapWith", "LENGTH SEPARATOR TEXT", "The same with another separator; long words are cut.", `wrapWith 3 "-" "abcdef"`, "abc-def",
			func(length int, sep, text string) (string, error) {
				if err := product(len(text)/max(length, 1)+1, len(sep)); err != nil {
					return "", err
				}
				return spelling.Wrap(length, sep, text, true), nil
			}, 0, ""},
		{"indent", "SPACES TEXT", "TEXT with every line moved to the right.", `indent 2 "a"`, "  a", indent, 0, ""},
		{"nindent", "SPACES TEXT", "The same, after a line break.", `nindent 2 "a"`, "\n  a",
			func(spaces int, text string) (string, error) {
				text, err := indent(spaces, text)
				return "\n" + text, err
			}, 0, ""},
		{"quote", argValues, "The values in double quotes.", `quote "a" 1`, `"a" "1"`, quoteWith(strconv.Quote), nils, ""},
		{"squote", argValues, "The values in single quotes.", `squote "a"`, "'a'",
			quoteWith(func(text string) string { return "'" + text + "'" }), nils, ""},
		{"cat", argValues, "The values with spaces between them.", `cat "a" 1 true`, "a 1 true", quoteWith(func(text string) string { return text }), nils, ""},
		{"print", argValues, "The values as one text; a space stands between two that are both no text.", `print "a" 1 2`, "a1 2", printed, 0, ""},
		{"println", argValues, "The values with spaces between them and a line break.", `println "a" 1 | trim`, "a 1",
			func(values ...any) (string, error) { text, err := joinText(" ", values); return text + "\n", err }, 0, ""},
		{"printf", "FORMAT VALUE…", "FORMAT with the values in place of its verbs: %s %q %v %d %x %o %b %c %f %e %g %t, with flags and widths.",
			`printf "%s-%03d" "web" 7`, "web-007", printf, 0, ""},
		{"html", argValues, "The values escaped for HTML.", `html "<a>"`, "&lt;a&gt;", escaped(template.HTMLEscapeString), 0, ""},
		{"js", argValues, "The values escaped for JavaScript.", `js "it's"`, `it\'s`, escaped(template.JSEscapeString), 0, ""},
		{"urlSegment", argValues, "The values escaped for one segment of a URL's path. In the url of an external call this is done by itself.",
			`urlSegment "a/b"`, "a%2Fb", escaped(url.PathEscape), 0, ""},
		{"urlPath", argValues, "The values escaped for a URL's path of several segments: slashes stay.", `urlPath "a b/c"`, "a%20b/c", escaped(urlPath), 0, ""},
		{"urlquery", argValues, "The values escaped for the query of a URL.", `urlquery "a b"`, "a+b",
			escaped(func(text string) string { return template.URLQueryEscaper(text) }), 0, ""},
	}
}

// joinText puts texts together, as long as the output limit allows.
func joinText(sep string, values []any) (string, error) {
	var b strings.Builder
	for i, v := range values {
		text, err := value.Print(v)
		if err != nil {
			return "", badArgument("%v", err)
		}
		if i > 0 {
			b.WriteString(sep)
		}
		b.WriteString(text)
		if b.Len() > budget.MaxOutput {
			return "", budget.Over(budget.Output)
		}
	}
	return b.String(), nil
}

// product refuses results whose length would be over the output limit.
func product(times, length int) error {
	if times < 0 {
		return badArgument("a count is negative")
	}
	if length > 0 && times > budget.MaxOutput/length {
		return budget.Over(budget.Output)
	}
	return nil
}

func replace(old, replacement, text string) (string, error) {
	if err := product(strings.Count(text, old), len(replacement)); err != nil {
		return "", err
	}
	return strings.ReplaceAll(text, old, replacement), nil
}

// numbered makes a map of a text's parts with the keys _0, _1 and so on.
func numbered(limits *budget.Budget, sep string, most int, text string) (map[string]any, error) {
	if n := budget.Parts(text, sep); n > budget.MaxIterations && (most < 0 || most > budget.MaxIterations) {
		return nil, budget.Over(budget.Iterations)
	} else if err := limits.AllocateMap(n); err != nil {
		return nil, err
	}
	parts := strings.SplitN(text, sep, most)
	m := make(map[string]any, len(parts))
	for i, part := range parts {
		m["_"+strconv.Itoa(i)] = part
	}
	return m, nil
}

// trimAll compares every character at the ends with those that are to go, which is what it counts.
func trimAll(limits *budget.Budget, characters, text string) (string, error) {
	if err := limits.Work(budget.Times(len(characters), len(text))); err != nil {
		return "", err
	}
	return strings.Trim(text, characters), nil
}

func repeat(times int, text string) (string, error) {
	if err := product(times, len(text)); err != nil {
		return "", err
	}
	return strings.Repeat(text, times), nil
}

func join(sep string, list any) (string, error) {
	elements, ok := list.([]any)
	if !ok {
		elements = []any{list}
	}
	return joinText(sep, withoutNil(elements))
}

func withoutNil(values []any) []any {
	out := make([]any, 0, len(values))
	for _, v := range values {
		if v != nil {
			out = append(out, v)
		}
	}
	return out
}

func indent(spaces int, text string) (string, error) {
	if err := product(spaces, strings.Count(text, "\n")+1); err != nil {
		return "", err
	}
	pad := strings.Repeat(" ", spaces)
	return pad + strings.ReplaceAll(text, "\n", "\n"+pad), nil
}

// urlPath escapes a path of several segments.
func urlPath(text string) string {
	segments := strings.Split(text, "/")
	for i := range segments {
		segments[i] = url.PathEscape(segments[i])
	}
	return strings.Join(segments, "/")
}

// quoteWith makes a function that quotes each value and puts spaces between them.
func quoteWith(quote func(string) string) func(values ...any) (string, error) {
	return func(values ...any) (string, error) {
		quoted := withoutNil(values)
		for i, v := range quoted {
			text, err := value.Print(v)
			if err != nil {
				return "", badArgument("%v", err)
			}
			quoted[i] = quote(text)
		}
		return joinText(" ", quoted)
	}
}

func escaped(escape func(string) string) func(values ...any) (string, error) {
	return func(values ...any) (string, error) {
		text, err := printed(values...)
		return escape(text), err
	}
}

// printed puts values together as fmt.Sprint does.
func printed(values ...any) (string, error) {
	var parts []any
	for i, v := range values {
		if _, isText := v.(string); i > 0 && !isText {
			if _, wasText := values[i-1].(string); !wasText {
				parts = append(parts, " ")
			}
		}
		parts = append(parts, v)
	}
	return joinText("", parts)
}

const argPath = "PATH"

// pathFuncs take paths apart. They read no files.
func pathFuncs() []row {
	s := sproutfs.NewRegistry()
	return []row{
		{"base", argPath, "The last part of a path.", `base "a/b.txt"`, "b.txt", s.PathBase, 0, "pathBase"},
		{"dir", argPath, "A path without its last part.", `dir "a/b.txt"`, "a", s.PathDir, 0, "pathDir"},
		{"clean", argPath, "The shortest spelling of a path.", `clean "a/./c/../d"`, "a/d", s.PathClean, 0, "pathClean"},
		{"ext", argPath, "The extension of a path, with its dot.", `ext "a/b.txt"`, ".txt", s.PathExt, 0, "pathExt"},
		{"isAbs", argPath, "Whether a path begins at the root.", `isAbs "/a"`, "true", s.PathIsAbs, 0, "pathIsAbs"},
	}
}
