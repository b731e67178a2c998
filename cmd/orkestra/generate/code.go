package generate

import (
	"cmp"
	"errors"
	"fmt"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/module"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/output"
)

// kind of a part.
type kind int

// The kinds, in the order in which parts are registered.
const (
	apiTypes kind = iota
	hooks
	constructor
)

// part is what the registry has a line for.
type part struct {
	kind     kind
	location string
	name     string // of the function, or of the type of the resource
	list     string // the type of its list; empty for functions
}

// code is what boxes want to have compiled in.
type code struct {
	folder  *folder
	boxes   map[part][]string            // the names of those that want it
	aliases map[string]map[string]string // by location and alias: a box that gives it
}

func newCode(dir *folder) *code {
	return &code{folder: dir, boxes: map[part][]string{}, aliases: map[string]map[string]string{}}
}

// take takes what a box names, or says what is wrong with it.
func (c *code) take(box *v1alpha1.OperatorBox) field.ErrorList {
	var errs field.ErrorList
	spec := field.NewPath("spec")
	if r := box.Spec.Reconciler; r != nil && r.Hooks != nil {
		errs = append(errs, c.function(box.Name, hooks, &r.Hooks.GoFunction, spec.Child("reconciler", "hooks"))...)
	}
	if r := box.Spec.Reconciler; r != nil && r.Constructor != nil {
		errs = append(errs, c.function(box.Name, constructor, r.Constructor, spec.Child("reconciler", "constructor"))...)
	}
	if t := box.Spec.APITypes; t != nil {
		at := spec.Child("apiTypes")
		p := part{kind: apiTypes, location: t.Location, name: t.Object, list: cmp.Or(t.ObjectList, t.Object+"List")}
		errs = append(errs, exported(t.Object, "type, such as Database", at.Child("object"))...)
		if t.ObjectList != "" {
			errs = append(errs, exported(t.ObjectList, "type, such as DatabaseList", at.Child("objectList"))...)
		}
		errs = append(errs, c.add(box.Name, p, t.Alias, at)...)
	}
	return errs
}

func (c *code) function(box string, k kind, f *v1alpha1.GoFunction, at *field.Path) field.ErrorList {
	errs := exported(f.Function, "function, such as DatabaseHooks", at.Child("function"))
	return append(errs, c.add(box, part{kind: k, location: f.Location, name: f.Function}, f.Alias, at)...)
}

// add adds a part, and the alias that a box gives to its package.
func (c *code) add(box string, p part, alias string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch err := module.CheckImportPath(p.location); {
	case p.location == "":
		errs = append(errs, field.Required(at.Child("location"), "say the Go import path of the package"))
	case err != nil:
		errs = append(errs, field.Invalid(at.Child("location"), p.location, "wanted the Go import path of a package, such as example.com/database/hooks: "+reason(err)))
	case p.location == c.folder.importPath || p.location == "main":
		errs = append(errs, field.Invalid(at.Child("location"), p.location, "that is the program itself, which can't be imported: put the code into a package of its own, such as "+path.Join(c.folder.importPath, "hooks")))
	}
	if alias != "" && (!token.IsIdentifier(alias) || alias == "_") {
		errs = append(errs, field.Invalid(at.Child("alias"), alias, "wanted a Go identifier, such as databasev1"))
	}
	c.boxes[p] = append(c.boxes[p], box)
	if c.aliases[p.location] == nil {
		c.aliases[p.location] = map[string]string{}
	}
	if alias != "" {
		c.aliases[p.location][alias] = box
	}
	return errs
}

// reason is what an error about an import path says beside the path.
func reason(err error) string {
	if e, ok := errors.AsType[*module.InvalidPathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

func exported(name, what string, at *field.Path) field.ErrorList {
	switch {
	case name == "":
		return field.ErrorList{field.Required(at, "say the name of the Go "+what)}
	case !token.IsIdentifier(name) || !token.IsExported(name):
		return field.ErrorList{field.Invalid(at, name, "wanted the name of an exported Go "+what)}
	default:
		return nil
	}
}

// parts are sorted, so that the order of boxes and files says nothing.
func (c *code) parts() []part {
	return slices.SortedFunc(maps.Keys(c.boxes), func(a, b part) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), strings.Compare(a.location, b.location), strings.Compare(a.name, b.name), strings.Compare(a.list, b.list))
	})
}

// missing are the packages whose modules go.mod does not have.
func (c *code) missing() []string {
	var out []string
	for _, location := range slices.Sorted(maps.Keys(c.aliases)) {
		if !c.folder.provides(location) {
			out = append(out, location)
		}
	}
	return out
}

// summary counts the parts.
func (c *code) summary() string {
	count := map[kind]int{}
	for p := range c.boxes {
		count[p.kind]++
	}
	return fmt.Sprintf("%s, %s, %s", output.Count(count[apiTypes], "API type", "API types"), output.Count(count[hooks], "function with hooks", "functions with hooks"),
		output.Count(count[constructor], "constructor", "constructors"))
}
