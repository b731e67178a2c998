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
			func(pattern, text string) (bool, error) {
				r, err := compileRegex(pattern, text)
				return err == nil && r.MatchString(text), err
			}, 0, "mustRegexMatch"},
		{"regexFind", "PATTERN TEXT", "The first match in TEXT, or \"\".", `regexFind "[0-9]+" "a12b34"`, "12",
			func(pattern, text string) (string, error) {
				r, err := compileRegex(pattern, text)
				if err != nil {
					return "", err
				}
				return r.FindString(text), nil
			}, 0, "mustRegexFind"},
		{"regexFindAll", "PATTERN TEXT COUNT", "At most COUNT matches; -1 means all.", `regexFindAll "[0-9]+" "a12b34" -1`, `["12","34"]`,
			func(st *state, pattern, text string, n int) ([]string, error) {
				r, _, err := searchAll(st, pattern, text)
				if err != nil {
					return nil, err
				}
				return r.FindAllString(text, n), nil
			}, 0, "mustRegexFindAll"},
		{"regexSplit", "PATTERN TEXT COUNT", "TEXT split at the matches, into at most COUNT parts; -1 means all.", `regexSplit "[,;]" "a,b;c" -1`,
			`["a","b","c"]`, func(st *state, pattern, text string, n int) ([]string, error) {
				r, _, err := searchAll(st, pattern, text)
				if err != nil {
					return nil, err
				}
				return r.Split(text, n), nil
			}, 0, "mustRegexSplit"},
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
// product of the two.
func compileRegex(pattern, text string) (*regexp.Regexp, error) {
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
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, badArgument("the pattern is not valid")
	}
	if len(text) > maxSearch/max(len(program.Inst), 1) {
		return nil, overBudget(limitTime)
	}
	return regexp.Compile(pattern)
}

// matches says what searchAll found.
type matches struct{ count, bytes int }

// searchAll goes once through all matches. Finding them all can take the square of the text's length, so that time is
// checked at every match; what the caller does afterwards takes no longer than that.
func searchAll(st *state, pattern, text string) (*regexp.Regexp, matches, error) {
	var found matches
	r, err := compileRegex(pattern, text)
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
