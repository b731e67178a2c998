package docs_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/orkspace/orkestra/engine/hook/protocol"
)

const (
	protocolPage  = "docs/reference/webhook-protocol.md"
	webhooksPage  = "docs/how-to/webhooks.md"
	schemaFile    = "docs/reference/webhook.schema.json"
	openAPIFile   = "docs/reference/webhook.openapi.json"
	schemaRefs    = "#/$defs/"
	componentRefs = "#/components/schemas/"
)

// messages are the messages of the protocols, by the names of their schemas.
var messages = map[string]reflect.Type{
	"HookRequest": reflect.TypeFor[protocol.Request](), "HookResponse": reflect.TypeFor[protocol.Response](),
	"CompositeRequest": reflect.TypeFor[protocol.CompositeRequest](), "CompositeResponse": reflect.TypeFor[protocol.CompositeResponse](),
}

// fenced gives the blocks of a language on a page.
func fenced(t *testing.T, page, language string) []string {
	t.Helper()
	var out []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(read(t, page), -1) {
		out = append(out, m[1])
	}
	return out
}

// schema is as much of a JSON schema as the files have.
type schema struct {
	Ref                  string            `json:"$ref"`
	Type                 string            `json:"type"`
	Properties           map[string]schema `json:"properties"`
	Required             []string          `json:"required"`
	Items                *schema           `json:"items"`
	AdditionalProperties json.RawMessage   `json:"additionalProperties"`
}

// TestTheSchemasAreThoseOfTheTypes: each field of each message, as encoding/json has it, also in the OpenAPI document.
func TestTheSchemasAreThoseOfTheTypes(t *testing.T) {
	var jsonSchema struct {
		Defs map[string]schema `json:"$defs"`
	}
	var openAPI struct {
		Components struct{ Schemas map[string]schema }
		Paths      map[string]map[string]any
	}
	for file, into := range map[string]any{schemaFile: &jsonSchema, openAPIFile: &openAPI} {
		if err := json.Unmarshal([]byte(read(t, file)), into); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	if len(openAPI.Paths) != 2 {
		t.Errorf("%s has the paths %v", openAPIFile, openAPI.Paths)
	}
	for name, of := range messages {
		same(t, name, of, jsonSchema.Defs, schema{Ref: schemaRefs + name}, schemaRefs)
		same(t, name, of, openAPI.Components.Schemas, schema{Ref: componentRefs + name}, componentRefs)
	}
}

// same compares a schema with a Go type.
func same(t *testing.T, at string, of reflect.Type, all map[string]schema, s schema, refs string) {
	t.Helper()
	if s.Ref != "" {
		found, known := all[strings.TrimPrefix(s.Ref, refs)]
		if !known {
			t.Errorf("%s: there is no %s", at, s.Ref)
			return
		}
		s = found
	}
	switch of.Kind() {
	case reflect.Pointer:
		same(t, at, of.Elem(), all, s, refs)
	case reflect.Struct:
		fields, required := map[string]reflect.Type{}, []string{}
		for f := range of.Fields() {
			if !f.IsExported() {
				continue // JSON does not have it
			}
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			fields[name] = f.Type
			if !strings.Contains(options, "omit") {
				required = append(required, name)
			}
		}
		if got, want := slices.Sorted(maps.Keys(s.Properties)), slices.Sorted(maps.Keys(fields)); !slices.Equal(got, want) {
			t.Errorf("%s: the schema has %v, and the type %v", at, got, want)
		}
		if !slices.Equal(slices.Sorted(slices.Values(s.Required)), slices.Sorted(slices.Values(required))) {
			t.Errorf("%s: the schema requires %v, and the type %v", at, s.Required, required)
		}
		for name, below := range fields {
			same(t, at+"."+name, below, all, s.Properties[name], refs)
		}
	case reflect.Slice:
		if s.Type != "array" || s.Items == nil {
			t.Errorf("%s: the schema is no array", at)
			return
		}
		same(t, at+"[]", of.Elem(), all, *s.Items, refs)
	default:
		want := map[reflect.Kind]string{reflect.String: "string", reflect.Bool: "boolean", reflect.Int64: "integer", reflect.Float64: "number", reflect.Map: "object", reflect.Interface: ""}
		if kind, known := want[of.Kind()]; !known || s.Type != kind {
			t.Errorf("%s: the schema is of type %q, and the field a %s", at, s.Type, of)
		}
	}
}

// TestTheMessagesOfTheProtocolPage are read as the types read them.
func TestTheMessagesOfTheProtocolPage(t *testing.T) {
	blocks := fenced(t, protocolPage, "json")
	if len(blocks) != 2 {
		t.Fatalf("%s has %d messages", protocolPage, len(blocks))
	}
	d := json.NewDecoder(strings.NewReader(blocks[0]))
	d.DisallowUnknownFields()
	q := &protocol.Request{}
	if err := d.Decode(q); err != nil || q.APIVersion != protocol.Version || q.Kind != protocol.KindRequest {
		t.Errorf("%s: the request is %v: %v", protocolPage, q, err)
	}
	if _, err := protocol.Read(blocks[1], q.UID); err != nil {
		t.Errorf("%s: the response: %v", protocolPage, err)
	}
	for name, of := range messages {
		if !strings.HasPrefix(name, "Hook") {
			continue
		}
		for f := range of.Fields() {
			field, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !strings.Contains(read(t, protocolPage), "`"+field) {
				t.Errorf("%s does not name %s of a %s", protocolPage, field, name)
			}
		}
	}
}

// TestTheWebhookOfThePage answers what its page says.
func TestTheWebhookOfThePage(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3 on this machine")
	}
	blocks := fenced(t, webhooksPage, "python")
	if len(blocks) != 1 {
		t.Fatalf("%s has %d programs", webhooksPage, len(blocks))
	}
	text, err := json.Marshal(protocol.Request{APIVersion: protocol.Version, UID: "1", Resource: map[string]any{"metadata": map[string]any{"name": "shop"}, "spec": map[string]any{"hosts": []string{"a", "b"}}}})
	if err != nil {
		t.Fatal(err)
	}
	// The server is not started: one request is read from memory.
	program, _, _ := strings.Cut(blocks[0], "HTTPServer((")
	program += fmt.Sprintf(`
import io
q = %q.encode()
h = Hook.__new__(Hook)
h.headers, h.rfile, h.wfile = {"Content-Length": len(q)}, io.BytesIO(q), io.BytesIO()
h.send_response = h.send_header = lambda *_: None
h.end_headers = lambda: None
h.do_POST()
print(h.wfile.getvalue().decode())
`, text)
	out, err := exec.Command("python3", "-c", program).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	answer, err := protocol.Read(string(out), "1")
	if err != nil {
		t.Fatalf("%s: %v", webhooksPage, err)
	}
	if len(answer.Children) != 2 || answer.Children[1].ID != "b" || fmt.Sprint(answer.Status) != "map[replicas:2]" {
		t.Errorf("%s: it answers %v", webhooksPage, answer)
	}
}
