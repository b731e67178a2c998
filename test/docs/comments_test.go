package docs_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pageInComment finds the pages that a comment names, and the heading that it quotes behind one: docs/design/architecture.md, "Deletion".
// The pages in docs/design may be named without the folder: (design: architecture.md, "Deletion").
var pageInComment = regexp.MustCompile(`(design: )?([A-Za-z0-9_./-]+\.md)(?:,\s+"([^"]+)")?`)

// TestPagesInComments checks that each page that a comment names exists, and has the heading that the comment quotes.
func TestPagesInComments(t *testing.T) {
	count := 0
	for _, file := range sources(t) {
		for _, group := range commentsOf(t, file) {
			for _, m := range pageInComment.FindAllStringSubmatch(group, -1) {
				count++
				if problem := pageProblem(t, m); problem != "" {
					t.Errorf("%s: a comment says %q: %s", file, m[0], problem)
				}
			}
		}
	}
	if count < 5 {
		t.Errorf("found only %d pages in comments", count)
	}
}

// pageProblem says what is wrong with a match of pageInComment; empty where nothing is.
func pageProblem(t *testing.T, match []string) string {
	t.Helper()
	page, heading := match[2], match[3]
	if match[1] != "" {
		page = "docs/design/" + page
	}
	if !slices.Contains(pages(t), page) {
		return "there is no such page; name one by its path from the root, such as docs/design/architecture.md"
	}
	name := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(heading), "")
	if heading != "" && !slices.Contains(anchors(t, page), strings.ReplaceAll(name, " ", "-")) {
		return "the page has no such heading"
	}
	return ""
}

func TestPageProblem(t *testing.T) {
	for _, c := range []struct {
		comment, want string
	}{
		{`see docs/design/architecture.md, "Deletion".`, ""},
		{"see docs/design/architecture.md,\n\"Drift\"", ""},
		{"see README.md", ""},
		{`(design: architecture.md, "Drift")`, ""},
		{"(design: semantics.md)", "there is no such page"},
		{"see architecture.md", "there is no such page"},
		{`see docs/design/architecture.md, "Weather"`, "the page has no such heading"},
	} {
		m := pageInComment.FindStringSubmatch(c.comment)
		if m == nil {
			t.Errorf("%q: no page was found", c.comment)
			continue
		}
		if got := pageProblem(t, m); got != c.want && (c.want == "" || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%q: want %q, got %q", c.comment, c.want, got)
		}
	}
}

// sources are the Go files of the repository, from its root.
func sources(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, dir := range []string{"api", "cmd", "config", "controllers", "engine", "test"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && filepath.Ext(path) == ".go" {
				rel, _ := filepath.Rel(root, path) // both are below root
				out = append(out, filepath.ToSlash(rel))
			}
			return err
		})
		if err != nil {
			t.Fatalf("finding Go files: %v", err)
		}
	}
	return out
}

// commentsOf gives the comments of a Go file, without their slashes.
func commentsOf(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, filepath.FromSlash(file)), nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatalf("reading %q: %v", file, err)
	}
	out := make([]string, 0, len(parsed.Comments))
	for _, group := range parsed.Comments {
		out = append(out, group.Text())
	}
	return out
}
