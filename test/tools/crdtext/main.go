// Command crdtext marks generated CRDs with a digest of their versions, by which a manager knows its own CRDs, and removes the descriptions of list and map elements from generated CRDs, for kubectl explain. controller-gen takes them from
// the comments of the Go types, which are for readers of the code; the field that holds the list says what its elements are.
package main

import (
	"crypto/sha256"
	"encoding/json"
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
	if err := mark(crd, versions); err != nil {
		return err
	}
	out, err := yaml.Marshal(crd)
	if err != nil {
		return err
	}
	return os.WriteFile(file, append([]byte(start), out...), 0o644)
}

// annotation is the one that config/crd names.
const annotation = "orkestra.orkspace.io/schema"

// mark gives a CRD the digest of its versions.
func mark(crd map[string]any, versions []any) error {
	text, err := json.Marshal(versions)
	if err != nil {
		return err
	}
	metadata, _ := crd["metadata"].(map[string]any)
	annotations, ok := metadata["annotations"].(map[string]any)
	if !ok {
		return errors.New("it has no annotations, of which controller-gen makes one")
	}
	annotations[annotation] = fmt.Sprintf("%.8x", sha256.Sum256(text))
	return nil
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
