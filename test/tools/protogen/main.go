// Command protogen writes the JSON schema and the OpenAPI document of the protocol of webhooks from its Go types: what they are called, of which
// types they are, which must be there, and what their comments say.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/orkspace/orkestra/test/tools/gotypes"
)

func main() {
	types := flag.String("types", "engine/hook/protocol", "folder of the Go types")
	out := flag.String("out", "docs/reference", "folder that the files are written to")
	flag.Parse()
	if err := run(*types, *out); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

func run(types, out string) error {
	all, err := gotypes.Read(types)
	if err != nil {
		return err
	}
	schemas, err := schemasOf(all)
	if err != nil {
		return err
	}
	for name, document := range map[string]any{"webhook.schema.json": jsonSchema(schemas), "webhook.openapi.json": openAPI(schemas)} {
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(document); err != nil {
			return fmt.Errorf("encoding %s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(out, name), text.Bytes(), 0o644); err != nil {
			return fmt.Errorf("writing: %w", err)
		}
	}
	return nil
}
