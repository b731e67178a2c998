package docs_test

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/orkspace/orkestra/controllers/input"
)

// TestBoxesFitTheSchema checks that an editor with the schema of boxes finds nothing wrong with any box in the pages that is valid.
func TestBoxesFitTheSchema(t *testing.T) {
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(read(t, "docs/reference/operatorbox.schema.json")), &s); err != nil {
		t.Fatal(err)
	}
	accepts, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, page := range pages(t) {
		for _, f := range fences(t, page) {
			box, _, ok := f.documents(t)
			if !ok || f.invalid != "" {
				continue
			}
			for _, doc := range input.Parse(f.String(), []byte(box)) {
				if doc.Kind() != "OperatorBox" {
					continue
				}
				seen++
				if err := accepts.Validate(doc.Content); err != nil {
					t.Errorf("%s: %v", f, err)
				}
			}
		}
	}
	if seen < 50 {
		t.Errorf("found only %d boxes in the pages", seen)
	}
}
