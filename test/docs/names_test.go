package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr/functions"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/metrics"
	"github.com/orkspace/orkestra/test/fixtures"
)

const (
	boxPage          = "docs/reference/box.md"
	operationsPage   = "docs/operations.md"
	metricsPage      = "docs/reference/metrics.md"
	troubleshootPage = "docs/how-to/troubleshoot.md"
	templatesPage    = "docs/how-to/templates.md"
)

// names are the words of a page that stand in backticks, one by one.
func names(t *testing.T, page string) []string {
	t.Helper()
	var out []string
	for _, m := range backtick.FindAllStringSubmatch(prose(t, page), -1) {
		out = append(out, m[1])
		out = append(out, strings.Fields(m[1])...)
	}
	return out
}

func expectNames(t *testing.T, page, what string, want []string) {
	t.Helper()
	have := names(t, page)
	for _, name := range want {
		if !slices.Contains(have, name) {
			t.Errorf("%s does not name the %s %q", page, what, name)
		}
	}
}

// flagOf finds the flags in a help text or a page.
var flagOf = regexp.MustCompile(`(?:^|[\s\x60])(--[a-z][a-z-]+)`)

// flags are those of a command.
func flags(t *testing.T, bin, command string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), bin, command, "--help").CombinedOutput()
	if err != nil {
		t.Fatalf("asking %s for help: %v\n%s", command, err, out)
	}
	var found []string
	for _, m := range flagOf.FindAllStringSubmatch(string(out), -1) {
		found = append(found, m[1])
	}
	return found
}

// namedFlags checks that every flag of orkestra that a page names exists, and that the table of the manager's flags is complete.
func namedFlags(t *testing.T, bin string) {
	t.Helper()
	manager, validate := flags(t, bin, "manager"), flags(t, bin, "validate")
	expectNames(t, operationsPage, "flag", slices.DeleteFunc(slices.Clone(manager), func(f string) bool { return f == "--help" }))
	for _, m := range backtick.FindAllStringSubmatch(prose(t, operationsPage), -1) {
		if strings.HasPrefix(m[1], "--") && !slices.Contains(manager, strings.Fields(m[1])[0]) {
			t.Errorf("%s: orkestra manager has no flag %q", operationsPage, m[1])
		}
	}
	known := map[string][]string{"manager": manager, "validate": validate, "version": nil}
	command := regexp.MustCompile(`orkestra (manager|validate|version)([^|\n]*)`)
	for _, page := range pages(t) {
		for _, m := range command.FindAllStringSubmatch(read(t, page), -1) {
			for _, f := range flagOf.FindAllStringSubmatch(m[2], -1) {
				if !slices.Contains(known[m[1]], f[1]) {
					t.Errorf("%s: orkestra %s has no flag %s", page, m[1], f[1])
				}
			}
		}
	}
}

// TestTargets checks that every make target that a page names exists.
func TestTargets(t *testing.T) {
	makefile := strings.ReplaceAll(read(t, "Makefile"), "$(BIN)", "bin")
	command := regexp.MustCompile("(?m)(?:^|\x60)make ([a-z][a-z0-9/-]*)")
	count := 0
	for _, page := range pages(t) {
		for _, m := range command.FindAllStringSubmatch(read(t, page), -1) {
			count++
			if !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("%s: there is no target %q in the Makefile", page, m[1])
			}
		}
	}
	if count < 5 {
		t.Errorf("found only %d make commands in the pages", count)
	}
}

// TestMapNamesEveryCommand checks that the map in the README has every command of the binary.
func TestMapNamesEveryCommand(t *testing.T) {
	commands := regexp.MustCompile(`(\w+)\.NewCommand\(`).FindAllStringSubmatch(read(t, "cmd/orkestra/app/app.go"), -1)
	row := regexp.MustCompile("(?m)^\\| `cmd/orkestra` .*$").FindString(read(t, "README.md"))
	if len(commands) < 6 || row == "" {
		t.Fatalf("found %d commands and the row %q", len(commands), row)
	}
	for _, m := range commands {
		if !strings.Contains(row, "`"+strings.ToLower(m[1])+"`") {
			t.Errorf("the README's map lacks %q: %s", strings.ToLower(m[1]), row)
		}
	}
}

// TestPictureHasEveryStage checks that the picture in the README has the stages of a reconcile in their order.
func TestPictureHasEveryStage(t *testing.T) {
	var stages []string
	for _, m := range regexp.MustCompile(`\{stage\.Step(\w+),`).FindAllStringSubmatch(read(t, "engine/pipeline/order.go"), -1) {
		stages = append(stages, strings.ToLower(m[1][:1])+m[1][1:])
	}
	picture := regexp.MustCompile(`(?s) deletion ─▶.*always, also after an error`).FindString(read(t, "README.md"))
	shown := regexp.MustCompile(`\w+(?: ─▶ \w+)+`).FindAllString(picture, -1)
	if len(stages) < 10 || strings.Join(shown, " ─▶ ") != strings.Join(stages, " ─▶ ") {
		t.Errorf("the stages are\n%s\nand the README's picture has\n%s", strings.Join(stages, " ─▶ "), strings.Join(shown, " ─▶ "))
	}
}

// TestMakeRunTakesFlags checks that the manager of make run gets the flags that were asked for.
func TestMakeRunTakesFlags(t *testing.T) {
	run := regexp.MustCompile(`(?ms)^run: .*?\n\n`).FindString(read(t, "Makefile"))
	if !strings.Contains(run, "$(MANAGER_FLAGS)") {
		t.Errorf("make run does not hand MANAGER_FLAGS on: %s", run)
	}
}

// TestStates checks that every state that orkestra status shows is explained.
func TestStates(t *testing.T) {
	want := constants(t, "engine/pipeline/overview/overview.go", func(name string) bool { return strings.HasPrefix(name, "State") })
	if len(want) < 11 {
		t.Fatalf("found only %d states", len(want))
	}
	expectNames(t, "docs/reference/cli.md", "state", want)
}

// TestMetrics checks that every series is listed, and that no page names one that does not exist.
func TestMetrics(t *testing.T) {
	series := map[string]bool{}
	for _, s := range metrics.Catalog() {
		series[s.Name] = true
		expectNames(t, metricsPage, "metric", []string{s.Name})
	}
	// What operators are told to look at exists.
	suffix := regexp.MustCompile(`_(bucket|sum|count)$`)
	for _, page := range pages(t) {
		for _, name := range regexp.MustCompile(`\borkestra_[a-z_]+`).FindAllString(read(t, page), -1) {
			if !series[name] && !series[suffix.ReplaceAllString(name, "")] {
				t.Errorf("%s: there is no metric %q", page, name)
			}
		}
	}
}

// TestFields checks that the reference names every field of a box, the keys of groups, and the operators.
func TestFields(t *testing.T) {
	expectNames(t, boxPage, "field of spec", fixtures.JSONNames(reflect.TypeFor[v1alpha1.OperatorBoxSpec]()))
	for _, nested := range []reflect.Type{
		reflect.TypeFor[v1alpha1.CRDReference](), reflect.TypeFor[v1alpha1.NamespaceSelection](), reflect.TypeFor[v1alpha1.NormalizeSpec](),
		reflect.TypeFor[v1alpha1.MutationRule](), reflect.TypeFor[v1alpha1.ValidationRule](), reflect.TypeFor[v1alpha1.DeletionSpec](),
		reflect.TypeFor[v1alpha1.StatusSpec](), reflect.TypeFor[v1alpha1.StatusField](), reflect.TypeFor[v1alpha1.RuntimeSpec](),
	} {
		expectNames(t, boxPage, "field", fixtures.JSONNames(nested))
	}
	expectNames(t, boxPage, "field of declarations", v1alpha1.CommonFieldNames())
	expectNames(t, boxPage, "key", kinds.Keys())
	for _, key := range kinds.Keys() {
		kind, _ := kinds.Lookup(key)
		expectNames(t, boxPage, "short field of "+key, kind.FieldNames())
	}
	expectNames(t, boxPage, "operator", constants(t, "api/v1alpha1/when_types.go", func(name string) bool { return strings.HasPrefix(name, "Operator") }))
}

// TestFunctions checks that the template functions that a page names exist.
func TestFunctions(t *testing.T) {
	var all []string
	for _, f := range functions.All() {
		all = append(append(all, f.Name), f.Aliases...)
	}
	table := regexp.MustCompile(`(?m)^\| (?:workloads|Jobs|addresses|any object|others) \|(.*)\|$`)
	rows := table.FindAllStringSubmatch(prose(t, templatesPage), -1)
	if len(rows) == 0 {
		t.Fatal("there is no table of functions")
	}
	for _, row := range rows {
		for _, m := range backtick.FindAllStringSubmatch(row[1], -1) {
			if !slices.Contains(all, m[1]) {
				t.Errorf("%s: there is no function %q", templatesPage, m[1])
			}
		}
	}
}

// constants are the values of the string constants of a file whose names are picked.
func constants(t *testing.T, file string, pick func(name string) bool) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || !pick(spec.Names[0].Name) {
			return true
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil {
				out = append(out, text)
			}
		}
		return true
	})
	return out
}
