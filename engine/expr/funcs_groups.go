package expr

import (
	sproutregexp "github.com/go-sprout/sprout/registry/regexp"
)

// groupFuncs find the groups of patterns. The searches are go-sprout's, behind the limits of our own: a pattern of many groups on a long
// text would fill the memory.
func groupFuncs() []row {
	s := sproutregexp.NewRegistry()
	return []row{
		{"regexFindGroups", "PATTERN TEXT", "The first match and its groups.", `regexFindGroups "(a)(b?)" "xa"`, `["a","a",""]`,
			func(st *state, pattern, text string) ([]string, error) {
				if _, err := compileRegex(st, pattern, text); err != nil {
					return nil, err
				}
				return s.RegexFindGroups(pattern, text)
			}, 0, "mustRegexFindGroups"},
		{"regexFindAllGroups", "PATTERN COUNT TEXT", "At most COUNT matches, each with its groups; -1 means all.", `regexFindAllGroups "a(.)" -1 "a1 a2"`,
			`[["a1","1"],["a2","2"]]`, func(st *state, pattern string, n int, text string) ([][]string, error) {
				if err := checkGroups(st, pattern, text); err != nil {
					return nil, err
				}
				return s.RegexFindAllGroups(pattern, n, text)
			}, 0, "mustRegexFindAllGroups"},
		{"regexFindNamed", "PATTERN TEXT", "The named groups of the first match.", `regexFindNamed "(?P<host>[a-z]+):(?P<port>[0-9]+)" "web:80"`,
			`{"host":"web","port":"80"}`, func(st *state, pattern, text string) (map[string]string, error) {
				if _, err := compileRegex(st, pattern, text); err != nil {
					return nil, err
				}
				return s.RegexFindNamed(pattern, text)
			}, 0, "mustRegexFindNamed"},
		{"regexFindAllNamed", "PATTERN COUNT TEXT", "The named groups of at most COUNT matches; -1 means all.", `regexFindAllNamed "a(?P<n>.)" -1 "a1 a2"`,
			`[{"n":"1"},{"n":"2"}]`, func(st *state, pattern string, n int, text string) ([]map[string]string, error) {
				if err := checkGroups(st, pattern, text); err != nil {
					return nil, err
				}
				return s.RegexFindAllNamed(pattern, n, text)
			}, 0, "mustRegexFindAllNamed"},
	}
}

// checkGroups refuses a search that would find too many groups.
func checkGroups(st *state, pattern, text string) error {
	r, found, err := searchAll(st, pattern, text)
	if err != nil {
		return err
	}
	return st.allocate(times(found.count, bytesOfMap+bytesOfEntry*(r.NumSubexp()+1)))
}
