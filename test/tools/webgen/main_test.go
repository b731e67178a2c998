package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

const source = `package api

import "time"

// Word is how it fares.
type Word string

// The words.
const (
	Good Word = "Good" // well
	Bad  Word = "Bad"
)

// Base is below.
type Base struct {
	// Name of it.
	Name string ` + "`json:\"name\"`" + `
}

// Things is the answer to GET /api/v1/boxes/{box}/things: a page.
//
// Parameters: state, reason (exact), offset, limit (1 to 5; 2).
type Things struct {
	Base

	// Word of it, and since when.
	Word  Word       ` + "`json:\"word\"`" + `
	Since *time.Time ` + "`json:\"since,omitempty\"`" + `
	// Counts of it.
	Counts []int32 ` + "`json:\"counts\"`" + `
	// Share of it.
	Share float64 ` + "`json:\"share\"`" + `
}

// Change is what the stream GET /api/v1/stream tells: news.
type Change struct{}

// Made is the answer to POST /api/v1/boxes/{box}/things, and to POST /api/v1/things/{name}: it is there. Body: Base.
type Made struct{}

// Problem is wrong.
type Problem struct{}
`

const wantScript = `// make generate writes this file from engine/web/api.

/** Word is how it fares. */
export type Word = "Good" | "Bad";

/** Base is below. */
export interface Base {
  /** Name of it. */
  name: string;
}

/** Things is the answer to GET /api/v1/boxes/{box}/things: a page. Parameters: state, reason (exact), offset, limit (1 to 5; 2). */
export interface Things extends Base {
  /** Word of it, and since when. */
  word: Word;
  /** Word of it, and since when. */
  since?: string;
  /** Counts of it. */
  counts: number[];
  /** Share of it. */
  share: number;
}

/** Change is what the stream GET /api/v1/stream tells: news. */
export interface Change {
}

/** Made is the answer to POST /api/v1/boxes/{box}/things, and to POST /api/v1/things/{name}: it is there. Body: Base. */
export interface Made {
}

/** Problem is wrong. */
export interface Problem {
}
`

const wantDocument = `{
  "components": {
    "schemas": {
      "Base": {
        "description": "Base is below.",
        "properties": {"name": {"description": "Name of it.", "type": "string"}},
        "required": ["name"],
        "type": "object"
      },
      "Change": {"description": "Change is what the stream GET /api/v1/stream tells: news.", "properties": {}, "type": "object"},
      "Made": {"description": "Made is the answer to POST /api/v1/boxes/{box}/things, and to POST /api/v1/things/{name}: it is there. Body: Base.", "properties": {}, "type": "object"},
      "Problem": {"description": "Problem is wrong.", "properties": {}, "type": "object"},
      "Things": {
        "allOf": [{"$ref": "#/components/schemas/Base"}],
        "description": "Things is the answer to GET /api/v1/boxes/{box}/things: a page. Parameters: state, reason (exact), offset, limit (1 to 5; 2).",
        "properties": {
          "counts": {"description": "Counts of it.", "items": {"type": "integer"}, "type": "array"},
          "share": {"description": "Share of it.", "type": "number"},
          "since": {"description": "Word of it, and since when.", "format": "date-time", "type": "string"},
          "word": {"$ref": "#/components/schemas/Word", "description": "Word of it, and since when."}
        },
        "required": ["word", "counts", "share"],
        "type": "object"
      },
      "Word": {"description": "Word is how it fares.", "enum": ["Good", "Bad"], "type": "string"}
    }
  },
  "info": {"title": "Control Center of Orkestra", "version": "v1"},
  "openapi": "3.1.0",
  "paths": {
    "/api/v1/boxes/{box}/things": {
      "get": {
        "operationId": "Things",
        "parameters": [
          {"in": "path", "name": "box", "required": true, "schema": {"type": "string"}},
          {"description": "exact", "in": "query", "name": "state", "schema": {"type": "string"}},
          {"description": "exact", "in": "query", "name": "reason", "schema": {"type": "string"}},
          {"in": "query", "name": "offset", "schema": {"type": "integer"}},
          {"description": "1 to 5; 2", "in": "query", "name": "limit", "schema": {"type": "integer"}}
        ],
        "responses": {
          "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Things"}}}, "description": "The answer."},
          "default": {"content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}, "description": "What is wrong."}
        },
        "summary": "Things is the answer to GET /api/v1/boxes/{box}/things: a page."
      },
      "post": {
        "operationId": "postBoxesThings",
        "parameters": [{"in": "path", "name": "box", "required": true, "schema": {"type": "string"}}],
        "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Base"}}}, "required": true},
        "responses": {
          "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Made"}}}, "description": "The answer."},
          "default": {"content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}, "description": "What is wrong."}
        },
        "summary": "Made is the answer to POST /api/v1/boxes/{box}/things, and to POST /api/v1/things/{name}: it is there. Body: Base."
      }
    },
    "/api/v1/stream": {
      "get": {
        "operationId": "Change",
        "parameters": [],
        "responses": {
          "200": {"content": {"text/event-stream": {"schema": {"$ref": "#/components/schemas/Change"}}}, "description": "The answer."},
          "default": {"content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}, "description": "What is wrong."}
        },
        "summary": "Change is what the stream GET /api/v1/stream tells: news."
      }
    },
    "/api/v1/things/{name}": {
      "post": {
        "operationId": "postThings",
        "parameters": [{"in": "path", "name": "name", "required": true, "schema": {"type": "string"}}],
        "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Base"}}}, "required": true},
        "responses": {
          "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Made"}}}, "description": "The answer."},
          "default": {"content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}, "description": "What is wrong."}
        },
        "summary": "Made is the answer to POST /api/v1/boxes/{box}/things, and to POST /api/v1/things/{name}: it is there. Body: Base."
      }
    }
  }
}`

func TestWritesBothFiles(t *testing.T) {
	folder := t.TempDir()
	put(t, filepath.Join(folder, "types.go"), source)
	document, script := filepath.Join(folder, "openapi.json"), filepath.Join(folder, "api.ts")
	if err := run(folder, document, script); err != nil {
		t.Fatal(err)
	}
	if got := get(t, script); got != wantScript {
		t.Errorf("TypeScript is\n%s\nwant\n%s", got, wantScript)
	}
	if got, want := compact(t, get(t, document)), compact(t, wantDocument); got != want {
		t.Errorf("OpenAPI is\n%s\nwant\n%s", got, want)
	}
}

func TestRefusesWhatItCanNotSay(t *testing.T) {
	for name, text := range map[string]string{
		"a type without a comment":    "package api\n\ntype A struct{}\n",
		"a field without a tag":       "package api\n\n// A is one.\ntype A struct {\n\t// B of it.\n\tB string\n}\n",
		"a type that JSON has not":    "package api\n\n// A is one.\ntype A struct {\n\t// B of it.\n\tB chan int `json:\"b\"`\n}\n",
		"an embedded type of others":  "package api\n\n// A is one.\ntype A struct {\n\ttime.Time\n}\n",
		"a folder without a Go file":  "",
		"a type that is no structure": "package api\n\n// A is one.\ntype A map[string]string\n",
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			if text != "" {
				put(t, filepath.Join(folder, "types.go"), text)
			}
			if err := run(folder, filepath.Join(folder, "o.json"), filepath.Join(folder, "a.ts")); err == nil {
				t.Error("there is no error")
			}
		})
	}
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func compact(t *testing.T, text string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
