package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// schema is a JSON schema, or a part of one.
type schema = map[string]any

const refPrefix = "#/definitions/"

// valuesSchema returns the JSON schema of a chart's values. The type of a value is that of its default in values.yaml; what stands behind @schema in
// its comment adds to that, or takes a key away by null, and what stands behind -- describes it. Objects are closed. Definitions are
// what a $ref may name.
func valuesSchema(valuesFile, definitionsFile string) ([]byte, error) {
	values, err := os.ReadFile(valuesFile)
	if err != nil {
		return nil, err
	}
	var document yamlv3.Node
	if err := yamlv3.Unmarshal(values, &document); err != nil {
		return nil, fmt.Errorf("reading %q: %w", valuesFile, err)
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yamlv3.MappingNode {
		return nil, fmt.Errorf("%q holds no map", valuesFile)
	}
	definitions, err := readDefinitions(definitionsFile)
	if err != nil {
		return nil, err
	}
	root, err := objectSchema(document.Content[0], "")
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", valuesFile, err)
	}
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["title"] = "Values of the chart orkestra"
	root["properties"].(schema)["global"] = schema{"type": "object", "description": "Set by Helm when this chart is part of another one. Not used."}
	root["definitions"] = definitions
	if err := checkRefs(root, definitions); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(root); err != nil {
		return nil, fmt.Errorf("writing the schema: %w", err)
	}
	return out.Bytes(), nil
}

func readDefinitions(file string) (schema, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	definitions := schema{}
	if err := yaml.UnmarshalStrict(content, &definitions); err != nil {
		return nil, fmt.Errorf("reading %q: %w", file, err)
	}
	return definitions, nil
}

// objectSchema is the schema of a map whose keys are values.
func objectSchema(object *yamlv3.Node, path string) (schema, error) {
	properties := schema{}
	var problems []error
	for i := 0; i+1 < len(object.Content); i += 2 {
		key, value := object.Content[i], object.Content[i+1]
		property, err := valueSchema(key.HeadComment, value, path+"."+key.Value)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		properties[key.Value] = property
	}
	return schema{"type": "object", "additionalProperties": false, "properties": properties}, errors.Join(problems...)
}

// valueSchema is the schema of one value.
func valueSchema(comment string, value *yamlv3.Node, path string) (schema, error) {
	said, description, err := readComment(comment)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if value.Kind == yamlv3.MappingNode && len(value.Content) > 0 && said == nil {
		return objectSchema(value, path)
	}
	if description == "" {
		return nil, fmt.Errorf("%s has no comment that begins with -- and says what it is for", path)
	}
	found := schema{"description": description}
	if _, refers := said["$ref"]; !refers {
		found["type"] = typeOf(value)
	}
	maps.Copy(found, said)
	maps.DeleteFunc(found, func(_ string, v any) bool { return v == nil })
	switch {
	case found["type"] == "array" && found["items"] == nil:
		return nil, fmt.Errorf("%s is a list: say of what, such as # @schema {items: {type: string}}", path)
	case found["type"] == "object" && found["properties"] == nil && found["additionalProperties"] == nil:
		return nil, fmt.Errorf("%s is an open map: say what may be in it, such as # @schema {$ref: \"#/definitions/Texts\"}", path)
	}
	return found, nil
}

// readComment gives what a comment says behind @schema, nil for nothing, and behind --.
func readComment(comment string) (said schema, description string, err error) {
	var texts []string
	for line := range strings.SplitSeq(comment, "\n") {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "#"))
		if text, ok := strings.CutPrefix(line, "@schema "); ok {
			if said != nil {
				return nil, "", errors.New("there is more than one @schema")
			}
			if err := yaml.UnmarshalStrict([]byte(text), &said); err != nil {
				return nil, "", fmt.Errorf("reading its @schema: %w", err)
			}
			continue
		}
		if text, ok := strings.CutPrefix(line, "-- "); ok {
			texts = []string{text}
		} else if len(texts) > 0 {
			texts = append(texts, line)
		}
	}
	return said, strings.Join(texts, " "), nil
}

func typeOf(value *yamlv3.Node) string {
	switch value.ShortTag() {
	case "!!map":
		return "object"
	case "!!seq":
		return "array"
	case "!!bool":
		return "boolean"
	case "!!int":
		return "integer"
	case "!!float":
		return "number"
	}
	return "string"
}

// checkRefs says which $ref names no definition, and which definition nobody names.
func checkRefs(root, definitions schema) error {
	named := map[string]bool{}
	collectRefs(root, named)
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if _, ok := definitions[name]; !ok {
			problems = append(problems, fmt.Errorf("there is no definition %q: those that there are: %q", name, slices.Sorted(maps.Keys(definitions))))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(definitions)) {
		if !named[name] {
			problems = append(problems, fmt.Errorf("nothing refers to the definition %q: remove it", name))
		}
	}
	return errors.Join(problems...)
}

func collectRefs(part any, named map[string]bool) {
	switch p := part.(type) {
	case schema:
		if ref, ok := p["$ref"].(string); ok {
			named[strings.TrimPrefix(ref, refPrefix)] = true
		}
		for _, child := range p {
			collectRefs(child, named)
		}
	case []any:
		for _, child := range p {
			collectRefs(child, named)
		}
	}
}
