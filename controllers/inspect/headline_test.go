package inspect

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// A condition of somebody else that is not as conditions are hides none that is.
func TestOddConditionsBesideOurs(t *testing.T) {
	for name, odd := range map[string]any{
		"no time":         map[string]any{"type": "Odd", "status": "True", "lastTransitionTime": ""},
		"no status":       map[string]any{"type": "Odd", "status": int64(7)},
		"a list":          map[string]any{"type": "Odd", "status": "True", "reason": []any{"a"}},
		"a text for 1":    map[string]any{"type": "Odd", "status": "True", "observedGeneration": "1"},
		"a text":          "odd",
		"nothing":         nil,
		"a second, empty": map[string]any{},
	} {
		t.Run(name, func(t *testing.T) {
			live := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{
				odd, map[string]any{"type": "Ready", "status": "True", "reason": "ReconcileSucceeded", "observedGeneration": int64(2), "lastTransitionTime": "2026-01-01T00:00:00Z"}, odd,
			}}}}
			live.SetGeneration(2)
			r := &Resource{Kind: "Shop", Name: "a"}
			r.conditions(live)
			NewWithT(t).Expect(r.Headline()).To(Equal("Shop a is ready"))
		})
	}
}

// One line says what keeps a resource from being ready.
func TestHeadlines(t *testing.T) {
	condition := func(kind, status, reason, message string, generation int64) any {
		return map[string]any{"type": kind, "status": status, "reason": reason, "message": message, "observedGeneration": generation, "lastTransitionTime": "2026-01-01T00:00:00Z"}
	}
	for want, status := range map[string]any{
		"Shop a is not ready: Unseen: no manager has looked at it yet": nil,
		"Shop a is ready": map[string]any{"conditions": []any{condition("Ready", "True", "ReconcileSucceeded", "", 2)}},
		"Shop a is ready, but has not settled: WaitingForGate: x": map[string]any{"conditions": []any{
			condition("Ready", "True", "ReconcileSucceeded", "", 2), condition("Reconciling", "True", "WaitingForGate", "x", 2)}},
		"Shop a is not ready: TemplateError: boom": map[string]any{"conditions": []any{
			condition("Ready", "False", "ReconcileError", "boom", 2), condition("Stalled", "True", "TemplateError", "boom", 2)}},
		"Shop a is not ready: ReconcileError: no answer": map[string]any{"conditions": []any{
			condition("Ready", "False", "ReconcileError", "no answer", 2), condition("Stalled", "False", "NotStalled", "", 2)}},
		"Shop a is not ready: BoxDeleted: gone": map[string]any{"conditions": []any{condition("Ready", "Unknown", "BoxDeleted", "gone", 2)}},
		"Shop a is not ready: Outdated: its status is that of generation 1, and generation 2 is there": map[string]any{"conditions": []any{
			condition("Ready", "True", "ReconcileSucceeded", "", 1)}},
		"Shop a is not ready: Outdated: its status is that of generation 1, and generation 2 is there; before that: TemplateError: boom": map[string]any{"conditions": []any{
			condition("Ready", "False", "ReconcileError", "boom", 1), condition("Stalled", "True", "TemplateError", "boom", 1)}},
	} {
		t.Run(want, func(t *testing.T) {
			live := &unstructured.Unstructured{Object: map[string]any{"status": status}}
			live.SetGeneration(2)
			r := &Resource{Kind: "Shop", Name: "a"}
			r.conditions(live)
			g := NewWithT(t)
			g.Expect(r.Headline()).To(Equal(want))
			g.Expect(r.Failed).To(Equal(strings.Contains(want, "boom") || strings.Contains(want, "ReconcileError")), "whether its last reconcile has failed")
			g.Expect(r.Ready).To(Equal(strings.HasPrefix(want, "Shop a is ready")))
		})
	}
	for want, status := range map[string]any{
		`Shop a is not ready: Deleting: it is being deleted; the finalizers "orkestra.orkspace.io/cleanup", "example.com/hold" hold it`: map[string]any{"conditions": []any{
			condition("Ready", "True", "ReconcileSucceeded", "", 1)}},
		"Shop a is not ready: ReconcileError: onDelete: boom": map[string]any{"conditions": []any{condition("Ready", "False", "ReconcileError", "onDelete: boom", 2)}},
	} {
		t.Run(want, func(t *testing.T) {
			live := &unstructured.Unstructured{Object: map[string]any{"status": status}}
			live.SetGeneration(2)
			live.SetDeletionTimestamp(&metav1.Time{Time: now})
			live.SetFinalizers([]string{v1alpha1.Finalizer, "example.com/hold"})
			r := &Resource{Kind: "Shop", Name: "a"}
			r.conditions(live)
			NewWithT(t).Expect(r.Headline()).To(Equal(want))
		})
	}
	broken := &Resource{Kind: "Shop", Name: "a", Namespace: "b"}
	broken.conditions(&unstructured.Unstructured{Object: map[string]any{"status": "a word"}})
	NewWithT(t).Expect(broken.Headline()).To(Equal("Shop b/a is not ready: Unseen: no manager has looked at it yet"), "a status of another shape says nothing")
}
