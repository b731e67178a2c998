package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// fieldsSuffix ends the names of the types that declarations are made of. What they lead to is documented too.
const fieldsSuffix = "Fields"

// rootMarker is on the types that are kinds. Those that are lists of another are of no interest.
const rootMarker, listSuffix = "+kubebuilder:object:root=true", "List"

// typeDoc is what the comments of a type say.
type typeDoc struct {
	name, text string
	fields     []fieldDoc
}

// fieldDoc is what the comment of a field says.
type fieldDoc struct {
	// name in JSON.
	name string
	// text is what the field means.
	text string
	// standard is what counts where the field is absent; empty where there is nothing to say.
	standard string
	// example is the field with a value, in YAML.
	example string
	// values are those that the field may have, in the order of the source; none: any.
	values []string
}

// readTypes reads the types of a package that its kinds and declarations are made of, sorted by name.
func readTypes(folder string) ([]typeDoc, error) {
	structs, enums, err := readDeclared(folder)
	if err != nil {
		return nil, err
	}
	reached := map[string]bool{}
	for name, s := range structs {
		if strings.HasSuffix(name, fieldsSuffix) || isKind(name, s) {
			reach(structs, name, reached)
		}
	}
	if len(reached) == 0 {
		return nil, errors.New("no type is a kind, and none's name ends in " + fieldsSuffix)
	}
	var out []typeDoc
	for name := range reached {
		doc, err := describe(name, structs[name], enums)
		if err != nil {
			return nil, fmt.Errorf("type %s: %w", name, err)
		}
		out = append(out, doc)
	}
	slices.SortFunc(out, func(a, b typeDoc) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

// isKind says whether a type is a kind of the API.
func isKind(name string, s structType) bool {
	return !strings.HasSuffix(name, listSuffix) && s.doc != nil && slices.ContainsFunc(s.doc.List, func(c *ast.Comment) bool { return strings.Contains(c.Text, rootMarker) })
}

// structType is a struct with its comment.
type structType struct {
	doc    *ast.CommentGroup
	syntax *ast.StructType
}

// readDeclared reads the structs of a package, and the values of its types that have few.
func readDeclared(folder string) (map[string]structType, map[string][]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, nil, err
	}
	out, enums := map[string]structType{}, map[string][]string{}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(folder, entry.Name()), nil, parser.ParseComments)
		if err != nil {
			return nil, nil, err
		}
		for _, decl := range file.Decls {
			general, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range general.Specs {
				t, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				if s, ok := t.Type.(*ast.StructType); ok {
					out[t.Name.Name] = structType{doc: general.Doc, syntax: s}
				} else if values := enumOf(general.Doc); len(values) > 0 {
					enums[t.Name.Name] = values
				}
			}
		}
	}
	return out, enums, nil
}

// enumOf gives the values that a comment allows by its marker.
func enumOf(doc *ast.CommentGroup) []string {
	const marker = "+kubebuilder:validation:Enum="
	if doc == nil {
		return nil
	}
	for _, c := range doc.List {
		if _, values, found := strings.Cut(c.Text, marker); found {
			return strings.Split(values, ";")
		}
	}
	return nil
}

// reach adds a type and those of its fields.
func reach(structs map[string]structType, name string, reached map[string]bool) {
	s, ok := structs[name]
	if !ok || reached[name] {
		return
	}
	reached[name] = true
	for _, f := range s.syntax.Fields.List {
		if elem := elemOf(f.Type); elem != "" {
			reach(structs, elem, reached)
		}
	}
}

// elemOf gives the name of the type of this package that a field's type is made of; empty where it is made of others.
func elemOf(of ast.Expr) string {
	switch t := of.(type) {
	case *ast.Ident:
		return t.Name
	case *ast.StarExpr:
		return elemOf(t.X)
	case *ast.ArrayType:
		return elemOf(t.Elt)
	case *ast.MapType:
		return elemOf(t.Value)
	default:
		return ""
	}
}

func describe(name string, s structType, enums map[string][]string) (typeDoc, error) {
	out := typeDoc{name: name, text: typeText(lines(s.doc))}
	for _, f := range s.syntax.Fields.List {
		jsonName, err := nameInJSON(f)
		if err != nil {
			return typeDoc{}, err
		}
		if jsonName == "" || jsonName == "-" {
			continue
		}
		goName := "" // it is embedded, and has a name in JSON nevertheless, as metadata has
		if len(f.Names) > 0 {
			goName = f.Names[0].Name
		}
		doc := parseField(goName, jsonName, lines(f.Doc))
		if doc.values = enumOf(f.Doc); doc.values == nil {
			doc.values = enums[elemOf(f.Type)]
		}
		out.fields = append(out.fields, doc)
	}
	return out, nil
}

func nameInJSON(f *ast.Field) (string, error) {
	if f.Tag == nil {
		return "", errors.New("a field has no JSON tag")
	}
	tag, err := strconv.Unquote(f.Tag.Value)
	if err != nil {
		return "", err
	}
	name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
	return name, nil
}

// lines are those of a comment, without markers.
func lines(doc *ast.CommentGroup) []string {
	var out []string
	for line := range strings.SplitSeq(doc.Text(), "\n") {
		if !strings.HasPrefix(line, "+") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

// typeText gives the paragraphs of a comment after the first, which is about the Go type and not for users. A comment of one paragraph is
// given as it is.
func typeText(all []string) string {
	var paragraphs []string
	for text := range strings.SplitSeq(strings.Join(all, "\n"), "\n\n") {
		if text = strings.TrimSpace(text); text != "" {
			paragraphs = append(paragraphs, strings.ReplaceAll(text, "\n", " "))
		}
	}
	if len(paragraphs) > 1 {
		paragraphs = paragraphs[1:]
	}
	return strings.Join(paragraphs, "\n\n")
}

// parseField takes a comment apart: what the field means, its default up to the end of that sentence, and last an example.
func parseField(goName, jsonName string, all []string) fieldDoc {
	const defaultMark, exampleMark = "Default: ", "Example: "
	out := fieldDoc{name: jsonName}
	if i := slices.IndexFunc(all, func(line string) bool { return strings.HasPrefix(line, exampleMark) }); i >= 0 {
		out.example = strings.TrimPrefix(strings.TrimSpace(strings.Join(all[i:], " ")), exampleMark)
		all = all[:i]
	}
	text := strings.Join(strings.Fields(strings.Join(all, " ")), " ")
	before, rest, found := strings.Cut(text, defaultMark)
	if found {
		standard, after, goesOn := strings.Cut(rest, ". ")
		out.standard = strings.TrimSuffix(standard, ".")
		text = strings.TrimSpace(before)
		if goesOn {
			text = strings.TrimSpace(text + " " + after)
		}
	}
	out.text = withoutName(goName, text)
	return out
}

// withoutName takes the Go name off the beginning of a text, with the verb after it ("Host is the…" becomes "The…"): the text is shown beside
// the field's JSON name.
func withoutName(goName, text string) string {
	rest, found := strings.CutPrefix(text, goName)
	if !found || goName == "" || strings.HasPrefix(rest, " of ") {
		return text
	}
	for _, beginning := range []string{": ", " is ", " are ", " says ", " say ", " "} {
		if after, ok := strings.CutPrefix(rest, beginning); ok {
			return strings.ToUpper(after[:1]) + after[1:]
		}
	}
	return text
}
