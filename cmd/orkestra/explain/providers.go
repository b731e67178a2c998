package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/orkspace/orkestra/engine/provider"
	"github.com/orkspace/orkestra/engine/suggest"
)

// keyProviders is the key of what is made outside of the cluster.
const keyProviders = "providers"

// explainProviders answers for a path below providers.
func explainProviders(registry *provider.Registry, path []string, recursive bool) (string, error) {
	names := registry.Names()
	if len(path) == 0 {
		return explainList(names, recursive)
	}
	found := registry.Get(path[0])
	if common, err := explainAPI(append([]string{keyProviders}, path...), recursive); found == nil && err == nil {
		return common, nil // a field that the resources of all providers have
	}
	if len(names) == 0 {
		return "", errNoProviders
	}
	if found == nil {
		return "", fmt.Errorf("there is no provider %q%s", path[0], suggest.DidYouMean(path[0], names))
	}
	all := found.Kinds()
	kinds := slices.Sorted(maps.Keys(all))
	var b strings.Builder
	if len(path) == 1 {
		for _, name := range kinds {
			fmt.Fprintf(&b, "%s\n", name)
			writeText(&b, all[name].Summary)
		}
		return b.String(), nil
	}
	kind, ok := all[path[1]]
	if !ok {
		return "", fmt.Errorf("provider %q has no kind %q%s", path[0], path[1], suggest.DidYouMean(path[1], kinds))
	}
	schema, err := schemaAt(&kind.Schema, path[2:], keyProviders+"."+strings.Join(path[:2], "."))
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&b, "KEY:    %s.%s\n\nDESCRIPTION:\n", keyProviders, strings.Join(path, "."))
	writeText(&b, cmp.Or(schema.Description, kind.Summary))
	writeSchema(&b, "FIELDS", schema)
	if len(path) > 2 { // a field, and not the kind
		return b.String(), nil
	}
	writeSchema(&b, "OUTPUTS, BELOW .providers.<id>", &kind.Outputs)
	writeFacts(&b, &kind)
	return b.String(), nil
}

// explainList says what the resources of all providers have, and which providers there are.
func explainList(names []string, recursive bool) (string, error) {
	common, err := explainAPI([]string{keyProviders}, recursive)
	if err != nil {
		return "", err
	}
	if len(names) == 0 {
		return common + "\nPROVIDER\nnone: " + errNoProviders.Error() + "\n", nil
	}
	return common + "\nPROVIDER\n" + strings.Join(names, "\n") + "\n", nil
}

// writeFacts writes what else there is to know of a kind.
func writeFacts(b *strings.Builder, kind *provider.Kind) {
	b.WriteString("\n")
	fmt.Fprintf(b, "IDENTITY: %s; with other values it is another resource, and the former one is deleted\n", strings.Join(kind.Identity, ", "))
	if len(kind.SecretOutputs) > 0 {
		fmt.Fprintf(b, "SECRET OUTPUTS: %s\n", strings.Join(kind.SecretOutputs, ", "))
	}
	var keys []string
	for _, key := range kind.Credentials {
		keys = append(keys, key.String())
	}
	if len(keys) > 0 {
		fmt.Fprintf(b, "CREDENTIALS: a Secret with %s\n", strings.Join(keys, ", "))
	}
	if kind.WebIdentity {
		fmt.Fprintf(b, "WEB IDENTITY: or a token of a ServiceAccount for %s\n", kind.Audience)
	}
	if len(kind.Secrets) > 0 {
		fmt.Fprintf(b, "SECRETS: %s name a key of a Secret, in the namespace of the resource\n", strings.Join(kind.Secrets, ", "))
	}
	if kind.NeedsEndpoint {
		b.WriteString("ENDPOINT: is needed; the service has no public address\n")
	}
}

// schemaAt gives the schema of a field.
func schemaAt(schema *apiextensionsv1.JSONSchemaProps, path []string, at string) (*apiextensionsv1.JSONSchemaProps, error) {
	for _, name := range path {
		for schema.Items != nil && schema.Items.Schema != nil {
			schema = schema.Items.Schema
		}
		next, ok := schema.Properties[name]
		if !ok {
			return nil, fmt.Errorf("%s has no field %q%s", at, name, suggest.DidYouMean(name, slices.Sorted(maps.Keys(schema.Properties))))
		}
		schema, at = &next, at+"."+name
	}
	return schema, nil
}

// writeSchema writes the fields of a schema.
func writeSchema(b *strings.Builder, title string, schema *apiextensionsv1.JSONSchemaProps) {
	for schema.Items != nil && schema.Items.Schema != nil {
		schema = schema.Items.Schema
	}
	if len(schema.Properties) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n", title)
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		field := schema.Properties[name]
		fmt.Fprintf(b, "  %s <%s>", name, cmp.Or(field.Type, "any"))
		if slices.Contains(schema.Required, name) {
			b.WriteString(" -required-")
		}
		b.WriteString("\n")
		if field.Description != "" {
			writeText(b, field.Description)
		}
	}
}
