package functions

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"

	sproutregexp "github.com/go-sprout/sprout/registry/regexp"

	"github.com/orkspace/orkestra/engine/expr/budget"
)

// maxPattern is how long a pattern may be, in bytes.
const maxPattern = 4 << 10

func regexFuncs() []row {
	return []row{
		{"regexMatch", "PATTERN TEXT", "Whether PATTERN (RE2) is found in TEXT.", `regexMatch "^v[0-9]+$" "v12"`, "true",
			func(limits *budget.Budget, pattern, text string) (bool, error) {
				r, err := compileRegex(limits, pattern, text)
				return err == nil && r.MatchString(text), err
			}, 0, "mustRegexMatch"},
		{"regexFind", "PATTERN TEXT", "The first match in TEXT, or \"\".", `regexFind "[0-9]+" "a12b34"`, "12",
			func(limits *budget.Budget, pattern, text string) (string, error) {
				r, err := compileRegex(limits, pattern, text)
				if err != nil {
					return "", err
				}
				return r.FindString(text), nil
			}, 0, "mustRegexFind"},
		{"regexFindAll", "PATTERN TEXT COUNT", "At most COUNT matches; -1 means all.", `regexFindAll "[0-9]+" "a12b34" -1`, `["12","34"]`,
			func(limits *budget.Budget, pattern, text string, n int) ([]string, error) {
				r, found, err := searchAll(limits, pattern, text)
				if err != nil {
					return nil, err
				}
				return r.FindAllString(text, n), allocateParts(limits, found.count)
			}, counted, "mustRegexFindAll"},
		{"regexSplit", "PATTERN TEXT COUNT", "TEXT split at the matches, into at most COUNT parts; -1 means all.", `regexSplit "[,;]" "a,b;c" -1`,
			`["a","b","c"]`, func(limits *budget.Budget, pattern, text string, n int) ([]string, error) {
				r, found, err := searchAll(limits, pattern, text)
				if err != nil {
					return nil, err
				}
				return r.Split(text, n), allocateParts(limits, found.count+1)
			}, counted, "mustRegexSplit"},
		{"regexReplaceAll", "PATTERN TEXT REPLACEMENT", "TEXT with its matches replaced; ${1} is the first group.",
			`regexReplaceAll "a(x*)b" "-ab-axxb-" "${1}W"`, "-W-xxW-", replaceAll(true), 0, "mustRegexReplaceAll"},
		{"regexReplaceAllLiteral", "PATTERN TEXT REPLACEMENT", "The same, with REPLACEMENT as it is.",
			`regexReplaceAllLiteral "a(x*)b" "-ab-axxb-" "${1}"`, "-${1}-${1}-", replaceAll(false), 0, "mustRegexReplaceAllLiteral"},
		{"regexQuoteMeta", argText, "A pattern that matches TEXT itself.", `regexQuoteMeta "1.2"`, `1\.2`, regexp.QuoteMeta, 0, ""},
	}
}

func replaceAll(expand bool) func(limits *budget.Budget, pattern, text, replacement string) (string, error) {
	return func(limits *budget.Budget, pattern, text, replacement string) (string, error) {
		r, matches, err := searchAll(limits, pattern, text)
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
func compileRegex(limits *budget.Budget, pattern, text string) (*regexp.Regexp, error) {
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
	if err := limits.Search(tree, text); err != nil {
		return nil, err
	}
	return regexp.Compile(pattern)
}

// matches says what searchAll found.
type matches struct{ count, bytes int }

// searchAll goes once through all matches. Finding them all can take the square of the text's length, so that time is
// checked at every match; what the caller does afterwards takes no longer than that.
func searchAll(limits *budget.Budget, pattern, text string) (*regexp.Regexp, matches, error) {
	var found matches
	r, err := compileRegex(limits, pattern, text)
	if err != nil {
		return nil, found, err
	}
	r.ReplaceAllStringFunc(text, func(match string) string {
		found.count++
		found.bytes += len(match)
		if err := limits.Check(); err != nil {
			panic(abortError{err})
		}
		return ""
	})
	return r, found, nil
}

// groupFuncs find the groups of patterns. The searches are go-sprout's, behind the limits of our own: a pattern of many groups on a long
// text would fill the memory.
func groupFuncs() []row {
	s := sproutregexp.NewRegistry()
	return []row{
		{"regexFindGroups", "PATTERN TEXT", "The first match and its groups.", `regexFindGroups "(a)(b?)" "xa"`, `["a","a",""]`,
			first(s.RegexFindGroups), 0, "mustRegexFindGroups"},
		{"regexFindAllGroups", "PATTERN COUNT TEXT", "At most COUNT matches, each with its groups; -1 means all.", `regexFindAllGroups "a(.)" -1 "a1 a2"`,
			`[["a1","1"],["a2","2"]]`, all(s.RegexFindAllGroups), 0, "mustRegexFindAllGroups"},
		{"regexFindNamed", "PATTERN TEXT", "The named groups of the first match.", `regexFindNamed "(?P<host>[a-z]+):(?P<port>[0-9]+)" "web:80"`,
			`{"host":"web","port":"80"}`, first(s.RegexFindNamed), 0, "mustRegexFindNamed"},
		{"regexFindAllNamed", "PATTERN COUNT TEXT", "The named groups of at most COUNT matches; -1 means all.", `regexFindAllNamed "a(?P<n>.)" -1 "a1 a2"`,
			`[{"n":"1"},{"n":"2"}]`, all(s.RegexFindAllNamed), 0, "mustRegexFindAllNamed"},
	}
}

// first puts the limits before a search for one match.
func first[T any](find func(pattern, text string) (T, error)) func(*budget.Budget, string, string) (T, error) {
	return func(limits *budget.Budget, pattern, text string) (found T, err error) {
		if _, err = compileRegex(limits, pattern, text); err != nil {
			return found, err
		}
		return find(pattern, text)
	}
}

// all puts the limits before a search for every match, which may find many groups.
func all[T any](find func(pattern string, n int, text string) (T, error)) func(*budget.Budget, string, int, string) (T, error) {
	return func(limits *budget.Budget, pattern string, n int, text string) (groups T, err error) {
		r, found, err := searchAll(limits, pattern, text)
		if err != nil {
			return groups, err
		}
		if err = limits.Allocate(budget.Times(found.count, budget.BytesOfMap+budget.BytesOfEntry*(r.NumSubexp()+1))); err != nil {
			return groups, err
		}
		return find(pattern, n, text)
	}
}
