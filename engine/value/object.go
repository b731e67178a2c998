package value

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Annotation reads one annotation of an object; empty where there is none. GetAnnotations copies all of them, and a cycle asks many times.
func Annotation(obj *unstructured.Unstructured, name string) string {
	return mark(obj, "annotations", name)
}

// Label reads one label of an object; empty where there is none.
func Label(obj *unstructured.Unstructured, name string) string { return mark(obj, "labels", name) }

func mark(obj *unstructured.Unstructured, of, name string) string {
	metadata, _ := obj.Object["metadata"].(map[string]any)
	all, _ := metadata[of].(map[string]any)
	text, _ := all[name].(string)
	return text
}

// Conditions reads those of a resource's status: an entry that is no object is left out, and a field of another type than metav1.Condition
// has counts as empty. So one that is not as it should be hides no other. There are none where status.conditions is no list.
func Conditions(stored *unstructured.Unstructured) []metav1.Condition {
	status, _ := stored.Object["status"].(map[string]any)
	list, _ := status["conditions"].([]any)
	out := make([]metav1.Condition, 0, len(list))
	for _, entry := range list {
		if fields, ok := entry.(map[string]any); ok {
			out = append(out, conditionOf(fields))
		}
	}
	return out
}

// SeenGeneration is the generation that a condition of an object is about, or its status where the condition names none: reconcilers of others may
// write one of them alone. 0: neither does, or has another type. A nil condition names none.
func SeenGeneration(obj *unstructured.Unstructured, c *metav1.Condition) int64 {
	if c != nil && c.ObservedGeneration != 0 {
		return c.ObservedGeneration
	}
	seen, _, _ := unstructured.NestedInt64(obj.Object, "status", "observedGeneration") // another type is as good as none
	return seen
}

func conditionOf(fields map[string]any) metav1.Condition {
	text := func(key string) string {
		s, _ := fields[key].(string) // another type is as good as none
		return s
	}
	c := metav1.Condition{Type: text("type"), Status: metav1.ConditionStatus(text("status")), Reason: text("reason"), Message: text("message")}
	if at, err := time.Parse(time.RFC3339, text("lastTransitionTime")); err == nil {
		c.LastTransitionTime = metav1.Time{Time: at}
	}
	switch n := fields["observedGeneration"].(type) {
	case int64:
		c.ObservedGeneration = n
	case json.Number:
		c.ObservedGeneration, _ = n.Int64() // no number is 0
	default:
	}
	return c
}
