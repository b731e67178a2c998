// Command orkestra runs the manager, and checks boxes without one.
package main

import "github.com/orkspace/orkestra/cmd/orkestra/app"

func main() { app.Main(app.Options{}) }
