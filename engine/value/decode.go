package value

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Decode decodes JSON with whole numbers as int64, as Kubernetes does.
func Decode(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("decoding JSON: %w", err)
	}
	return numbers(v), nil
}

func numbers(v any) any {
	switch t := v.(type) {
	case map[string]any:
		for k := range t {
			t[k] = numbers(t[k])
		}
	case []any:
		for i := range t {
			t[i] = numbers(t[i])
		}
	case json.Number:
		if n, ok := Number(t); ok {
			return n
		}
		return t.String()
	}
	return v
}
