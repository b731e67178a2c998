package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const constructorPage = "docs/how-to/constructor.md"

// TestConstructorProgramCompiles compiles the program of the page about constructors.
func TestConstructorProgramCompiles(t *testing.T) {
	for _, f := range fences(t, constructorPage) {
		if f.lang != "go" || !strings.Contains(f.text, "package main") {
			continue
		}
		main := filepath.Join(t.TempDir(), "main.go")
		if err := os.WriteFile(main, []byte(f.text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "go", "vet", main)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", f, err, out)
		}
		return
	}
	t.Errorf("%s has no program", constructorPage)
}
