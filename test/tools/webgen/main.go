// Command webgen writes what others read of the Control Center's API: its OpenAPI document, and the types of the page in TypeScript. Both come from
// the Go types and their comments.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
)

func main() {
	types := flag.String("types", "engine/web/api", "folder of the Go types")
	document := flag.String("openapi", "engine/web/api/openapi.json", "OpenAPI document that is written")
	script := flag.String("typescript", "engine/web/ui/src/api.ts", "TypeScript file that is written")
	flag.Parse()
	if err := run(*types, *document, *script); err != nil {
		fmt.Fprintln(os.Stderr, "webgen:", err)
		os.Exit(1)
	}
}

func run(types, document, script string) error {
	all, err := readTypes(types)
	if err != nil {
		return err
	}
	api, err := openAPI(all)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(api); err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	if err := os.WriteFile(document, text.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	code, err := typescript(all)
	if err != nil {
		return err
	}
	if err := os.WriteFile(script, []byte(code), 0o644); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}
