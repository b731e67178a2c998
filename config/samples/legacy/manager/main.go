// Command legacy is Orkestra with the reconciler of the box proxy.
package main

import (
	"fmt"
	"os"

	"github.com/orkspace/orkestra/cmd/orkestra/app"
	"github.com/orkspace/orkestra/engine/hook"

	v1 "example.com/legacy/api/v1"
	"example.com/legacy/controllers"
)

func main() {
	code, err := registry()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	app.Main(app.Options{Code: code})
}

// registry has the functions that boxes may name.
func registry() (*hook.Registry, error) {
	r, err := hook.NewRegistry()
	if err != nil {
		return nil, err
	}
	if err := r.AddToScheme(v1.AddToScheme); err != nil {
		return nil, err
	}
	return r, hook.AddConstructor(r, "example.com/legacy/controllers.NewProxyReconciler", controllers.NewProxyReconciler)
}
