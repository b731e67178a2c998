package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// room is what was measured of one package.
type room struct {
	path  string // below the module
	lines int    // of hand-written files without tests
	code  int    // the same without blanks and comments
	tests int    // lines of its tests, without blanks and comments
	files []file
	types map[string]*size // those that the package declares
}

// file is one file of a package.
type file struct {
	name     string
	lines    int
	declares map[string]bool // names at the package's level; those of methods begin with a dot
	uses     map[string]bool // all names in the file; those behind a dot also with it
}

// size is that of a type.
type size struct {
	declared        bool
	fields, methods int
}

// survey measures all packages of the product.
func survey(root string) ([]*room, error) {
	rooms := map[string]*room{}
	for _, top := range []string{"api", "cmd", "controllers", "engine"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && d.Name() == "testdata" {
				return fs.SkipDir // what is there is no part of the product
			}
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
				return err
			}
			dir, err := filepath.Rel(root, filepath.Dir(path))
			if err != nil {
				return err
			}
			dir = filepath.ToSlash(dir)
			if rooms[dir] == nil {
				rooms[dir] = &room{path: dir, types: map[string]*size{}}
			}
			return rooms[dir].add(path)
		})
		if err != nil {
			return nil, fmt.Errorf("measuring %s: %w", top, err)
		}
	}
	var out []*room
	for _, r := range rooms {
		// The first parameter of a function may be of a type that the package does not declare.
		maps.DeleteFunc(r.types, func(_ string, t *size) bool { return !t.declared })
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *room) int { return strings.Compare(a.path, b.path) })
	return out, nil
}

func (r *room) add(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if bytes.Contains(text[:min(len(text), 300)], []byte("DO NOT EDIT")) {
		return nil
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, path, text, parser.ParseComments)
	if err != nil {
		return err
	}
	code := codeLines(set, parsed, text)
	if strings.HasSuffix(path, "_test.go") {
		r.tests += code
		return nil
	}
	f := file{name: filepath.Base(path), lines: bytes.Count(text, []byte("\n")), declares: map[string]bool{}, uses: map[string]bool{}}
	r.lines += f.lines
	r.code += code
	for _, decl := range parsed.Decls {
		r.declaration(&f, decl)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			f.uses[n.Name] = true
		case *ast.SelectorExpr:
			f.uses["."+n.Sel.Name] = true
		}
		return true
	})
	r.files = append(r.files, f)
	return nil
}

// declaration notes the names that a declaration gives to the package, and the sizes of types.
func (r *room) declaration(f *file, decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		owner := receiver(d)
		switch {
		case d.Recv != nil:
			f.declares["."+d.Name.Name] = true
		default:
			f.declares[d.Name.Name] = true
		}
		if owner != "" {
			r.sizeOf(owner).methods++
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				f.declares[s.Name.Name] = true
				r.sizeOf(s.Name.Name).declared = true
				if st, ok := s.Type.(*ast.StructType); ok {
					r.sizeOf(s.Name.Name).fields = countFields(st)
				}
			case *ast.ValueSpec:
				for _, name := range s.Names {
					f.declares[name.Name] = true
				}
			}
		}
	}
}

func (r *room) sizeOf(name string) *size {
	if r.types[name] == nil {
		r.types[name] = &size{}
	}
	return r.types[name]
}

// receiver is the type whose method a function is, or the type of its first parameter: such a function is a method by another spelling.
func receiver(d *ast.FuncDecl) string {
	list := d.Recv
	if list == nil {
		list = d.Type.Params
	}
	if list == nil || len(list.List) == 0 {
		return ""
	}
	t := list.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if generic, ok := t.(*ast.IndexExpr); ok {
		t = generic.X
	}
	if name, ok := t.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}

func countFields(st *ast.StructType) int {
	n := 0
	for _, f := range st.Fields.List {
		n += max(1, len(f.Names))
	}
	return n
}

// codeLines counts lines that are neither blank nor comment alone.
func codeLines(set *token.FileSet, parsed *ast.File, text []byte) int {
	comment := map[int]bool{}
	for _, group := range parsed.Comments {
		for _, c := range group.List {
			for l := set.Position(c.Pos()).Line; l <= set.Position(c.End()).Line; l++ {
				comment[l] = true
			}
		}
	}
	n := 0
	for i, line := range strings.Split(string(text), "\n") {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || comment[i+1] && (strings.HasPrefix(trimmed, "//") || strings.HasPrefix(trimmed, "/*") || strings.HasSuffix(trimmed, "*/")) {
			continue
		}
		n++
	}
	return n
}
