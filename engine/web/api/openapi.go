package api

import _ "embed"

// OpenAPI describes the API (OpenAPI 3.1). It is generated of the types.
//
//go:embed openapi.json
var OpenAPI []byte
