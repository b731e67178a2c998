package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// RolledBack is the condition that says whether the children are those of an earlier spec. Only boxes with rollback show it.
func RolledBack(s metav1.ConditionStatus, reason, message string) Own {
	return Own{Condition: condition(v1alpha1.ConditionRolledBack, s, reason, message)}
}

// HasCondition says whether a resource shows a condition of that type.
func HasCondition(stored *unstructured.Unstructured, kind string) bool {
	return ConditionOf(stored, kind) != nil
}

// IsTrue says whether a resource shows a condition of that type whose status is True.
func IsTrue(stored *unstructured.Unstructured, kind string) bool {
	return ConditionOf(stored, kind)["status"] == string(metav1.ConditionTrue)
}

// ConditionOf gives a condition as it is stored; nil where there is none.
func ConditionOf(stored *unstructured.Unstructured, kind string) map[string]any {
	list, _ := storedStatus(stored)[fieldConditions].([]any)
	for _, entry := range list {
		if m, ok := entry.(map[string]any); ok && m[fieldType] == kind {
			return m
		}
	}
	return nil
}
