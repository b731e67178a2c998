package plane

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Steps is a table of what a test of boxes in Git went through, with a line for each step.
type Steps struct {
	// Objects heads the column that says how many objects a step was about; defaults to "objects in Git".
	Objects string

	lines []string
}

// Add adds a line: how long a step took, how many objects it was about, and how many differences were left after it.
func (s *Steps) Add(what string, took time.Duration, objects int, differences string) {
	s.lines = append(s.lines, fmt.Sprintf("| %s | %.1f | %d | %s |", what, took.Seconds(), objects, differences))
}

// Write logs the table, and writes it into a file.
func (s *Steps) Write(t *testing.T, file string) {
	t.Helper()
	table := "| step | seconds | " + cmp.Or(s.Objects, "objects in Git") + " | differences left |\n|---|---:|---:|---:|\n" + strings.Join(s.lines, "\n") + "\n"
	t.Log("\n" + table)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(table), 0o600); err != nil {
		t.Fatal(err)
	}
}
