package aws

import (
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

type (
	schema     = apiextensionsv1.JSONSchemaProps
	properties = map[string]apiextensionsv1.JSONSchemaProps
)

func object(description string, fields properties, required ...string) schema {
	return schema{Type: "object", Description: description, Properties: fields, Required: required}
}

func text(description string) schema { return schema{Type: "string", Description: description} }

func pattern(description, expression string) schema {
	return schema{Type: "string", Description: description, Pattern: expression}
}

func choice(description string, values ...string) schema {
	out := text(description)
	for _, value := range values {
		quoted, _ := json.Marshal(value) //nolint:errchkjson // A string always encodes.
		out.Enum = append(out.Enum, apiextensionsv1.JSON{Raw: quoted})
	}
	return out
}

func boolean(description string) schema { return schema{Type: "boolean", Description: description} }

func between(description string, low, high float64) schema {
	return schema{Type: "integer", Format: "int64", Description: description, Minimum: &low, Maximum: &high}
}

func list(description string, item schema, most int64) schema {
	return schema{Type: "array", Description: description, Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &item}, MaxItems: &most}
}

// free is an object of the service's own form.
func free(description string) schema {
	yes := true
	return schema{Type: "object", Description: description, XPreserveUnknownFields: &yes}
}

func texts(description string) schema {
	item := schema{Type: "string"}
	return schema{Type: "object", Description: description, AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &item}}
}

const regionPattern = `^[a-z0-9][a-z0-9-]*$`

func tagsSchema() schema {
	return texts("Tags. Those that others have set stay; those that were declared before, and are not any more, are removed. Keys that begin with orkestra.orkspace.io/ are reserved.")
}

func policySchema() schema {
	return free("Resource policy, as AWS writes it: Version, Statement. {} removes it.")
}
