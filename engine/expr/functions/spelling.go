package functions

import (
	"strings"
	"unicode"

	"github.com/orkspace/orkestra/engine/expr/functions/spelling"
)

func spellingFuncs() []row {
	return []row{
		{"lower", argText, "TEXT in small letters.", `lower "ABC"`, "abc", strings.ToLower, 0, "toLower tolower lowercase"},
		{"upper", argText, "TEXT in capital letters.", `upper "abc"`, "ABC", strings.ToUpper, 0, "toUpper toupper uppercase"},
		{"title", argText, "TEXT with capital first letters.", `title "hello world"`, "Hello World", func(text string) string { return spelling.FirstOfWords(text, unicode.ToTitle) }, 0, "toTitleCase titlecase"},
		{"untitle", argText, "TEXT with small first letters.", `untitle "Hello World"`, "hello world", func(text string) string { return spelling.FirstOfWords(text, unicode.ToLower) }, 0, ""},
		{"capitalize", argText, "TEXT with its first letter capital.", `capitalize "web site"`, "Web site", func(text string) string { return spelling.First(text, unicode.ToUpper) }, 0, ""},
		{"uncapitalize", argText, "TEXT with its first letter small.", `uncapitalize "Site"`, "site", func(text string) string { return spelling.First(text, unicode.ToLower) }, 0, ""},
		{"swapcase", argText, "TEXT with small letters made capital and the other way round.", `swapcase "aB"`, "Ab", spelling.SwapCase, 0, "swapCase"},
		{"camelcase", argText, "TEXT as one word in PascalCase.", `camelcase "http_server"`, "HttpServer", spelling.Pascal, 0, "toPascalCase"},
		{"toCamelCase", argText, "TEXT as one word in camelCase.", `toCamelCase "http_server"`, "httpServer", func(text string) string { return spelling.First(spelling.Pascal(text), unicode.ToLower) }, 0, ""},
		{"snakecase", argText, "TEXT as one word in snake_case.", `snakecase "FirstName"`, "first_name", func(text string) string { return spelling.Separated(text, '_') }, 0, "snake toSnakeCase"},
		{"kebabcase", argText, "TEXT as one word in kebab-case.", `kebabcase "FirstName"`, "first-name", func(text string) string { return spelling.Separated(text, '-') }, 0, "kebab toKebabCase"},
		{"toConstantCase", argText, "TEXT as one word in CONSTANT_CASE.", `toConstantCase "FirstName"`, "FIRST_NAME", func(text string) string { return strings.ToUpper(spelling.Separated(text, '_')) }, 0, "constantcase"},
		{"toDotCase", argText, "TEXT as one word in dot.case.", `toDotCase "FirstName"`, "first.name", func(text string) string { return spelling.Separated(text, '.') }, 0, "dotcase"},
		{"toPathCase", argText, "TEXT as one word in path/case.", `toPathCase "FirstName"`, "first/name", func(text string) string { return spelling.Separated(text, '/') }, 0, "pathcase"},
		{"initials", argText, "The first letter of each word.", `initials "First Try"`, "FT", spelling.Initials, 0, ""},
		{"plural", "ONE MANY COUNT", "ONE where COUNT is 1, otherwise MANY.", `plural "pod" "pods" 2`, "pods",
			func(one, many string, n int) string {
				if n == 1 {
					return one
				}
				return many
			}, 0, ""},
	}
}
