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

// typeOf is a type of the protocol, with its comment.
type typeOf struct {
	doc    string
	syntax ast.Expr
}

// readTypes reads the exported types of a folder that have JSON, by name.
func readTypes(folder string) (map[string]typeOf, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(fmt.Errorf("%s holds no Go file", folder), err)
	}
	out := map[string]typeOf{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for _, decl := range file.Decls {
			general, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range general.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok {
					out[t.Name.Name] = typeOf{doc: sentence(general.Doc), syntax: t.Type}
				}
			}
		}
	}
	return out, nil
}

// sentence is a comment on one line.
func sentence(doc *ast.CommentGroup) string {
	if doc == nil {
		return ""
	}
	return strings.Join(strings.Fields(doc.Text()), " ")
}

// jsonField is a field as JSON has it.
type jsonField struct {
	name, doc string
	required  bool
	syntax    ast.Expr
}

func fieldsOf(s *ast.StructType) ([]jsonField, error) {
	var out []jsonField
	for _, f := range s.Fields.List {
		if len(f.Names) == 1 && !f.Names[0].IsExported() {
			continue // JSON does not have it
		}
		if len(f.Names) != 1 || f.Tag == nil {
			return nil, errors.New("a field has no name, or no JSON tag")
		}
		tag, err := strconv.Unquote(f.Tag.Value)
		if err != nil {
			return nil, err
		}
		name, options, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		if name == "" || f.Doc == nil {
			return nil, fmt.Errorf("%s has no JSON tag, or no comment", f.Names[0])
		}
		out = append(out, jsonField{name: name, doc: sentence(f.Doc), required: !strings.Contains(options, "omit"), syntax: f.Type})
	}
	return out, nil
}
