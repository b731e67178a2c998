// Command orkestra-providers is orkestra with the providers aws and mongodb: a binary of its own, since their SDKs make it larger.
package main

import (
	"errors"

	"github.com/orkspace/orkestra/cmd/orkestra/app"
	"github.com/orkspace/orkestra/engine/provider"
	"github.com/orkspace/orkestra/engine/provider/aws"
	"github.com/orkspace/orkestra/engine/provider/mongodb"
)

func main() { app.Main(app.Options{Providers: registered()}) }

func registered() *provider.Registry {
	registry := provider.NewRegistry()
	if err := errors.Join(registry.Add(aws.Name, aws.New()), registry.Add(mongodb.Name, mongodb.New())); err != nil {
		panic(err) // a mistake of this program
	}
	return registry
}
