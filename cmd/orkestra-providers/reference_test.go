package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/orkspace/orkestra/engine/provider"
)

const (
	page      = "docs/reference/providers.md"
	pageIntro = `# Kinds of providers

What the image ` + "`orkestra-providers`" + ` can make. [Providers](../how-to/providers.md) says how a box declares it, and what happens when. ` + "`orkestra explain providers.NAME.KIND`" + ` shows the same.

Fields of fields are named with a dot, those of the items of a list with ` + "`[]`" + `. A template reads an output as ` + "`.providers.<id>.<output>`" + `.

<!-- written by UPDATE_GOLDEN=true go test ./cmd/orkestra-providers -run TestProviderReference, from the schemas of the kinds -->
`
)

// TestProviderReference compares the reference with the schemas; UPDATE_GOLDEN=true writes it.
func TestProviderReference(t *testing.T) {
	var b strings.Builder
	b.WriteString(pageIntro)
	registry := registered()
	for _, name := range registry.Names() {
		fmt.Fprintf(&b, "\n## %s\n", name)
		kinds := registry.Get(name).Kinds()
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			of := kinds[kind]
			writeKind(&b, kind, &of)
		}
	}
	file := filepath.Join("..", "..", filepath.FromSlash(page))
	if os.Getenv("UPDATE_GOLDEN") == "true" {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(found) != b.String() {
		t.Errorf("%s is not what the schemas say; UPDATE_GOLDEN=true go test ./cmd/orkestra-providers -run TestProviderReference writes it", page)
	}
}

func writeKind(b *strings.Builder, name string, kind *provider.Kind) {
	fmt.Fprintf(b, "\n### %s\n\n%s ", name, kind.Summary)
	fmt.Fprintf(b, "Told from others by %s.\n\n", quoted(kind.Identity))
	var keys []string
	for _, key := range kind.Credentials {
		text := "`" + key.Name + "`"
		if key.Optional {
			text += " (optional)"
		}
		keys = append(keys, text)
	}
	fmt.Fprintf(b, "- Credentials: a Secret with %s", strings.Join(keys, ", "))
	if kind.WebIdentity {
		fmt.Fprintf(b, "; or `webIdentity`, by a token for `%s`", kind.Audience)
	}
	b.WriteString(".\n")
	if kind.NeedsEndpoint {
		b.WriteString("- `endpoint` is needed: the service has no public address.\n")
	}
	if len(kind.Secrets) > 0 {
		fmt.Fprintf(b, "- %s names a key of a Secret in the namespace of the resource: `{name, key}`.\n", quoted(kind.Secrets))
	}
	b.WriteString("\n| field | type | meaning |\n|---|---|---|\n")
	writeFields(b, "", &kind.Schema)
	b.WriteString("\n| output | type | meaning |\n|---|---|---|\n")
	for _, output := range slices.Sorted(maps.Keys(kind.Outputs.Properties)) {
		of := kind.Outputs.Properties[output]
		secret := ""
		if slices.Contains(kind.SecretOutputs, output) {
			secret = " It is a secret."
		}
		fmt.Fprintf(b, "| `%s` | %s | %s%s |\n", output, of.Type, of.Description, secret)
	}
}

// writeFields writes a row for each field, those that are needed first, and for the fields of each.
func writeFields(b *strings.Builder, prefix string, schema *apiextensionsv1.JSONSchemaProps) {
	names := slices.Sorted(maps.Keys(schema.Properties))
	slices.SortStableFunc(names, func(x, y string) int {
		return strings.Compare(fmt.Sprint(!slices.Contains(schema.Required, x)), fmt.Sprint(!slices.Contains(schema.Required, y)))
	})
	for _, name := range names {
		field := schema.Properties[name]
		kind, below := typeOf(&field)
		meaning := field.Description
		if slices.Contains(schema.Required, name) {
			meaning = "Required. " + meaning
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", prefix+name, kind, strings.TrimSpace(strings.ReplaceAll(meaning, "|", `\|`)))
		if below != nil {
			mark := "."
			if field.Items != nil {
				mark = "[]."
			}
			writeFields(b, prefix+name+mark, below)
		}
	}
}

// typeOf says what a field holds, and gives the schema of the fields below it; nil: there are none.
func typeOf(field *apiextensionsv1.JSONSchemaProps) (kind string, below *apiextensionsv1.JSONSchemaProps) {
	switch {
	case len(field.Enum) > 0:
		var values []string
		for _, value := range field.Enum {
			values = append(values, "`"+strings.Trim(string(value.Raw), `"`)+"`")
		}
		return strings.Join(values, ", "), nil
	case field.Items != nil && field.Items.Schema != nil:
		item, below := typeOf(field.Items.Schema)
		return "list of " + item, below
	case field.AdditionalProperties != nil:
		return "map of texts", nil
	case field.Minimum != nil && field.Maximum != nil:
		return fmt.Sprintf("%s, %.0f to %.0f", field.Type, *field.Minimum, *field.Maximum), nil
	case field.Minimum != nil:
		return fmt.Sprintf("%s, at least %.0f", field.Type, *field.Minimum), nil
	case field.Type == "object" && len(field.Properties) > 0:
		return "object", field
	default:
		return field.Type, nil
	}
}

func quoted(names []string) string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = "`" + name + "`"
	}
	return strings.Join(out, ", ")
}
