package gitops_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// oddObjects are resources whose status is absent or has another shape: by another controller, or by a schema that lets it.
func oddObjects(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()
	out := map[string]*unstructured.Unstructured{}
	for name, status := range map[string]string{
		"no status":                   ``,
		"null":                        `"status": null`,
		"a number":                    `"status": 5`,
		"a text":                      `"status": "fine"`,
		"a list":                      `"status": ["fine"]`,
		"empty":                       `"status": {}`,
		"no conditions":               `"status": {"observedGeneration": 3}`,
		"neither of them":             `"status": {"phase": "New"}`,
		"conditions of another shape": `"status": {"observedGeneration": 3, "conditions": "Ready"}`,
		"conditions as a map":         `"status": {"observedGeneration": 3, "conditions": {"Ready": "True"}}`,
		"conditions that are no maps": `"status": {"observedGeneration": 3, "conditions": ["Ready", 5, null]}`,
		"a condition without a type":  `"status": {"observedGeneration": 3, "conditions": [{"status": "True"}]}`,
		"a type that is a number":     `"status": {"observedGeneration": 3, "conditions": [{"type": 5, "status": "True"}]}`,
		"a message that is a number":  `"status": {"observedGeneration": 3, "conditions": [{"type": "Ready", "status": "False", "message": 5}]}`,
		"a status that is a boolean":  `"status": {"observedGeneration": 3, "conditions": [{"type": "Ready", "status": true}]}`,
		"a generation that is a text": `"status": {"observedGeneration": "3", "conditions": [{"type": "Ready", "status": "True"}]}`,
	} {
		text := `{"apiVersion": "demo.example.com/v1", "kind": "Website", "metadata": {"name": "web", "namespace": "a", "generation": 3}`
		if status != "" {
			text += ", " + status
		}
		obj := &unstructured.Unstructured{}
		if err := obj.UnmarshalJSON([]byte(text + "}")); err != nil {
			t.Fatal(err)
		}
		out[name] = obj
	}
	return out
}
