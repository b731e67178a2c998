package kro

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/orkspace/orkestra/cmd/orkestra/importer/draft"
)

// declare makes the declarations, and the sources of what is read.
func (g *graph) declare() {
	for _, n := range g.nodes {
		g.conditions(n)
	}
	var resources, cross []any
	for _, n := range g.nodes {
		if n.external != nil {
			n.to = fmt.Sprintf("spec.cross[%d]", len(cross))
			g.box.Comes(n.to, n.at)
			cross = append(cross, g.source(n))
			continue
		}
		n.to = fmt.Sprintf("spec.onReconcile.resources[%d]", len(resources))
		g.box.Comes(n.to, n.at)
		resources = append(resources, g.declaration(n))
	}
	if len(cross) > 0 {
		g.spec["cross"] = cross
	}
	if len(resources) > 0 {
		g.spec["onReconcile"] = map[string]any{"resources": resources}
		g.spec["deletion"] = map[string]any{"children": "Reverse"}
	}
}

// conditions translates includeWhen and readyWhen of a resource.
func (g *graph) conditions(n *node) {
	at := draft.Below(n.at, "includeWhen")
	for i, text := range g.list(n.to, at, n.content["includeWhen"]) {
		from := fmt.Sprintf("%s[%d]", at, i)
		c, err := scope{g: g, n: n}.condition(text, from)
		if err != nil {
			// Without the condition there would be an object that nobody wanted.
			g.box.Fail(n.to, from, err.Error()+"; the object is not made until it is mended")
			c = condition{cel: "false", from: from}
		}
		n.include = append(n.include, c)
	}
	at = draft.Below(n.at, "readyWhen")
	for i, text := range g.list(n.to, at, n.content["readyWhen"]) {
		from := fmt.Sprintf("%s[%d]", at, i)
		c, err := scope{g: g, n: n, object: true}.condition(text, from)
		if err != nil {
			g.box.Fail(n.to, from, err.Error())
			continue
		}
		n.ready = append(n.ready, c)
	}
}

// source is what a resource refers to, as the box reads it.
func (g *graph) source(n *node) map[string]any {
	at := draft.Below(n.at, "externalRef")
	out := map[string]any{"name": n.name, "apiVersion": n.external["apiVersion"], "kind": n.external["kind"]}
	if n.loop != nil {
		g.box.Fail(n.to, draft.Below(n.at, "forEach"), "what is read has no loop: select several objects by their labels")
	}
	metadata, _ := n.external["metadata"].(map[string]any)
	selector := map[string]any{}
	for _, field := range []string{"name", "namespace"} {
		if written := text(metadata[field]); written != "" && !isOwnNamespace(written) {
			g.leaf(scope{g: g, n: n}, selector, field, written, n.to+".selector", at+".metadata."+field)
		}
	}
	if labels, ok := metadata["selector"].(map[string]any); ok {
		from := at + ".metadata.selector"
		for _, field := range slices.Sorted(maps.Keys(labels)) {
			value, _ := g.translate(scope{g: g, n: n}, labels[field], draft.Below(n.to+".selector", field), draft.Below(from, field))
			selector[field] = value
		}
	}
	if len(selector) > 0 {
		out["selector"] = selector
	}
	if len(n.include) > 0 {
		out["optional"] = true
	}
	return out
}

// isOwnNamespace says whether a text stands for the namespace of the resource, which is the default.
func isOwnNamespace(text string) bool {
	inner, ok := strings.CutPrefix(text, "${")
	inner, closed := strings.CutSuffix(inner, "}")
	return ok && closed && strings.TrimSpace(inner) == schemaName+".metadata.namespace"
}

// declaration is what makes the object of a resource.
func (g *graph) declaration(n *node) map[string]any {
	at := draft.Below(n.at, "template")
	to := n.to + ".manifest"
	s := scope{g: g, n: n}
	if n.loop != nil {
		s.items = n.loop.item
	}
	for _, field := range []string{"apiVersion", "kind"} {
		if written := text(n.template[field]); strings.Contains(written, "${") {
			g.box.Fail(to, draft.Below(at, field), "the kind is to be written out: rights are derived from it")
		}
	}
	g.box.Comes(to, at)
	manifest, _ := g.translate(s, n.template, to, at)
	out := map[string]any{"id": n.name, "manifest": manifest}
	object, _ := manifest.(map[string]any)
	if metadata, ok := object["metadata"].(map[string]any); ok {
		written, _ := n.template["metadata"].(map[string]any)
		if isOwnNamespace(text(written["namespace"])) {
			delete(metadata, "namespace")
		}
	}
	if n.loop != nil {
		out["forEach"] = n.forEach(g)
		g.box.Comes(n.to+".forEach", draft.Below(n.at, "forEach"))
	}
	g.gates(n, out)
	return out
}

// gates writes when a declaration acts. In kro, what reads a resource is not made where that is not, and waits until it is ready.
func (g *graph) gates(n *node, out map[string]any) {
	var when []condition
	for _, other := range g.before(n) {
		when = append(when, other.include...)
		if other != n && other.external != nil {
			when = append(when, other.ready...)
		}
	}
	for name, list := range map[string][]condition{"when": when, "readyWhen": n.ready} {
		if len(list) > 0 {
			out[name] = g.written(n.to+"."+name, list)
		}
	}
	var after []any
	for _, id := range n.reads {
		if other := g.byID[id]; other.external == nil && len(other.ready) > 0 {
			after = append(after, other.name)
		}
	}
	if len(after) > 0 {
		out["after"] = after
		g.box.Comes(n.to+".after", n.at)
	}
}

// written writes conditions, each once.
func (g *graph) written(to string, conditions []condition) []any {
	var out []any
	seen := map[string]bool{}
	for _, c := range conditions {
		if seen[c.cel] {
			continue
		}
		seen[c.cel] = true
		g.box.Comes(fmt.Sprintf("%s[%d]", to, len(out)), c.from)
		g.box.Comes(fmt.Sprintf("%s[%d].cel", to, len(out)), c.from)
		out = append(out, map[string]any{"cel": c.cel})
	}
	return out
}

// translate translates all texts of a value. What can't be translated is left out, and told.
func (g *graph) translate(s scope, value any, to, at string) (out any, ok bool) {
	switch value := value.(type) {
	case map[string]any:
		object := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if strings.Contains(name, "${") {
				g.box.Fail(to, draft.Below(at, name), "left out: the name of a field is no expression; write the object as one expression")
				continue
			}
			g.leaf(s, object, name, value[name], to, draft.Below(at, name))
		}
		return object, true
	case []any:
		list := []any{}
		for i, item := range value {
			if v, ok := g.translate(s, item, fmt.Sprintf("%s[%d]", to, len(list)), fmt.Sprintf("%s[%d]", at, i)); ok {
				list = append(list, v)
			}
		}
		return list, true
	case string:
		text, err := s.text(value, named(s.base(), at), at)
		if err != nil {
			g.box.Fail(to, at, "left out: "+err.Error())
			return nil, false
		}
		return text, true
	default:
		return value, true
	}
}

// base is what the names of values begin with.
func (s scope) base() string {
	if s.n == nil {
		return fieldStatus
	}
	return s.n.name
}

func (g *graph) leaf(s scope, object map[string]any, name string, value any, to, at string) {
	if v, ok := g.translate(s, value, draft.Below(to, name), at); ok {
		object[name] = v
	}
}

// status translates what the resource shows.
func (g *graph) status(value any) {
	fields := []any{}
	if object, ok := value.(map[string]any); ok {
		fields = g.shown(fields, "", atSchema+".status", object)
	} else if value != nil {
		g.box.Fail("spec", atSchema+".status", "wanted an object of fields")
	}
	status := map[string]any{"ready": "Current"}
	if len(fields) > 0 {
		status["fields"] = fields
	}
	g.spec[fieldStatus] = status
}

func (g *graph) shown(fields []any, path, at string, object map[string]any) []any {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		from := draft.Below(at, name)
		if path == "" && isOurs(name) {
			g.box.Note("spec.status", from, "left out: the conditions Ready, Reconciling and Stalled say how a resource is")
			continue
		}
		below := strings.TrimPrefix(path+"."+name, ".")
		if inner, ok := object[name].(map[string]any); ok {
			fields = g.shown(fields, below, from, inner)
			continue
		}
		to := fmt.Sprintf("spec.status.fields[%d]", len(fields))
		v, ok := g.translate(scope{g: g}, object[name], "spec.status", from)
		if !ok {
			continue
		}
		g.box.Comes(to+".value", from)
		g.box.Comes(to, from)
		fields = append(fields, map[string]any{"path": below, "value": v})
	}
	return fields
}

// isOurs says whether a field of the status is one that Orkestra, or kro, writes by itself.
func isOurs(field string) bool {
	return field == "conditions" || field == "observedGeneration" || field == "state"
}
