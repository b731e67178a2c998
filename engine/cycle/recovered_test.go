package cycle

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// A process that ends between writing the status of a resource and that of CRDHealth leaves the two at odds.
func TestASuccessThatCRDHealthMissedCounts(t *testing.T) {
	for name, tc := range map[string]struct {
		resource string
		ready    metav1.ConditionStatus
		repeats  bool
	}{
		"listed, and Ready":           {"listed", metav1.ConditionTrue, false},
		"listed, and still failing":   {"listed", metav1.ConditionFalse, true},
		"not listed, and Ready":       {"other", metav1.ConditionTrue, true},
		"not listed, and failing":     {"other", metav1.ConditionFalse, true},
		"listed, and nothing is said": {"listed", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			known := v1alpha1.CRDHealthStatus{Revision: "r", Failing: []v1alpha1.FailingResource{
				{ResourceReference: v1alpha1.ResourceReference{Namespace: "ns", Name: "listed"}, ConsecutiveFailures: 2},
			}}
			plan := &pipeline.Plan{}
			plan.Revision = "r"
			r := New(Config{Tracker: health.NewTracker(clock.RealClock{}, 5, nil), Known: func() *v1alpha1.CRDHealthStatus { return &known }})
			r.Tracker.Restore(known)
			g.Expect(r.Tracker.Fails(types.NamespacedName{Namespace: "ns", Name: "listed"})).To(BeTrue())

			stored := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{
				"observedGeneration": int64(1),
				"conditions":         []any{map[string]any{"type": v1alpha1.ConditionReady, "status": string(tc.ready)}},
			}}}
			stored.SetNamespace("ns")
			stored.SetName(tc.resource)
			stored.SetGeneration(1)
			c := &cycle{Reconciler: r, stored: stored, st: &state{}, record: &Record{Key: client.ObjectKeyFromObject(stored), Plan: plan}}
			g.Expect(c.repeats()).To(Equal(tc.repeats))
		})
	}
}

// TestWhatAFormerProcessFoundIsReadWithItsReason: where no status shows it, CRDHealth does.
func TestWhatAFormerProcessFoundIsReadWithItsReason(t *testing.T) {
	for reason, tc := range map[string]struct {
		step, want, message string
	}{
		v1alpha1.ReasonChildFailed:   {"", v1alpha1.ReasonChildFailed, "no room"},
		v1alpha1.ReasonTemplateError: {"onReconcile", v1alpha1.ReasonReconcileError, "onReconcile: no room"}, // Ready has that one, and Stalled the other
		"":                           {"", v1alpha1.ReasonReconcileError, "no room"},                         // of a version that wrote none
	} {
		g := NewWithT(t)
		known := &v1alpha1.CRDHealthStatus{Failing: []v1alpha1.FailingResource{
			{ResourceReference: v1alpha1.ResourceReference{Namespace: "ns", Name: "listed"}, Reason: reason, Step: tc.step, Message: "no room"},
		}}
		stored := &unstructured.Unstructured{Object: map[string]any{}}
		stored.SetNamespace("ns")
		stored.SetName("listed")
		c := &cycle{
			Reconciler: New(Config{Known: func() *v1alpha1.CRDHealthStatus { return known }}), st: &state{}, record: &Record{Key: client.ObjectKeyFromObject(stored), Plan: &pipeline.Plan{}},
		}
		was := c.readyBefore(stored)
		g.Expect(was).To(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", tc.want), HaveField("Message", tc.message)))
	}
}
