package status

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Conditions reads those of a stored resource: an entry that is no object is left out, and a field of another type than metav1.Condition
// has counts as empty. So one that is not as it should be hides no other. There are none where status.conditions is no list.
func Conditions(stored *unstructured.Unstructured) []metav1.Condition {
	list, _ := storedStatus(stored)[fieldConditions].([]any)
	out := make([]metav1.Condition, 0, len(list))
	for _, entry := range list {
		if fields, ok := entry.(map[string]any); ok {
			out = append(out, read(fields))
		}
	}
	return out
}

func read(fields map[string]any) metav1.Condition {
	text := func(key string) string {
		s, _ := fields[key].(string) // another type is as good as none
		return s
	}
	c := metav1.Condition{Type: text(fieldType), Status: metav1.ConditionStatus(text(fieldStatus)), Reason: text("reason"), Message: text("message")}
	if at, err := time.Parse(time.RFC3339, text(fieldTransition)); err == nil {
		c.LastTransitionTime = metav1.Time{Time: at}
	}
	switch n := fields[fieldObservedGeneration].(type) {
	case int64:
		c.ObservedGeneration = n
	case json.Number:
		c.ObservedGeneration, _ = n.Int64() // no number is 0
	default:
	}
	return c
}
