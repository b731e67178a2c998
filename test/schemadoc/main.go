// Command schemadoc writes the JSON schema of boxes, as `orkestra schema` prints it.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/orkspace/orkestra/config/crd"
	"github.com/orkspace/orkestra/engine/boxschema"
)

func main() {
	out := flag.String("out", "docs/reference/operatorbox.schema.json", "file that is written")
	flag.Parse()
	text, err := boxschema.Box(crd.BoxDefinition())
	if err == nil {
		err = os.WriteFile(*out, text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "schemadoc:", err)
		os.Exit(1)
	}
}
