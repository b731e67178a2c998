// Command manager is Orkestra with the Go code that its boxes name.
package main

import (
	"fmt"
	"os"

	"github.com/orkspace/orkestra/cmd/orkestra/app"
)

func main() {
	code, err := registry() // made by "orkestra generate registry"
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	app.Main(app.Options{Code: code})
}
