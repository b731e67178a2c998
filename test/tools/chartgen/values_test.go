package main

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// schemaOf makes the schema of values, with the definitions of two types.
func schemaOf(t *testing.T, values string) ([]byte, error) {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "values.yaml"), values+"\n# @schema {$ref: \"#/definitions/Texts\"}\n# -- L.\nlabels: {}\n")
	write(t, filepath.Join(dir, "definitions.yaml"), "Texts: {type: object, additionalProperties: {type: string}}\n")
	return valuesSchema(filepath.Join(dir, "values.yaml"), filepath.Join(dir, "definitions.yaml"))
}

func TestValuesSchema(t *testing.T) {
	content, err := schemaOf(t, `# Of no value.

# -- A name,
# on two lines.
name: ""
# @schema {minimum: 0}
# -- A number.
replicas: 1
part:
  # -- Whether.
  on: true
  # @schema {type: number, maximum: 1}
  # -- How much.
  share: 0
  # @schema {type: null, oneOf: [{type: integer}, {type: string}]}
  # -- Either.
  either: 1
# @schema {items: {type: string}}
# -- Several.
list: [a]
`)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(content, &got); err != nil {
		t.Fatal(err)
	}
	const want = `{
		"name": {"type": "string", "description": "A name, on two lines."},
		"replicas": {"type": "integer", "minimum": 0, "description": "A number."},
		"part": {"type": "object", "additionalProperties": false, "properties": {
			"on": {"type": "boolean", "description": "Whether."},
			"share": {"type": "number", "maximum": 1, "description": "How much."},
			"either": {"oneOf": [{"type": "integer"}, {"type": "string"}], "description": "Either."}
		}},
		"list": {"type": "array", "items": {"type": "string"}, "description": "Several."},
		"labels": {"$ref": "#/definitions/Texts", "description": "L."},
		"global": {"type": "object", "description": "Set by Helm when this chart is part of another one. Not used."}
	}`
	var properties map[string]any
	if err := json.Unmarshal([]byte(want), &properties); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got["properties"], properties) {
		t.Errorf("got:\n%s\nwant the properties:\n%s", content, want)
	}
	if got["additionalProperties"] != false || got["type"] != "object" {
		t.Errorf("the schema is open:\n%s", content)
	}
}

func TestValuesThatSayTooLittle(t *testing.T) {
	for values, want := range map[string]string{
		"name: a":                             ".name has no comment that begins with --",
		"# Not so.\nname: a":                  ".name has no comment that begins with --",
		"part:\n  name: a":                    ".part.name has no comment",
		"# -- L.\nlist: []":                   ".list is a list: say of what",
		"# -- M.\nmap: {}":                    ".map is an open map: say what may be in it",
		"# @schema {a\n# -- N.\nname: a":      ".name: reading its @schema",
		"# @schema {}\n# @schema {}\nname: a": ".name: there is more than one @schema",
		"# @schema {$ref: \"#/definitions/X\"}\n# -- N.\nname: a": `there is no definition "X"`,
		"- a": "reading",
	} {
		if _, err := schemaOf(t, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", values, err, want)
		}
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "values.yaml"), "# -- N.\nname: a\n")
	write(t, filepath.Join(dir, "definitions.yaml"), "Texts: {type: object}\n")
	if _, err := valuesSchema(filepath.Join(dir, "values.yaml"), filepath.Join(dir, "definitions.yaml")); err == nil || !strings.Contains(err.Error(), `nothing refers to the definition "Texts"`) {
		t.Errorf("a definition that nobody names: %v", err)
	}
}
