package docs_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	hooksPage   = "docs/how-to/hooks.md"
	hookAPIPage = "docs/reference/hook-api.md"

	constructorPage = "docs/how-to/constructor.md"
)

// engineOnly are exported names of the contract that the engine uses, and no hook.
var engineOnly = []string{
	"Function", "Outcome", "Child", "StatusField", "Reader", "Phase", "Create", "Update", "Reconcile", "Delete", "NotCompiledIn", "IsUnknown",
	"NewArgs", "NewChildren", "ApplyOption", "Hooks", "HookNames", "ConstructorNames", "Scheme",
}

// TestHookAPIIsNamed checks that the page names every function, type and method that a hook may use.
func TestHookAPIIsNamed(t *testing.T) {
	files := token.NewFileSet()
	var parsed []*ast.File
	entries, err := filepath.Glob(filepath.Join(root, "engine", "hook", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range entries {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, file)
	}
	all, err := doc.NewFromFiles(files, parsed, "github.com/orkspace/orkestra/engine/hook")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	functions := func(list []*doc.Func) {
		for _, f := range list {
			names = append(names, f.Name)
		}
	}
	functions(all.Funcs)
	for _, kind := range all.Types {
		names = append(names, kind.Name)
		functions(kind.Funcs)
		if !slices.Contains(engineOnly, kind.Name) {
			functions(kind.Methods)
		}
	}
	if len(names) < 30 {
		t.Fatalf("found only %v", names)
	}
	page := read(t, hookAPIPage)
	for _, name := range names {
		if !slices.Contains(engineOnly, name) && !strings.Contains(page, "`"+name) {
			t.Errorf("%s does not name %s", hookAPIPage, name)
		}
	}
}

// TestCodeProgramsCompile compiles the programs of the pages about Go code.
func TestCodeProgramsCompile(t *testing.T) {
	for _, page := range []string{hooksPage, constructorPage} {
		t.Run(page, func(t *testing.T) { compiles(t, page) })
	}
}

// compiles sees whether the program of a page does.
func compiles(t *testing.T, page string) {
	t.Helper()
	for _, f := range fences(t, page) {
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
	t.Errorf("%s has no program", page)
}
