package web

import (
	"net/http"

	"github.com/orkspace/orkestra/engine/web/api"
)

// openAPI serves the description of the API.
func openAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(api.OpenAPI) // the browser may have gone
}
