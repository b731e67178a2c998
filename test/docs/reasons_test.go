package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const reasonsFile = "api/v1alpha1/conditions.go"

// TestReasons checks that every condition and reason is explained.
func TestReasons(t *testing.T) {
	want := constants(t, reasonsFile, func(name string) bool {
		return strings.HasPrefix(name, "Reason") || strings.HasPrefix(name, "Condition")
	})
	if len(want) < 40 {
		t.Fatalf("found only %d reasons", len(want))
	}
	expectNames(t, troubleshootPage, "condition or reason", want)
}

// TestReasonsHaveOnePlace checks that no condition or event has a reason that is written elsewhere than among the constants of the
// API, where TestReasons would not see it. The other commands write neither, and nor does what says how resources stand.
func TestReasonsHaveOnePlace(t *testing.T) {
	files := token.NewFileSet()
	var parsed []*ast.File
	for _, top := range []string{"engine", "controllers", "cmd/orkestra/manager"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || saysHowResourcesStand.MatchString(filepath.ToSlash(path)) {
				return err
			}
			file, err := parser.ParseFile(files, path, nil, 0)
			parsed = append(parsed, file)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range parsed {
		for _, literal := range reasonsIn(file, takersOf(parsed)) {
			t.Errorf("%s: the reason %s has no constant in %s", files.Position(literal.Pos()), literal.Value, reasonsFile)
		}
	}
}

var saysHowResourcesStand = regexp.MustCompile(`/(controllers/inspect|engine/web/view)/`)

func TestReasonsAreFoundWhereverTheyAre(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "a.go", `package a
const someReason, text = "InConstant", "NoReason"
const ReasonB = "no reason, but words"
var x = T{Reason: "InField", Message: "NoReason"}
func say(about, reason, text string) {}
func f() {
	x.Reason = "InAssignment"
	say("NoReason", "InCall", "NoReason")
	events.Eventf(a, b, "NoReason", "InEvent", "NoReason")
	all := map[string]T{"NoReason": {reason: "InMap"}}
	if x.Reason == "InComparison" {}
}`, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, literal := range reasonsIn(file, takersOf([]*ast.File{file})) {
		found = append(found, literal.Value)
	}
	if want := []string{`"InConstant"`, `"InField"`, `"InAssignment"`, `"InCall"`, `"InEvent"`, `"InMap"`, `"InComparison"`}; !slices.Equal(found, want) {
		t.Errorf("found %v, wanted %v", found, want)
	}
}

// takersOf gives the functions that take a reason, each with the place of it among its arguments.
func takersOf(files []*ast.File) map[string]int {
	takers := map[string]int{"Eventf": 3} // of client-go
	for _, file := range files {
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			at := 0
			for _, parameters := range f.Type.Params.List {
				for _, name := range parameters.Names {
					if name.Name == "reason" {
						takers[f.Name.Name] = at
					}
					at++
				}
			}
		}
	}
	return takers
}

var reasonForm = regexp.MustCompile(`^"[A-Z][A-Za-z]+"$`)

// reasonsIn gives the literals of a file that are used as reasons.
func reasonsIn(file *ast.File, takers map[string]int) []*ast.BasicLit {
	var found []*ast.BasicLit
	check := func(is bool, e ast.Expr) {
		literal, ok := e.(*ast.BasicLit)
		if is && ok && literal.Kind == token.STRING && reasonForm.MatchString(strconv.Quote(strings.Trim(literal.Value, "\"`"))) {
			found = append(found, literal)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for i, value := range n.Values {
				check(isReason(n.Names[i]), value)
			}
		case *ast.KeyValueExpr:
			check(isReason(n.Key), n.Value)
		case *ast.AssignStmt:
			for i, value := range n.Rhs {
				check(isReason(n.Lhs[i]), value)
			}
		case *ast.BinaryExpr:
			check(isReason(n.X), n.Y)
		case *ast.CallExpr:
			if at, takes := takers[lastName(n.Fun)]; takes && at < len(n.Args) {
				check(true, n.Args[at])
			}
		}
		return true
	})
	return found
}

// isReason says whether what an expression names is a reason.
func isReason(e ast.Expr) bool {
	name := lastName(e)
	return strings.HasPrefix(name, "reason") || strings.Contains(name, "Reason")
}

func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	default:
		return ""
	}
}
