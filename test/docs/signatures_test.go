package docs_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// engineOnly are exported names of the contract that the engine uses, and no hook.
var engineOnly = []string{
	"Child", "Event", "Function", "IsUnknown", "NewArgs", "NewChildren", "NotCompiledIn", "Outcome", "Owned", "Phase", "Reader", "Say", "StatusField", "Wait",
	"Registry.Constructor", "Registry.ConstructorNames", "Registry.HookNames", "Registry.Hooks", "Registry.Scheme",
}

// signaturesIntro begins the part of the page that is made from the code.
const signaturesIntro = `## Signatures

<!-- This part is made from engine/hook: UPDATE_GOLDEN=true go test ./test/docs -run TestHookSignatures -->

| of package ` + "`hook`" + ` | meaning |
|---|---|
`

// TestHookSignatures checks that the page has the signature of all that Go code of users may use, with the first sentence of its comment.
func TestHookSignatures(t *testing.T) {
	page := read(t, hookAPIPage)
	before, _, found := strings.Cut(page, "## Signatures\n")
	if !found {
		t.Fatalf("%s has no signatures", hookAPIPage)
	}
	want := before + signaturesIntro
	for _, s := range hookContract(t) {
		if s.text == "" {
			t.Errorf("%s has no comment", s.name)
		}
		want += fmt.Sprintf("| `%s` | %s |\n", s.signature, sentence(s.text))
	}
	if os.Getenv("UPDATE_GOLDEN") == "true" {
		write(t, filepath.Join(root, hookAPIPage), want)
	} else if page != want {
		t.Errorf("%s does not have the signatures of engine/hook; UPDATE_GOLDEN=true go test ./test/docs -run TestHookSignatures writes them", hookAPIPage)
	}
}

// TestHookAPIIsNamed checks that the page explains every function, type and method that Go code of users may use.
func TestHookAPIIsNamed(t *testing.T) {
	explained, _, _ := strings.Cut(read(t, hookAPIPage), "## Signatures\n")
	for _, s := range hookContract(t) {
		name := s.name[strings.LastIndex(s.name, ".")+1:]
		if !s.field && s.name != "ApplyOption" && !strings.Contains(explained, "`"+name) {
			t.Errorf("%s does not name %s", hookAPIPage, name)
		}
	}
}

// symbol is an exported name of a package.
type symbol struct {
	name      string // with the type in front that it is a field or a method of
	signature string // on one line
	text      string // the first sentence of its comment
	field     bool
}

// contract collects the symbols of a package.
type contract struct {
	files   *token.FileSet
	pkg     *doc.Package
	symbols []symbol
}

// hookContract gives what Go code of users may use of the package hook, in the order of the names.
func hookContract(t *testing.T) []symbol {
	t.Helper()
	c := &contract{files: token.NewFileSet()}
	entries, err := filepath.Glob(filepath.Join(root, "engine", "hook", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var parsed []*ast.File
	for _, name := range entries {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(c.files, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, file)
	}
	if c.pkg, err = doc.NewFromFiles(c.files, parsed, "github.com/orkspace/orkestra/engine/hook"); err != nil {
		t.Fatal(err)
	}
	c.values(append(slices.Clone(c.pkg.Consts), c.pkg.Vars...))
	c.functions("", c.pkg.Funcs)
	for _, kind := range c.pkg.Types {
		c.kind(kind)
	}
	if len(c.symbols) < 50 {
		t.Fatalf("found only %v", c.symbols)
	}
	return c.symbols
}

// add adds a symbol, unless it is the engine's.
func (c *contract) add(s symbol, comment string) {
	if !slices.Contains(engineOnly, s.name) {
		s.text = c.pkg.Synopsis(comment)
		c.symbols = append(c.symbols, s)
	}
}

func (c *contract) values(all []*doc.Value) {
	for _, v := range all {
		for _, of := range v.Decl.Specs {
			spec := of.(*ast.ValueSpec)
			if spec.Names[0].IsExported() {
				comment := v.Doc
				if spec.Doc != nil {
					comment = spec.Doc.Text()
				}
				c.add(symbol{name: spec.Names[0].Name, signature: fmt.Sprintf("%s %s = %s", v.Decl.Tok, spec.Names[0], c.source(spec.Values[0]))}, comment)
			}
		}
	}
}

func (c *contract) functions(of string, all []*doc.Func) {
	for _, f := range all {
		header := *f.Decl
		header.Doc, header.Body = nil, nil
		c.add(symbol{name: of + f.Name, signature: c.source(&header)}, f.Doc)
	}
}

func (c *contract) kind(k *doc.Type) {
	c.functions("", k.Funcs)
	if slices.Contains(engineOnly, k.Name) {
		return
	}
	spec := *k.Decl.Specs[0].(*ast.TypeSpec)
	fields, isStruct := spec.Type.(*ast.StructType)
	if isStruct {
		spec.Type = ast.NewIdent("struct")
	}
	spec.Doc, spec.Comment = nil, nil
	c.add(symbol{name: k.Name, signature: "type " + c.source(&spec)}, k.Doc)
	if isStruct {
		for _, f := range fields.Fields.List {
			for _, name := range f.Names {
				c.add(symbol{name: k.Name + "." + name.Name, signature: k.Name + "." + name.Name + " " + c.source(f.Type), field: true}, f.Doc.Text())
			}
		}
	}
	c.functions(k.Name+".", k.Methods)
}

// source is a part of the code on one line.
func (c *contract) source(node any) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, c.files, node); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
