// Package gotypes reads Go types from their source, with their comments and with what JSON makes of them, for tools that describe them elsewhere.
package gotypes

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

// Type is a type of a package.
type Type struct {
	// Name of the type, and its comment on one line; empty: it has none.
	Name, Doc string
	// Syntax is what stands behind the name.
	Syntax ast.Expr
	// Values are the constants of the type, which are texts, in the order of the source.
	Values []string
}

// Read gives the types of a folder, in the order in which they stand there. Files of tests are left out. A constant of a named type that is no text is
// an error.
func Read(folder string) ([]Type, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(fmt.Errorf("%s holds no Go file", folder), err)
	}
	var out []Type
	values := map[string][]string{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("reading Go: %w", err)
		}
		for _, decl := range file.Decls {
			general, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			found, err := typesOf(general, values)
			if err != nil {
				return nil, err
			}
			out = append(out, found...)
		}
	}
	for i := range out {
		out[i].Values = values[out[i].Name]
	}
	return out, nil
}

// typesOf gives the types of a declaration, and puts its constants beside their type.
func typesOf(general *ast.GenDecl, values map[string][]string) ([]Type, error) {
	var out []Type
	for _, spec := range general.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			out = append(out, Type{Name: s.Name.Name, Doc: sentence(general.Doc), Syntax: s.Type})
		case *ast.ValueSpec:
			of, ok := s.Type.(*ast.Ident)
			if !ok || general.Tok != token.CONST {
				continue
			}
			for _, v := range s.Values {
				text, err := textOf(v)
				if err != nil {
					return nil, fmt.Errorf("the constant %s: %w", s.Names[0], err)
				}
				values[of.Name] = append(values[of.Name], text)
			}
		}
	}
	return out, nil
}

// textOf gives a text that is written out.
func textOf(v ast.Expr) (string, error) {
	literal, ok := v.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return "", errors.New("it is no text")
	}
	return strconv.Unquote(literal.Value)
}

// Field is a field of a struct, as JSON has it.
type Field struct {
	// Name in JSON, and the comment on one line; empty: it has none.
	Name, Doc string
	// Optional says that JSON leaves it out where it is empty.
	Optional bool
	// Syntax is the type of the field.
	Syntax ast.Expr
}

// FieldsOf gives the fields of a struct that JSON has, and the names of the types of the same package that are embedded. A field without a tag is an
// error, and so is an embedded type of another package.
func FieldsOf(s *ast.StructType) (fields []Field, embedded []string, err error) {
	for _, f := range s.Fields.List {
		if len(f.Names) == 0 {
			parent, ok := f.Type.(*ast.Ident)
			if !ok {
				return nil, nil, errors.New("what is embedded is no type of this package")
			}
			embedded = append(embedded, parent.Name)
			continue
		}
		if !f.Names[0].IsExported() {
			continue // JSON does not have it
		}
		if len(f.Names) > 1 || f.Tag == nil {
			return nil, nil, fmt.Errorf("%s has no JSON tag of its own", f.Names[0])
		}
		tag, err := strconv.Unquote(f.Tag.Value)
		if err != nil {
			return nil, nil, fmt.Errorf("the tag of %s: %w", f.Names[0], err)
		}
		name, options, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		if name == "" {
			return nil, nil, fmt.Errorf("%s has no name in JSON", f.Names[0])
		}
		fields = append(fields, Field{Name: name, Doc: sentence(f.Doc), Optional: strings.Contains(options, "omit"), Syntax: f.Type})
	}
	return fields, embedded, nil
}

// sentence is a comment on one line.
func sentence(doc *ast.CommentGroup) string {
	if doc == nil {
		return ""
	}
	return strings.Join(strings.Fields(doc.Text()), " ")
}
