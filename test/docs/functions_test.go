package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/orkspace/orkestra/engine/expr/functions"
)

const functionsPage = "docs/reference/functions.md"

// functionTables is what the reference says of the functions: a table for each group, in the order of the product's own.
func functionTables() string {
	var b strings.Builder
	group := ""
	for _, f := range functions.All() {
		if f.Group != group {
			group = f.Group
			fmt.Fprintf(&b, "\n## %s\n\n| function | gives | example |\n|---|---|---|\n", group)
		}
		fmt.Fprintln(&b, functionRow(f))
	}
	return b.String()
}

func functionRow(f functions.Func) string {
	doc := strings.ReplaceAll(f.Doc, "|", `\|`)
	if len(f.Aliases) > 0 {
		doc += " Also `" + strings.Join(f.Aliases, "` `") + "`"
	}
	return fmt.Sprintf("| `%s` | %s | %s → %s |", f.Usage, doc, cellCode(f.Example), cellCode(f.Result))
}

// cellCode writes a text as code in a cell of a table: a pipe would end the cell, and a backtick the code. Ends of lines are shown as ↵.
func cellCode(text string) string {
	if text == "" {
		return "nothing"
	}
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		text = " " + text + " "
	}
	return fence + strings.NewReplacer("|", `\|`, "\n", "↵").Replace(text) + fence
}

// TestFunctionReference compares the tables of the reference with the functions that there are; UPDATE_GOLDEN=true writes them.
func TestFunctionReference(t *testing.T) {
	page, want := read(t, functionsPage), functionTables()
	intro, have, found := strings.Cut(page, "\n## ")
	if !found {
		t.Fatalf("%s has no heading", functionsPage)
	}
	have = "\n## " + have
	if os.Getenv("UPDATE_GOLDEN") == "true" {
		write(t, filepath.Join(root, functionsPage), intro+want)
		return
	}
	if have == want {
		return
	}
	haveRows, wantRows := strings.Split(have, "\n"), strings.Split(want, "\n")
	for _, row := range wantRows {
		if !slices.Contains(haveRows, row) {
			t.Errorf("%s lacks the line\n\t%s", functionsPage, row)
		}
	}
	for _, row := range haveRows {
		if !slices.Contains(wantRows, row) {
			t.Errorf("%s: the functions give no line\n\t%s", functionsPage, row)
		}
	}
	t.Errorf("%s does not list the functions as engine/expr does; UPDATE_GOLDEN=true go test ./test/docs -run TestFunctionReference writes it", functionsPage)
}
