package value

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
)

// TestSize compares with what is encoded.
func TestSize(t *testing.T) {
	for name, v := range map[string]any{
		"nothing": nil, "true": true, "false": false, "text": "abc", "empty text": "", "a number": int64(-1234567), "a float": 1.5, "zero": int64(0),
		"a list": []any{"a", int64(1), nil}, "an empty list": []any{}, "an empty map": map[string]any{},
		"an object": map[string]any{"metadata": map[string]any{"name": "a", "labels": map[string]any{"a": "b", "c": "d"}}, "spec": []any{map[string]any{"x": false}}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			encoded, err := json.Marshal(v)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(Size(v)).To(BeEquivalentTo(len(encoded)))
		})
	}
	NewWithT(t).Expect(Size(make(chan int))).To(BeZero())
	v := map[string]any{"a": []any{int64(1), "b", 2.5, true, nil}}
	NewWithT(t).Expect(testing.AllocsPerRun(10, func() { Size(v) })).To(BeZero())
}
