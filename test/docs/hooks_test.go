package docs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/orkspace/orkestra/cmd/orkestra/app"
	shared "github.com/orkspace/orkestra/test/fixtures"
)

const (
	hooksPage   = "docs/how-to/hooks.md"
	hookAPIPage = "docs/reference/hook-api.md"
)

// saved says of a fence as what it is to be saved.
var saved = regexp.MustCompile("(?i)\\bthis as `([^`]+)`[^\\n]*\\n\\n(?:<!--[^\\n]*\\n)?```[a-z]+\\n((?s:.*?))```\\n")

// TestHookProgramIsBuilt does what the page says, up to a cluster: the files that it has to be saved, the registry, the program.
func TestHookProgramIsBuilt(t *testing.T) {
	page, inAPI, folder := read(t, hooksPage), fences(t, hookAPIPage), t.TempDir()
	product, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "go.mod"), "module example.com/greeter\n\ngo 1.26.0\n\nrequire github.com/orkspace/orkestra v0.0.0\n\nreplace github.com/orkspace/orkestra => "+product+"\n")
	write(t, filepath.Join(folder, "go.sum"), read(t, "go.sum"))
	files := saved.FindAllStringSubmatch(page, -1)
	if len(files) != 3 {
		t.Fatalf("%s has %d files to be saved: %q", hooksPage, len(files), files)
	}
	for _, file := range files {
		if err := os.MkdirAll(filepath.Join(folder, filepath.Dir(file[1])), 0o750); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(folder, file[1]), file[2])
	}
	t.Chdir(folder)
	for _, command := range []string{"go tool orkestra generate registry -f boxes/ -o .", "go build -o greeter ."} {
		if !strings.Contains(page, "\n"+command+"\n") {
			t.Errorf("%s lacks the command %s", hooksPage, command)
		}
	}
	stdout, stderr, _ := shared.Run(t, app.NewCommand(app.Options{}), "", "generate", "registry", "-f", "boxes/", "-o", ".")
	// The test has the product from a folder, as no user of the page has, and is told so.
	note := fmt.Sprintf("note: go.mod replaces github.com/orkspace/orkestra by %s, outside of its own folder: an image of that folder alone is built after \"go mod vendor\"\n", product)
	if stderr != note || !strings.Contains(page, "```console\n"+stdout+"```\n") {
		t.Errorf("%s lacks the output\n%s%s", hooksPage, stdout, stderr)
	}
	builds(t, ".")

	// A manager that one makes oneself has the same registry.
	own := slices.IndexFunc(inAPI, func(f *fence) bool { return f.lang == "go" && strings.HasPrefix(f.text, "package main\n") })
	if own < 0 {
		t.Fatalf("%s has no program", hookAPIPage)
	}
	if err := os.Mkdir("own", 0o750); err != nil {
		t.Fatal(err)
	}
	write(t, "own/main.go", inAPI[own].text)
	if _, stderr, code := shared.Run(t, app.NewCommand(app.Options{}), "", "generate", "registry", "-f", "boxes/", "-o", "own"); code != 0 {
		t.Fatal(stderr)
	}
	builds(t, "./own")
}

// builds compiles a program of the working directory.
func builds(t *testing.T, program string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-mod=mod", "-o", os.DevNull, program)
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", program, err, out)
	}
}
