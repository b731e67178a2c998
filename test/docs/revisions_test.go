package docs_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// printedRevision is the name of a revision as pages print it, with its box.
var printedRevision = regexp.MustCompile(`\b(greeting)-[0-9a-f]{10}\b`)

// printedRevisions checks that a page which prints the name of a revision prints that of its own box.
func printedRevisions(t *testing.T, bin string) {
	t.Helper()
	count := 0
	for _, page := range []string{"README.md", "docs/start.md"} {
		made := revisionsOf(t, bin, page)
		for _, printed := range printedRevision.FindAllString(read(t, page), -1) {
			count++
			if !slices.Contains(made, printed) {
				t.Errorf("%s prints the revision %s; those of its boxes are %v", page, printed, made)
			}
		}
	}
	if count < 4 {
		t.Errorf("found only %d names of revisions", count)
	}
}

// revisionsOf gives the revisions that the boxes of a page have.
func revisionsOf(t *testing.T, bin, page string) []string {
	t.Helper()
	var all []string
	for _, f := range fences(t, page) {
		box, _, ok := f.documents(t)
		if !ok || f.invalid != "" {
			continue
		}
		file := filepath.Join(t.TempDir(), "box.yaml")
		write(t, file, box)
		out, err := exec.CommandContext(t.Context(), bin, "validate", "-f", file, "-o", "json").Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", f, err, out)
		}
		all = append(all, printedRevision.FindAllString(string(out), -1)...)
	}
	return all
}
