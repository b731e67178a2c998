package expr

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
)

const (
	maxPattern = 4 << 10
	// maxSearch is the product of a pattern's instructions and the input's bytes: what one search may cost.
	maxSearch = 4 << 20
)

func regexFuncs() []row {
	return []row{
		{"regexMatch", "PATTERN TEXT", "Whether PATTERN (RE2) is found in TEXT.", `regexMatch "^v[0-9]+$" "v12"`, "true",
			func(st *state, pattern, text string) (bool, error) {
				r, err := compileRegex(st, pattern, text)
				return err == nil && r.MatchString(text), err
			}, 0, "mustRegexMatch"},
		{"regexFind", "PATTERN TEXT", "The first match in TEXT, or \"\".", `regexFind "[0-9]+" "a12b34"`, "12",
			func(st *state, pattern, text string) (string, error) {
				r, err := compileRegex(st, pattern, text)
				if err != nil {
					return "", err
				}
				return r.FindString(text), nil
			}, 0, "mustRegexFind"},
		{"regexFindAll", "PATTERN TEXT COUNT", "At most COUNT matches; -1 means all.", `regexFindAll "[0-9]+" "a12b34" -1`, `["12","34"]`,
			func(st *state, pattern, text string, n int) ([]string, error) {
				r, found, err := searchAll(st, pattern, text)
				if err != nil {
					return nil, err
				}
				return r.FindAllString(text, n), st.allocateParts(found.count)
			}, counted, "mustRegexFindAll"},
		{"regexSplit", "PATTERN TEXT COUNT", "TEXT split at the matches, into at most COUNT parts; -1 means all.", `regexSplit "[,;]" "a,b;c" -1`,
			`["a","b","c"]`, func(st *state, pattern, text string, n int) ([]string, error) {
				r, found, err := searchAll(st, pattern, text)
				if err != nil {
					return nil, err
				}
				return r.Split(text, n), st.allocateParts(found.count + 1)
			}, counted, "mustRegexSplit"},
		{"regexReplaceAll", "PATTERN TEXT REPLACEMENT", "TEXT with its matches replaced; ${1} is the first group.",
			`regexReplaceAll "a(x*)b" "-ab-axxb-" "${1}W"`, "-W-xxW-", replaceAll(true), 0, "mustRegexReplaceAll"},
		{"regexReplaceAllLiteral", "PATTERN TEXT REPLACEMENT", "The same, with REPLACEMENT as it is.",
			`regexReplaceAllLiteral "a(x*)b" "-ab-axxb-" "${1}"`, "-${1}-${1}-", replaceAll(false), 0, "mustRegexReplaceAllLiteral"},
		{"regexQuoteMeta", argText, "A pattern that matches TEXT itself.", `regexQuoteMeta "1.2"`, `1\.2`, regexp.QuoteMeta, 0, ""},
	}
}

func replaceAll(expand bool) func(st *state, pattern, text, replacement string) (string, error) {
	return func(st *state, pattern, text, replacement string) (string, error) {
		r, matches, err := searchAll(st, pattern, text)
		if err != nil {
			return "", err
		}
		if err := product(matches.count, len(replacement)); err != nil {
			return "", err
		}
		if !expand {
			return r.ReplaceAllLiteralString(text, replacement), nil
		}
		// Every $ may stand for a whole match.
		if err := product(strings.Count(replacement, "$"), matches.bytes); err != nil {
			return "", err
		}
		return r.ReplaceAllString(text, replacement), nil
	}
}

// compileRegex compiles a pattern and refuses it where searching text with it would take too long. RE2 needs time for the
// product of the two. Both are counted.
func compileRegex(st *state, pattern, text string) (*regexp.Regexp, error) {
	if len(pattern) > maxPattern {
		return nil, badArgument("a pattern is longer than %d bytes", maxPattern)
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		if e, ok := errors.AsType[*syntax.Error](err); ok { // without the pattern, which may come from anywhere
			return nil, badArgument("the pattern is not valid: %s", e.Code)
		}
		return nil, badArgument("the pattern is not valid")
	}
	size := patternSize(tree)
	switch {
	case size > maxProgram:
		return nil, overBudget(limitPattern)
	case len(text) > maxSearch/size:
		return nil, overBudget(limitSearch)
	}
	if err := st.allocate(times(bytesOfInstruction, size)); err != nil {
		return nil, err
	}
	if err := st.do(times(size, len(text)+bytesOfInstruction)); err != nil {
		return nil, err
	}
	return regexp.Compile(pattern)
}

const (
	// maxProgram is how many instructions a pattern may compile to: a few characters with counted repetitions can ask for millions.
	maxProgram = 16 << 10
	// bytesOfInstruction is what one takes, with what leads to it.
	bytesOfInstruction = 200
)

// patternSize is how many instructions a pattern compiles to, or a few more.
func patternSize(tree *syntax.Regexp) int {
	size := 1 + len(tree.Rune)
	if tree.Op == syntax.OpCharClass {
		size = 1 + len(tree.Rune)/16
	}
	for _, part := range tree.Sub {
		size += patternSize(part)
	}
	if tree.Op == syntax.OpRepeat {
		size = times(size, max(tree.Min, tree.Max, 1)+1)
	}
	return size
}

// matches says what searchAll found.
type matches struct{ count, bytes int }

// searchAll goes once through all matches. Finding them all can take the square of the text's length, so that time is
// checked at every match; what the caller does afterwards takes no longer than that.
func searchAll(st *state, pattern, text string) (*regexp.Regexp, matches, error) {
	var found matches
	r, err := compileRegex(st, pattern, text)
	if err != nil {
		return nil, found, err
	}
	r.ReplaceAllStringFunc(text, func(match string) string {
		found.count++
		found.bytes += len(match)
		if err := st.check(); err != nil {
			panic(abortError{err})
		}
		return ""
	})
	return r, found, nil
}
