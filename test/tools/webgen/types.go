package main

import (
	"errors"
	"fmt"
	"go/ast"

	"github.com/orkspace/orkestra/test/tools/gotypes"
)

// typeOf is a type of the API.
type typeOf struct {
	name, doc string
	parents   []string // embedded structs
	fields    []gotypes.Field
	values    []string // of a text with a name: its constants
	isText    bool
}

// readTypes reads the types of a folder, in the order in which they stand there.
func readTypes(folder string) ([]typeOf, error) {
	all, err := gotypes.Read(folder)
	if err != nil {
		return nil, err
	}
	out := make([]typeOf, 0, len(all))
	for _, one := range all {
		t, err := read(one)
		if err != nil {
			return nil, fmt.Errorf("type %s: %w", one.Name, err)
		}
		out = append(out, t)
	}
	return out, nil
}

// read reads a type. A field without a comment has that of the field above it, which speaks of both.
func read(of gotypes.Type) (typeOf, error) {
	t := typeOf{name: of.Name, doc: of.Doc, values: of.Values}
	if t.doc == "" {
		return t, errors.New("it has no comment")
	}
	switch syntax := of.Syntax.(type) {
	case *ast.Ident:
		t.isText = syntax.Name == "string"
		return t, nil
	case *ast.StructType:
		var err error
		t.fields, t.parents, err = gotypes.FieldsOf(syntax)
		for i := range t.fields {
			if i > 0 && t.fields[i].Doc == "" {
				t.fields[i].Doc = t.fields[i-1].Doc
			}
		}
		return t, err
	default:
		return t, fmt.Errorf("a %T is not known here", of.Syntax)
	}
}
