package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const securityPage = "docs/operations/security.md"

var (
	// threat is a row of the page's tables of threats: what somebody tries, the rule against it, and its tests.
	threat = regexp.MustCompile(`(?m)^\| (.+) \| (.+) \| (.*_test\.go.*) \|$`)
	// testOfThreat is the file of a test, and the text of its spec or the name of its function.
	testOfThreat = regexp.MustCompile("^`([^`]+_test\\.go)`: \"(.+)\"$")
)

// TestThreatsAreTested checks that each test that the threat model names exists.
func TestThreatsAreTested(t *testing.T) {
	rows := threat.FindAllStringSubmatch(prose(t, securityPage), -1)
	if want := strings.Count(read(t, securityPage), "_test.go`: "); len(rows) < 40 || want < len(rows) {
		t.Fatalf("found %d threats with %d tests", len(rows), want)
	}
	known := map[string][]string{}
	for _, row := range rows {
		for entry := range strings.SplitSeq(row[3], "<br>") {
			m := testOfThreat.FindStringSubmatch(entry)
			if m == nil {
				t.Errorf("%s: the threat %q has a test that is not of the form `FILE`: \"TEXT\": %s", securityPage, row[1], entry)
				continue
			}
			if known[m[1]] == nil {
				known[m[1]] = testsIn(t, m[1])
			}
			if !slices.Contains(known[m[1]], m[2]) {
				t.Errorf("%s: the threat %q names a test that %s does not have: %q", securityPage, row[1], m[1], m[2])
			}
		}
	}
}

// TestEveryThreatHasATest checks that no row of the tables of threats is without a test.
func TestEveryThreatHasATest(t *testing.T) {
	_, threats, found := strings.Cut(prose(t, securityPage), "\n## Threats\n")
	threats, _, ends := strings.Cut(threats, "\n## ")
	if !found || !ends {
		t.Fatalf("%s has no section on threats", securityPage)
	}
	for line := range strings.SplitSeq(threats, "\n") {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| threat ") && !threat.MatchString(line) {
			t.Errorf("%s: this threat names no test: %s", securityPage, line)
		}
	}
}

// testsIn gives the texts of the specs in a file, and the names of its test functions.
func testsIn(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, filepath.FromSlash(file)), nil, 0)
	if err != nil {
		t.Error(err)
		return []string{}
	}
	out := []string{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if strings.HasPrefix(n.Name.Name, "Test") {
				out = append(out, n.Name.Name)
			}
		case *ast.CallExpr:
			if len(n.Args) < 2 || !slices.Contains([]string{"It", "DescribeTable"}, lastName(n.Fun)) {
				return true
			}
			if literal, ok := n.Args[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if text, err := strconv.Unquote(literal.Value); err == nil {
					out = append(out, text)
				}
			}
		}
		return true
	})
	return out
}
