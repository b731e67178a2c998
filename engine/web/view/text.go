package view

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// maxYAML is how much of one object is shown, in bytes.
const maxYAML = 256 << 10

// YAML is an object without its managed fields. What a Secret holds is masked, and what goes beyond 256 KiB is cut off with a line that says so.
func YAML(object *unstructured.Unstructured) string {
	shown := object.DeepCopy()
	shown.SetManagedFields(nil)
	mask(shown)
	text, err := yaml.Marshal(shown.Object)
	if err != nil { // a control character, which JSON writes in another way; JSON is YAML, too
		text, err = json.MarshalIndent(shown.Object, "", "  ")
	}
	if err != nil {
		return fmt.Sprintf("# this object can't be written as YAML: %v\n", err)
	}
	if len(text) > maxYAML {
		return fmt.Sprintf("%s\n# %d bytes more are not shown\n", text[:maxYAML], len(text)-maxYAML)
	}
	return string(text)
}

// mask replaces what a Secret holds by its size.
func mask(object *unstructured.Unstructured) {
	annotations := object.GetAnnotations()
	if _, copied := annotations[corev1.LastAppliedConfigAnnotation]; copied { // of the whole object, also of a Secret
		delete(annotations, corev1.LastAppliedConfigAnnotation)
		object.SetAnnotations(annotations)
	}
	if kind := object.GroupVersionKind(); kind.Group != "" || kind.Kind != "Secret" {
		return
	}
	for _, field := range []string{"data", "stringData"} {
		values, isObject := object.Object[field].(map[string]any)
		if !isObject {
			delete(object.Object, field)
			continue
		}
		for key, value := range values {
			text, _ := value.(string) // another type is as good as none
			size := len(text)
			if decoded, err := base64.StdEncoding.DecodeString(text); err == nil && field == "data" {
				size = len(decoded)
			}
			values[key] = fmt.Sprintf("*** (%d bytes)", size)
		}
	}
}
