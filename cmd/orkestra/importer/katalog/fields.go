package katalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/orkspace/orkestra/cmd/orkestra/importer/draft"
)

// types takes the Go types of a resource. The rest says which CRD it is.
func (e *entry) types(at string, value any) {
	object, ok := value.(map[string]any)
	if !ok {
		e.o.Fail("spec", at, "wanted an object")
		return
	}
	typed := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		switch name {
		case "location", "object", "objectList", "alias":
			typed[name] = object[name]
		case "group", "version", "kind", "plural": // crd has read them
		default:
			e.o.Note("spec.crd", draft.Below(at, name), "left out: the CRD says it")
		}
	}
	if len(typed) > 0 {
		e.set("apiTypes", at, typed)
	}
}

// standard is default: true for the pipeline of templates, false for a constructor.
func (e *entry) standard(at string, value any) {
	switch value {
	case true:
	case false:
		e.code("default", at, false)
	default:
		e.o.Fail("spec.reconciler", at, "wanted true or false")
	}
}

// reconciler is as it was, without what is so anyhow.
func (e *entry) reconciler(at string, value any) {
	object, ok := value.(map[string]any)
	if !ok {
		e.o.Fail("spec.reconciler", at, "wanted an object")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if name == "default" {
			e.standard(draft.Below(at, name), object[name])
		} else {
			e.code(name, draft.Below(at, name), object[name])
		}
	}
}

// code writes a field of spec.reconciler.
func (e *entry) code(name, from string, value any) {
	reconciler, _ := e.spec["reconciler"].(map[string]any)
	if reconciler == nil {
		reconciler = map[string]any{}
		e.spec["reconciler"] = reconciler
	}
	if _, twice := reconciler[name]; twice {
		e.o.Note("spec.reconciler."+name, from, "left out: it is said a second time")
		return
	}
	reconciler[name] = value
	e.o.Comes("spec.reconciler."+name, from)
}

func code(name string) translation {
	return func(e *entry, at string, value any) { e.code(name, at, value) }
}

// enabled is the reverse of suspend.
func (e *entry) enabled(at string, value any) {
	switch value {
	case true:
	case false:
		e.set("suspend", at, true)
	default:
		e.o.Fail("spec.suspend", at, "wanted true or false")
	}
}

// dependsOn is an object from name to condition, or a list of names.
func (e *entry) dependsOn(at string, value any) {
	switch value := value.(type) {
	case map[string]any:
		list := []any{}
		for _, name := range slices.Sorted(maps.Keys(value)) {
			e.o.Comes(fmt.Sprintf("spec.dependsOn[%d]", len(list)), draft.Below(at, name))
			on := map[string]any{"name": name}
			if value[name] != nil {
				on["condition"] = capital(value[name])
			}
			list = append(list, on)
		}
		e.set("dependsOn", at, list)
	case []any:
		list := make([]any, len(value))
		for i, on := range value {
			if list[i] = on; text(on) != "" {
				list[i] = map[string]any{"name": on}
			}
		}
		e.set("dependsOn", at, list)
	default:
		e.o.Fail("spec.dependsOn", at, "wanted an object from the name of an entry to started or healthy")
	}
}

func capital(v any) any {
	if s := text(v); s != "" {
		return strings.ToUpper(s[:1]) + s[1:]
	}
	return v
}

// normalize is a template for each path, which are below spec here.
func (e *entry) normalize(at string, value any) {
	object, ok := value.(map[string]any)
	if !ok {
		e.o.Fail("spec.normalize", at, "wanted an object from a path to a template")
		return
	}
	if _, same := object["spec"].(map[string]any); same {
		e.set("normalize", at, value)
		return
	}
	paths := map[string]any{}
	for path, template := range object {
		short := strings.TrimPrefix(path, "spec.")
		paths[short] = template
		e.o.Comes(draft.Below("spec.normalize.spec", short), draft.Below(at, path))
	}
	e.set("normalize", at, map[string]any{"spec": paths})
}

// rules are a list, which stands in rules here.
func rules(name string) translation {
	return func(e *entry, at string, value any) {
		if list, ok := value.([]any); ok {
			value = map[string]any{"rules": list}
			e.o.Comes(draft.Below("spec", name)+".rules", at)
		}
		e.set(name, at, value)
	}
}

// rollback is templates, which stand in onRollback here.
func (e *entry) rollback(at string, value any) {
	object, ok := value.(map[string]any)
	_, trigger := object["trigger"]
	_, templates := object["onRollback"]
	switch {
	case value == true:
		e.set("rollback", at, map[string]any{})
	case !ok:
		e.o.Fail("spec.rollback", at, "wanted an object of templates")
	case trigger || templates || len(object) == 0:
		e.set("rollback", at, object)
	default:
		e.o.Comes("spec.rollback.onRollback", at)
		e.set("rollback", at, map[string]any{"onRollback": e.grouped("spec.rollback.onRollback", at, object)})
	}
}

// status has fields: a list here.
func (e *entry) status(at string, value any) {
	object, ok := value.(map[string]any)
	fields, named := object["fields"].(map[string]any)
	if ok && named {
		list := []any{}
		for _, path := range slices.Sorted(maps.Keys(fields)) {
			e.o.Comes(fmt.Sprintf("spec.status.fields[%d]", len(list)), draft.Below(at+".fields", path))
			list = append(list, map[string]any{"path": path, "value": fields[path]})
		}
		object = maps.Clone(object)
		object["fields"] = list
		value = object
	}
	e.set("status", at, value)
}

// each translates each object of a list.
func each(item func(e *entry, at string, object map[string]any) (name string, out map[string]any)) translation {
	return func(e *entry, at string, value any) {
		list, ok := value.([]any)
		if !ok {
			e.o.Fail("spec", at, "wanted a list")
			return
		}
		for i, v := range list {
			path := fmt.Sprintf("%s[%d]", at, i)
			object, ok := v.(map[string]any)
			if !ok {
				e.o.Fail("spec", path, "wanted an object")
				continue
			}
			name, out := item(e, path, object)
			known, _ := e.spec[name].([]any)
			e.o.Comes(fmt.Sprintf("spec.%s[%d]", name, len(known)), path)
			e.spec[name] = append(known, out)
		}
	}
}

// cross calls the box crd, and the name as.
func cross(_ *entry, _ string, object map[string]any) (name string, out map[string]any) {
	return "cross", renamed(object, map[string]string{"crd": "box", "as": "name"})
}

// external has one status where a list is wanted.
func external(_ *entry, _ string, object map[string]any) (name string, out map[string]any) {
	out = renamed(object, nil)
	if _, list := out["expectedStatus"].([]any); !list && out["expectedStatus"] != nil {
		out["expectedStatus"] = []any{out["expectedStatus"]}
	}
	return "external", out
}

// renamed gives the object with other names for its fields. A field that has the new name already stays.
func renamed(object map[string]any, names map[string]string) map[string]any {
	out := maps.Clone(object)
	for old, name := range names {
		if _, taken := out[name]; !taken && out[old] != nil {
			out[name] = out[old]
			delete(out, old)
		}
	}
	return out
}
