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
	list, _ := storedStatus(stored)[fieldConditions].([]any)
	for _, entry := range list {
		if isCondition(entry, kind) {
			return true
		}
	}
	return false
}
