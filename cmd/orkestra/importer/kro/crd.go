package kro

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/orkspace/orkestra/cmd/orkestra/importer/draft"
	"github.com/orkspace/orkestra/engine/value"
)

const atSchema = "spec.schema"

// fieldStatus and fieldType are fields of objects, and of schemas.
const (
	fieldStatus = "status"
	fieldType   = "type"
)

// crd makes the CRD that kro would make, and names it in the box.
func (g *graph) crd(o *draft.Object, schema map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(schema)) {
		switch name {
		case "apiVersion", "kind", "group", "spec", fieldStatus, "types", "scope", "additionalPrinterColumns", "metadata":
		case "validation":
			o.Note("spec", draft.Below(atSchema, name), "left out: write it as a rule of the box, in spec.validation.rules, or of the CRD's schema")
		default:
			o.Note("spec", draft.Below(atSchema, name), noEquivalent(name))
		}
	}
	kind, version := text(schema["kind"]), text(schema["apiVersion"])
	for field, written := range map[string]string{"kind": kind, "apiVersion": version} {
		if written == "" {
			o.Fail("spec", draft.Below(atSchema, field), "wanted a text")
		}
	}
	of := text(schema["group"])
	if of == "" {
		of = group
	}
	scope := text(schema["scope"])
	if scope == "" {
		scope = string(apiextensionsv1.NamespaceScoped)
	}
	singular := strings.ToLower(kind)
	name := plural(singular) + "." + of
	metadata := map[string]any{"name": name}
	if own, ok := schema["metadata"].(map[string]any); ok {
		for _, field := range []string{"labels", "annotations"} {
			if own[field] != nil {
				metadata[field] = own[field]
			}
		}
	}
	o.Content["metadata"] = metadata
	o.Comes("metadata", atSchema+".kind")
	o.Comes("spec", atSchema)
	o.Comes("spec.scope", atSchema+".scope")
	o.Comes("spec.group", atSchema+".group")
	o.Comes("spec.names", atSchema+".kind")
	o.Content["spec"] = map[string]any{
		"group": of, "scope": scope,
		"names":    map[string]any{"kind": kind, "listKind": kind + "List", "plural": plural(singular), "singular": singular},
		"versions": []any{g.version(o, version, schema)},
	}
	g.spec["crd"] = map[string]any{"name": name}
	g.box.Comes("spec.crd", atSchema+".kind")
}

// version is the only version of the CRD.
func (g *graph) version(o *draft.Object, name string, schema map[string]any) map[string]any {
	const at = "spec.versions[0]"
	types, _ := schema["types"].(map[string]any)
	fail := func(path, message string) { o.Fail(at+".schema", path, message) }
	s := &simple{types: types, fail: fail}
	spec := map[string]any{fieldType: value.TypeObject}
	if fields, ok := schema["spec"].(map[string]any); ok {
		spec = s.object(atSchema+".spec", fields)
	} else if schema["spec"] != nil {
		fail(atSchema+".spec", "wanted fields of SimpleSchema")
	}
	o.Comes(at, atSchema)
	o.Comes(at+".name", atSchema+".apiVersion")
	o.Comes(at+".schema.openAPIV3Schema.properties.spec", atSchema+".spec")
	columns, ok := schema["additionalPrinterColumns"]
	if !ok {
		columns = draft.Columns()
	}
	o.Comes(at+".additionalPrinterColumns", atSchema+".additionalPrinterColumns")
	return map[string]any{
		"name": name, "served": true, "storage": true,
		"subresources":             map[string]any{"status": map[string]any{}},
		"additionalPrinterColumns": columns,
		"schema": map[string]any{"openAPIV3Schema": map[string]any{
			fieldType:    value.TypeObject,
			"properties": map[string]any{"spec": spec, fieldStatus: statusSchema(schema[fieldStatus])},
		}},
	}
}

// statusSchema is the schema of what the definition shows, with what every resource of a box shows.
func statusSchema(status any) map[string]any {
	fields, _ := status.(map[string]any)
	fields = maps.Clone(fields)
	maps.DeleteFunc(fields, func(name string, _ any) bool { return isOurs(name) })
	properties, _ := shown(fields)["properties"].(map[string]any)
	return draft.StatusSchema(properties)
}

// shown is the schema of fields whose types kro finds out: here they may be of any.
func shown(fields map[string]any) map[string]any {
	properties := map[string]any{}
	for name, written := range fields {
		switch written := written.(type) {
		case map[string]any:
			properties[name] = shown(written)
		case string:
			properties[name] = anything()
			if pieces, err := parts(written); err == nil && (len(pieces) != 1 || !pieces[0].cel) {
				properties[name] = map[string]any{fieldType: value.TypeString}
			}
		default:
			properties[name] = anything()
		}
	}
	return map[string]any{fieldType: value.TypeObject, "properties": properties}
}

// plural is the plural of a kind, as kro makes it.
func plural(singular string) string {
	switch {
	case singular == "":
		return ""
	case strings.HasSuffix(singular, "y") && !strings.ContainsAny(singular[max(0, len(singular)-2):len(singular)-1], "aeiou"):
		return strings.TrimSuffix(singular, "y") + "ies"
	case endsIn(singular, "s", "x", "z", "ch", "sh"):
		return singular + "es"
	default:
		return singular + "s"
	}
}

func endsIn(word string, ends ...string) bool {
	return slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(word, end) })
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// list gives the texts of a list, and says where something else stands.
func (g *graph) list(to, at string, written any) []string {
	items, ok := written.([]any)
	if !ok && written != nil {
		g.box.Fail(to, at, "wanted a list of texts")
	}
	out := make([]string, 0, len(items))
	for i, item := range items {
		s, ok := item.(string)
		if !ok {
			g.box.Fail(to, fmt.Sprintf("%s[%d]", at, i), "wanted a text")
		}
		out = append(out, s)
	}
	return out
}
