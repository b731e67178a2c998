// Command crdtext removes the descriptions of list and map elements from generated CRDs, for kubectl explain. controller-gen takes them from
// the comments of the Go types, which are for readers of the code; the field that holds the list says what its elements are.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// start is how controller-gen begins a CRD.
const start = "---\n"

func main() {
	folder := flag.String("crds", "config/crd/bases", "the `folder` of the CRDs")
	flag.Parse()
	if err := run(*folder); err != nil {
		fmt.Fprintln(os.Stderr, "crdtext:", err)
		os.Exit(1)
	}
}

func run(folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no CRD in %q", folder)
	}
	for _, file := range files {
		if err := rewrite(file); err != nil {
			return fmt.Errorf("rewriting %q: %w", file, err)
		}
	}
	return nil
}

func rewrite(file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var crd map[string]any
	if err := yaml.Unmarshal(content, &crd); err != nil {
		return err
	}
	spec, _ := crd["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	if len(versions) == 0 {
		return errors.New("it is no CRD: it has no spec.versions")
	}
	for _, v := range versions {
		version, _ := v.(map[string]any)
		holder, _ := version["schema"].(map[string]any)
		schema, _ := holder["openAPIV3Schema"].(map[string]any)
		dropElementTexts(schema)
	}
	out, err := yaml.Marshal(crd)
	if err != nil {
		return err
	}
	return os.WriteFile(file, append([]byte(start), out...), 0o644)
}

// dropElementTexts removes the description of every element of a list or a map from a schema.
func dropElementTexts(schema map[string]any) {
	for _, key := range []string{"items", "additionalProperties"} {
		element, ok := schema[key].(map[string]any) // additionalProperties may be a bool
		if !ok {
			continue
		}
		delete(element, "description")
		dropElementTexts(element)
	}
	properties, _ := schema["properties"].(map[string]any)
	for _, p := range properties {
		if property, ok := p.(map[string]any); ok {
			dropElementTexts(property)
		}
	}
}
