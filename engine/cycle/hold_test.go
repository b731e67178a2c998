package cycle

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/rollback"
)

// A resource that is held at an earlier spec is let go by another spec, another box, or another value of the annotation reconcile-at, and by nothing
// else.
func TestWhatEndsTheHoldOfARollback(t *testing.T) {
	annotate := func(resource *unstructured.Unstructured, name, value string) {
		annotations := resource.GetAnnotations()
		annotations[name] = value
		resource.SetAnnotations(annotations)
	}
	for name, tc := range map[string]struct {
		change func(mark *rollback.Mark, resource *unstructured.Unstructured)
		want   Action
	}{
		"nothing":            {func(*rollback.Mark, *unstructured.Unstructured) {}, KeepRolledBack},
		"another annotation": {func(_ *rollback.Mark, r *unstructured.Unstructured) { annotate(r, "example.com/note", "x") }, KeepRolledBack},
		"another version":    {func(_ *rollback.Mark, r *unstructured.Unstructured) { r.SetResourceVersion("8") }, KeepRolledBack},
		"another spec":       {func(_ *rollback.Mark, r *unstructured.Unstructured) { r.SetGeneration(3) }, Reconcile},
		"a former spec":      {func(_ *rollback.Mark, r *unstructured.Unstructured) { r.SetGeneration(1) }, Reconcile},
		"another box":        {func(m *rollback.Mark, _ *unstructured.Unstructured) { m.Revision = "website-other" }, Reconcile},
		"reconcile-at": {func(_ *rollback.Mark, r *unstructured.Unstructured) {
			annotate(r, v1alpha1.AnnotationReconcileAt, "now")
		}, Reconcile},
		"reconcile-at that was there": {func(m *rollback.Mark, r *unstructured.Unstructured) {
			m.ReconcileAt = "then"
			annotate(r, v1alpha1.AnnotationReconcileAt, "then")
		}, KeepRolledBack},
		"reconcile-at that is taken off": {func(m *rollback.Mark, _ *unstructured.Unstructured) { m.ReconcileAt = "then" }, Reconcile},
		"no hold, and its time has come": {func(m *rollback.Mark, _ *unstructured.Unstructured) { m.Held = false }, Reconcile},
		"no hold, before its time":       {func(m *rollback.Mark, _ *unstructured.Unstructured) { m.Held, m.Since = false, metav1.Now() }, KeepRolledBack},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r, resource := serving(t, v1alpha1.OperatorBoxSpec{Rollback: &v1alpha1.RollbackSpec{}}, func(http.ResponseWriter, *http.Request) { t.Error("nothing is asked") })
			resource.SetGeneration(2)
			mark := &rollback.Mark{Generation: 2, Revision: r.Plan().Revision, Snapshot: "s", ToGeneration: 1, ToRevision: r.Plan().Revision,
				Held: true, Since: metav1.NewTime(time.Now().Add(-24 * time.Hour)), Count: 1}
			mark.Class = pipeline.Refused
			tc.change(mark, resource)
			text, err := json.Marshal(mark)
			g.Expect(err).NotTo(HaveOccurred())
			annotate(resource, v1alpha1.AnnotationRolledBack, string(text))
			decision := Decide(of(t, r, resource, &state{}).gather(t.Context()))
			g.Expect(decision.Action).To(Equal(tc.want), decision.Why)
		})
	}
}
