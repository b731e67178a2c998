package cel

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/orkspace/orkestra/engine/expr/roots"
)

func listOf(items roots.Schema) roots.Schema {
	return roots.Schema{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &items}}
}

func mapOf(values roots.Schema) roots.Schema {
	return roots.Schema{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &values}}
}

// A value has the type that its schema promises to CEL; one that does not fit stays as it is, and fails where it is used.
func TestTyped(t *testing.T) {
	moment := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	text := func(format string) roots.Schema { return roots.Schema{Type: "string", Format: format} }
	number, integer := roots.Schema{Type: "number"}, roots.Schema{Type: "integer"}
	open := roots.Schema{XPreserveUnknownFields: new(true)}
	nullable := number
	nullable.Nullable = true
	for name, tc := range map[string]struct {
		schema   roots.Schema
		in, want any
	}{
		"a number that is whole":          {number, int64(2), 2.0},
		"a number":                        {number, 2.5, 2.5},
		"no number":                       {number, "2", "2"},
		"an integer":                      {integer, int64(2), int64(2)},
		"an integer that came as a float": {integer, 2.0, int64(2)},
		"an integer that is none":         {integer, 2.5, 2.5},
		"a nullable number":               {nullable, int64(2), int64(2)},
		"null":                            {number, nil, nil},
		"a boolean":                       {roots.Schema{Type: "boolean"}, true, true},
		"text":                            {text(""), "2026-03-01", "2026-03-01"},
		"text of another format":          {text("uuid"), "x", "x"},
		"a time":                          {text("date-time"), "2026-03-01T10:00:00Z", moment},
		"a day":                           {text("date"), "2026-03-01", moment.Truncate(24 * time.Hour)},
		"no time":                         {text("date-time"), "soon", "soon"},
		"a duration":                      {text("duration"), "90s", 90 * time.Second},
		"no duration":                     {text("duration"), "1d", "1d"},
		"bytes":                           {text("byte"), "aGk=", []byte("hi")},
		"no bytes":                        {text("byte"), "%", "%"},
		"numbers in a list":               {listOf(number), []any{int64(1), 0.5}, []any{1.0, 0.5}},
		"texts in a list":                 {listOf(text("")), []any{"a"}, []any{"a"}},
		"lists in a list":                 {listOf(listOf(number)), []any{[]any{int64(1)}}, []any{[]any{1.0}}},
		"a list of anything":              {roots.Schema{Type: "array"}, []any{int64(1)}, []any{int64(1)}},
		"durations in a map":              {mapOf(text("duration")), map[string]any{"a": "1s"}, map[string]any{"a": time.Second}},
		"texts in a map":                  {mapOf(text("")), map[string]any{"a": "1s"}, map[string]any{"a": "1s"}},
		"an object, when it is read":      {roots.Schema{Type: "object", Properties: map[string]roots.Schema{"a": number}}, map[string]any{"a": int64(1)}, map[string]any{"a": int64(1)}},
		"what may be anything":            {open, int64(1), int64(1)},
		"an integer or a string":          {roots.Schema{XIntOrString: true}, int64(80), int64(80)},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(typed(&tc.schema, tc.in)).To(match(tc.want))
		})
	}
	NewWithT(t).Expect(typed(nil, int64(1))).To(Equal(int64(1)), "nothing is known of it")
}

// match is Equal, for nil too.
func match(want any) gomegatypes.GomegaMatcher {
	if want == nil {
		return BeNil()
	}
	return Equal(want)
}

func TestFieldOf(t *testing.T) {
	g := NewWithT(t)
	object := map[string]any{"a": int64(1), "nothing": nil, "empty": ""}
	g.Expect(fieldOf(object, "a")).To(Equal(int64(1)))
	g.Expect(fieldOf(object, "empty")).To(Equal(""))
	for _, absent := range []string{"nothing", "b"} {
		_, err := fieldOf(object, absent)
		g.Expect(err).To(MatchError(errNoKey), absent)
	}
	for what, v := range map[string]any{"string": "x", "list": []any{}, "null": nil} {
		_, err := fieldOf(v, "a")
		g.Expect(err).To(MatchError("no such overload: a field of a " + what))
	}
}

func TestUnescape(t *testing.T) {
	for name, want := range map[string]string{
		"a__dash__b": "a-b", "a__dot__b": "a.b", "a__slash__b": "a/b", "__namespace__": "namespace", "a__underscores__b": "a__b", "plain": "", "a_b": "",
	} {
		plain, escaped := unescape(name)
		g := NewWithT(t)
		g.Expect(escaped).To(Equal(want != ""), name)
		if escaped {
			g.Expect(plain).To(Equal(want))
		}
	}
}

// Only what typed can change is copied.
func TestChanges(t *testing.T) {
	text, number := roots.Schema{Type: "string"}, roots.Schema{Type: "number"}
	object := roots.Schema{Type: "object", Properties: map[string]roots.Schema{"a": number}}
	nested, nullable := listOf(mapOf(number)), number
	nullable.Nullable = true
	for name, tc := range map[string]struct {
		schema *roots.Schema
		want   bool
	}{
		"nothing known":        {nil, false},
		"text":                 {&text, false},
		"a number":             {&number, true},
		"a nullable number":    {&nullable, false},
		"a boolean":            {&roots.Schema{Type: "boolean"}, false},
		"bytes":                {&roots.Schema{Type: "string", Format: "byte"}, true},
		"an object":            {&object, false},
		"a map in a list":      {&nested, true},
		"a list of anything":   {&roots.Schema{Type: "array"}, false},
		"a map of anything":    {&roots.Schema{Type: "object"}, false},
		"an integer or a text": {&roots.Schema{XIntOrString: true}, false},
	} {
		NewWithT(t).Expect(changes(tc.schema)).To(Equal(tc.want), name)
	}
}
