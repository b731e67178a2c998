package docs_test

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	apiPage    = "docs/reference/api.md"
	apiSources = "../../api/v1alpha1"
)

const apiIntro = `# API reference

<!-- This page is made from the comments of api/v1alpha1: UPDATE_GOLDEN=true go test ./test/docs -run TestAPIReference -->

Both kinds are of ` + "`orkestra.orkspace.io/v1alpha1`" + ` and have no namespace. What a version does not act on yet is in [box.md](box.md); the short fields of declarations are in
[declarations.md](declarations.md).
`

// TestAPIReference checks that the page has every type and field of the API, with what their comments say.
func TestAPIReference(t *testing.T) {
	want := newAPI(t).page("OperatorBox", "CRDHealth")
	file := filepath.Join("../..", apiPage)
	if os.Getenv("UPDATE_GOLDEN") == "true" {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the comments of the API say; UPDATE_GOLDEN=true go test ./test/docs -run TestAPIReference writes it", apiPage)
	}
}

// api knows the types of the API by name.
type api struct {
	types map[string]*doc.Type
	specs map[string]ast.Expr
}

func newAPI(t *testing.T) *api {
	t.Helper()
	files, err := filepath.Glob(apiSources + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || strings.Contains(name, "zz_generated") {
			continue
		}
		f, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, f)
	}
	pkg, err := doc.NewFromFiles(set, parsed, "v1alpha1", doc.AllDecls|doc.PreserveAST)
	if err != nil {
		t.Fatal(err)
	}
	a := &api{types: map[string]*doc.Type{}, specs: map[string]ast.Expr{}}
	for _, typ := range pkg.Types {
		a.types[typ.Name] = typ
		for _, s := range typ.Decl.Specs {
			if ts, ok := s.(*ast.TypeSpec); ok && ts.Name.Name == typ.Name {
				a.specs[typ.Name] = ts.Type
			}
		}
	}
	return a
}

// page describes the kinds, and below each kind every type that it is made of, in the order in which they are met.
func (a *api) page(kinds ...string) string {
	var b strings.Builder
	b.WriteString(apiIntro)
	done := map[string]bool{}
	queue := slices.Clone(kinds)
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		if done[name] {
			continue
		}
		done[name] = true
		queue = append(a.section(&b, name, slices.Contains(kinds, name)), queue...)
	}
	return b.String()
}

// section describes one type, and gives the types of its fields.
func (a *api) section(b *strings.Builder, name string, isKind bool) (next []string) {
	heading := "###"
	if isKind {
		heading = "##"
	}
	fmt.Fprintf(b, "\n%s %s\n\n%s\n", heading, name, sentence(a.types[name].Doc))
	switch t := a.specs[name].(type) {
	case *ast.StructType:
		b.WriteString("\n| field | type | meaning |\n|---|---|---|\n")
		return a.rows(b, t)
	case *ast.MapType:
		text, of := a.typeText(t)
		fmt.Fprintf(b, "\nIt is %s.\n", text)
		return of
	case *ast.ArrayType:
		text, of := a.typeText(t)
		fmt.Fprintf(b, "\nIt is %s.\n", text)
		return of
	}
	if values := enum(a.commentOf(name)); values != "" {
		fmt.Fprintf(b, "\nOne of %s.\n", values)
	}
	return nil
}

// rows describes the fields of a struct, those of embedded ones among them.
func (a *api) rows(b *strings.Builder, t *ast.StructType) (next []string) {
	for _, f := range t.Fields.List {
		tag := ""
		if f.Tag != nil {
			tag = jsonName.FindString(f.Tag.Value)
		}
		name, _, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(tag, `json:"`), `"`), ",")
		switch {
		case name == "-":
		case name == "" && len(f.Names) == 0:
			if embedded, ok := f.Type.(*ast.Ident); ok {
				if s, ok := a.specs[embedded.Name].(*ast.StructType); ok {
					next = append(next, a.rows(b, s)...)
				}
			}
		case name == "":
		default:
			text, of := a.typeText(f.Type)
			fmt.Fprintf(b, "| `%s` | %s | %s |\n", name, text, meaning(f.Doc))
			next = append(next, of...)
		}
	}
	return next
}

var jsonName = regexp.MustCompile(`json:"[^"]*"`)

// typeText says what a Go type is in JSON, and names the types of ours in it.
func (a *api) typeText(e ast.Expr) (text string, of []string) {
	switch t := e.(type) {
	case *ast.StarExpr:
		return a.typeText(t.X)
	case *ast.ArrayType:
		text, of = a.typeText(t.Elt)
		return "list of " + text, of
	case *ast.MapType:
		text, of = a.typeText(t.Value)
		return "map to " + text, of
	case *ast.SelectorExpr:
		return foreign(t.Sel.Name), nil
	case *ast.Ident:
		return a.named(t.Name)
	default:
		return "object", nil
	}
}

func (a *api) named(name string) (text string, of []string) {
	switch name {
	case "string", "ShortString":
		return "string", nil
	case "bool":
		return "boolean", nil
	case "int32", "int64", "int":
		return "integer", nil
	case "any":
		return "any value", nil
	}
	if a.types[name] == nil {
		return name, nil
	}
	return fmt.Sprintf("[%s](#%s)", name, strings.ToLower(name)), []string{name}
}

// foreign says what a type of Kubernetes is.
func foreign(name string) string {
	switch name {
	case "Duration":
		return "duration"
	case "Time", "MicroTime":
		return "time"
	case "JSON":
		return "any value"
	default:
		return name
	}
}

// meaning is what a field's comment says: its text, its default and its limits.
func meaning(comment *ast.CommentGroup) string {
	if comment == nil {
		return ""
	}
	var extra []string
	for _, c := range comment.List {
		text := strings.TrimSpace(strings.TrimPrefix(c.Text, "//"))
		for marker, words := range map[string]string{
			"+kubebuilder:default=": "Default: `%s`.", "+kubebuilder:validation:Minimum=": "At least %s.", "+kubebuilder:validation:Maximum=": "At most %s.",
			"+kubebuilder:validation:MaxItems=": "At most %s.", "+kubebuilder:validation:MaxProperties=": "At most %s.",
		} {
			if value, ok := strings.CutPrefix(text, marker); ok {
				extra = append(extra, fmt.Sprintf(words, strings.Trim(value, `"`)))
			}
		}
		if values, ok := strings.CutPrefix(text, "+kubebuilder:validation:Enum="); ok {
			extra = append(extra, "One of "+enumText(values)+".")
		}
		if text == "+required" {
			extra = append(extra, "Required.")
		}
	}
	slices.Sort(extra)
	return strings.ReplaceAll(strings.TrimSpace(sentence(comment.Text())+" "+strings.Join(extra, " ")), "|", `\|`)
}

// sentence is a comment on one line, without markers, and fit for Markdown.
func sentence(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "+") {
			lines = append(lines, line)
		}
	}
	return strings.ReplaceAll(strings.Join(lines, " "), "<", "&lt;")
}

// commentOf is the raw comment of a type, markers and all.
func (a *api) commentOf(name string) string {
	var b strings.Builder
	if d := a.types[name].Decl.Doc; d != nil {
		for _, c := range d.List {
			b.WriteString(c.Text + "\n")
		}
	}
	return b.String()
}

func enum(raw string) string {
	for line := range strings.SplitSeq(raw, "\n") {
		if _, values, ok := strings.Cut(line, "+kubebuilder:validation:Enum="); ok {
			return enumText(values)
		}
	}
	return ""
}

func enumText(values string) string {
	return "`" + strings.ReplaceAll(values, ";", "`, `") + "`"
}
