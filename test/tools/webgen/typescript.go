package main

import (
	"fmt"
	"go/ast"
	"strings"
)

const head = "// make generate writes this file from engine/web/api.\n"

// typescript is the file of the types that the page reads.
func typescript(types []typeOf) (string, error) {
	var b strings.Builder
	b.WriteString(head)
	for _, t := range types {
		fmt.Fprintf(&b, "\n/** %s */\n", t.doc)
		if t.isText {
			fmt.Fprintf(&b, "export type %s = %s;\n", t.name, textType(t.values))
			continue
		}
		extends := ""
		if len(t.parents) > 0 {
			extends = " extends " + strings.Join(t.parents, ", ")
		}
		fmt.Fprintf(&b, "export interface %s%s {\n", t.name, extends)
		for _, f := range t.fields {
			kind, err := scriptType(f.Syntax)
			if err != nil {
				return "", fmt.Errorf("%s.%s: %w", t.name, f.Name, err)
			}
			mark := ""
			if f.Optional {
				mark = "?"
			}
			fmt.Fprintf(&b, "  /** %s */\n  %s%s: %s;\n", f.Doc, f.Name, mark, kind)
		}
		b.WriteString("}\n")
	}
	return b.String(), nil
}

func textType(values []string) string {
	if len(values) == 0 {
		return "string"
	}
	quoted := make([]string, 0, len(values))
	for _, v := range values {
		quoted = append(quoted, fmt.Sprintf("%q", v))
	}
	return strings.Join(quoted, " | ")
}

// scriptType is the type of what a field holds; a time is a text.
func scriptType(of ast.Expr) (string, error) {
	switch t := of.(type) {
	case *ast.StarExpr:
		return scriptType(t.X)
	case *ast.ArrayType:
		items, err := scriptType(t.Elt)
		return items + "[]", err
	case *ast.SelectorExpr:
		if isTime(t) {
			return "string", nil
		}
	case *ast.Ident:
		switch t.Name {
		case "string":
			return "string", nil
		case "bool":
			return "boolean", nil
		case "int", "int32", "int64", "float64":
			return "number", nil
		default:
			return t.Name, nil
		}
	}
	return "", fmt.Errorf("no type is known for a %T", of)
}
