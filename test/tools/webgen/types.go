package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

// typeOf is a type of the API.
type typeOf struct {
	name, doc string
	parents   []string // embedded structs
	fields    []field
	values    []string // of a text with a name: its constants
	isText    bool
}

// field is one that JSON has.
type field struct {
	name, doc string
	optional  bool
	syntax    ast.Expr
}

// readTypes reads the types of a folder, in the order in which they stand there.
func readTypes(folder string) ([]typeOf, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(fmt.Errorf("%s holds no Go file", folder), err)
	}
	var out []typeOf
	values := map[string][]string{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("reading Go: %w", err)
		}
		found, err := typesOf(file, values)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	for i := range out {
		out[i].values = values[out[i].name]
	}
	return out, nil
}

// typesOf gives the types of a file, and puts its constants beside their type.
func typesOf(file *ast.File, values map[string][]string) ([]typeOf, error) {
	var out []typeOf
	for _, decl := range file.Decls {
		general, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range general.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				t, err := read(s, general.Doc)
				if err != nil {
					return nil, fmt.Errorf("type %s: %w", s.Name.Name, err)
				}
				out = append(out, t)
			case *ast.ValueSpec:
				if err := addConstants(s, values); err != nil {
					return nil, err
				}
			}
		}
	}
	return out, nil
}

func addConstants(s *ast.ValueSpec, values map[string][]string) error {
	of, ok := s.Type.(*ast.Ident)
	if !ok {
		return nil
	}
	for _, v := range s.Values {
		literal, ok := v.(*ast.BasicLit)
		if !ok {
			return fmt.Errorf("the constant %s is no text", s.Names[0])
		}
		text, err := strconv.Unquote(literal.Value)
		if err != nil {
			return fmt.Errorf("the constant %s: %w", s.Names[0], err)
		}
		values[of.Name] = append(values[of.Name], text)
	}
	return nil
}

func read(s *ast.TypeSpec, doc *ast.CommentGroup) (typeOf, error) {
	t := typeOf{name: s.Name.Name, doc: sentence(doc)}
	if t.doc == "" {
		return t, errors.New("it has no comment")
	}
	switch syntax := s.Type.(type) {
	case *ast.Ident:
		t.isText = syntax.Name == "string"
		return t, nil
	case *ast.StructType:
		return t, t.read(syntax)
	default:
		return t, fmt.Errorf("a %T is not known here", s.Type)
	}
}

// read reads fields. What has no comment has that of the field above it, which speaks of both.
func (t *typeOf) read(s *ast.StructType) error {
	doc := ""
	for _, f := range s.Fields.List {
		if len(f.Names) == 0 {
			parent, ok := f.Type.(*ast.Ident)
			if !ok {
				return errors.New("what is embedded is no type of this package")
			}
			t.parents = append(t.parents, parent.Name)
			continue
		}
		if f.Tag == nil {
			return fmt.Errorf("%s has no JSON tag", f.Names[0])
		}
		if f.Doc != nil {
			doc = sentence(f.Doc)
		}
		tag, err := strconv.Unquote(f.Tag.Value)
		if err != nil {
			return fmt.Errorf("the tag of %s: %w", f.Names[0], err)
		}
		name, options, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		if name == "" {
			return fmt.Errorf("%s has no name in JSON", f.Names[0])
		}
		t.fields = append(t.fields, field{name: name, doc: doc, optional: strings.Contains(options, "omit"), syntax: f.Type})
	}
	return nil
}

// sentence is a comment on one line.
func sentence(doc *ast.CommentGroup) string {
	if doc == nil {
		return ""
	}
	return strings.Join(strings.Fields(doc.Text()), " ")
}
