package katalog

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/importer/draft"
	"github.com/orkspace/orkestra/engine/suggest"
)

// entry is one CRD of a Katalog that becomes a box.
type entry struct {
	o    *draft.Object
	spec map[string]any    // of the box
	from map[string]string // where each field of the spec is from
}

// set writes a field of the box. What stands in operatorBox comes first, and counts.
func (e *entry) set(name, from string, value any) {
	at := draft.Below("spec", name)
	if other, twice := e.from[name]; twice {
		e.o.Note(at, from, fmt.Sprintf("left out: %s says it, too, and counts", other))
		return
	}
	e.spec[name], e.from[name] = value, from
	e.o.Comes(at, from)
}

// translation writes what one field of an entry, or of its operatorBox, becomes.
type translation func(e *entry, at string, value any)

// translations are the fields that a box has in another form, or not at all. All other fields of a box are taken as they are.
var translations = map[string]translation{
	"apiTypes":    (*entry).types,
	"constructor": code("constructor"),
	"crFiles":     no("resources are objects of their own: kubectl apply -f"),
	"crd":         no("apiTypes and crdFile say which CRD it is"),
	"crdFile":     nothing, // crd has read it
	"cross":       each(cross),
	"default":     (*entry).standard,
	"dependsOn":   (*entry).dependsOn,
	"enabled":     (*entry).enabled,
	"external":    each(external),
	"hooks":       code("hooks"),
	"mutation":    rules("mutation"),
	"name":        nothing, // the entry of a list has it
	"normalize":   (*entry).normalize,
	"onCreate":    group("onCreate"),
	"onDelete":    group("onDelete"),
	"onReconcile": group("onReconcile"),
	fieldBox:      nothing, // its fields stand beside those of the entry
	"reconciler":  (*entry).reconciler,
	"rollback":    (*entry).rollback,
	"status":      (*entry).status,
	"validation":  rules("validation"),
}

// fields translates the fields of an entry, or of its operatorBox.
func (e *entry) fields(at string, object map[string]any) {
	same := fieldNames(reflect.TypeFor[v1alpha1.OperatorBoxSpec]())
	for _, name := range slices.Sorted(maps.Keys(object)) {
		translate, own := translations[name]
		switch {
		case own:
			translate(e, draft.Below(at, name), object[name])
		case slices.Contains(same, name):
			e.set(name, draft.Below(at, name), object[name])
		default:
			known := slices.Concat(same, slices.Collect(maps.Keys(translations)))
			e.o.Note("spec", draft.Below(at, name), noEquivalent(name, known))
		}
	}
}

func noEquivalent(name string, known []string) string {
	return fmt.Sprintf("left out: nothing here is called so%s", suggest.DidYouMean(name, known))
}

// fieldNames are the names that the fields of a type have in JSON.
func fieldNames(of reflect.Type) []string {
	var names []string
	for f := range of.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" && options == "inline" {
			names = append(names, fieldNames(f.Type)...)
		} else {
			names = append(names, name)
		}
	}
	return names
}

func nothing(*entry, string, any) {}

func no(why string) translation {
	return func(e *entry, at string, _ any) { e.o.Note("spec", at, "left out: "+why) }
}

// crd says which CRD the box serves, and gives it where it is known.
func (e *entry) crd(at string, content map[string]any, given []CRD) *CRD {
	box, _ := content[fieldBox].(map[string]any)
	types, typesAt := first(at, "apiTypes", content, box)
	file, fileAt := first(at, "crdFile", content, box)
	spec := map[string]any{}
	e.spec["crd"] = spec
	named, _ := types.(map[string]any)
	group, kind, plural := text(named["group"]), text(named["kind"]), text(named["plural"])
	if group != "" && (kind != "" || plural != "") {
		if plural == "" {
			guessed, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: group, Kind: kind})
			plural = guessed.Resource
		}
		spec["name"] = plural + "." + group
		e.o.Comes("spec.crd", typesAt)
		e.o.Comes("spec.crd.name", typesAt)
		if version := text(named["version"]); version != "" {
			spec["version"] = version
			e.o.Comes("spec.crd.version", typesAt+".version")
		}
		return find(given, func(c CRD) bool { return c.Name == spec["name"] })
	}
	name := text(file)
	crd := find(given, func(c CRD) bool { return name != "" && filepath.Base(c.File) == filepath.Base(name) })
	if crd == nil && len(given) == 1 {
		crd = &given[0]
	}
	switch {
	case crd != nil:
		spec["name"] = crd.Name
		e.o.Comes("spec.crd", fileAt)
		e.o.Comes("spec.crd.name", fileAt)
	case name != "" && len(given) > 0:
		e.o.Fail("spec.crd", fileAt, fmt.Sprintf("no file that is given and holds a CRD is called %s: give it with --crd %s, or say in apiTypes which of those it is that are given: %s", filepath.Base(name), name, names(given)))
	case name != "":
		e.o.Fail("spec.crd", fileAt, fmt.Sprintf("the file is not read from here: give it with --crd %s", name))
	case len(given) > 0:
		e.o.Fail("spec.crd", typesAt, fmt.Sprintf("nothing says which of the CRDs it is that are given: wanted apiTypes with group and kind, or crdFile; given: %s", names(given)))
	default:
		e.o.Fail("spec.crd", typesAt, "nothing says which CRD it is: wanted apiTypes with group and kind, or a CRD by --crd")
	}
	return crd
}

// names lists the CRDs that are given.
func names(given []CRD) string {
	var out []string
	for _, crd := range given {
		out = append(out, crd.Name)
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ", ")
}

// first gives a field of an entry, or else of its operatorBox, and its path.
func first(at, name string, content, box map[string]any) (any, string) {
	if v, is := box[name]; is && content[name] == nil {
		return v, draft.Below(draft.Below(at, fieldBox), name)
	}
	return content[name], draft.Below(at, name)
}

// find gives the only one of which something holds; nil where there is none, or more than one.
func find(crds []CRD, is func(CRD) bool) *CRD {
	i := slices.IndexFunc(crds, is)
	if i < 0 || slices.ContainsFunc(crds[i+1:], is) {
		return nil
	}
	return &crds[i]
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
