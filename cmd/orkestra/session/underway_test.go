package session

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/overview"
	shared "github.com/orkspace/orkestra/test/fixtures"
)

// ready is a condition Ready.
func ready(status, message string, generation int64) map[string]any {
	return map[string]any{"type": "Ready", "status": status, "reason": "A", "message": message, "observedGeneration": generation, "lastTransitionTime": "2026-01-01T00:00:00Z"}
}

// healthOf gives the box "shops" a health.
func healthOf(status map[string]any) func(*shared.APIServer) {
	return func(s *shared.APIServer) {
		s.Objects = append(s.Objects, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": v1alpha1.GroupVersion.String(), "kind": "CRDHealth", "metadata": map[string]any{"name": "shops"}, "status": status,
		}})
	}
}

// overdue has the health of the box list resources of the namespace default whose reconciles do not end.
func overdue(names ...string) func(*shared.APIServer) {
	var all []any
	for _, name := range names {
		all = append(all, map[string]any{"namespace": "default", "name": name})
	}
	return healthOf(map[string]any{"overdue": all})
}

// takenUp marks the resource as a manager does at the beginning of a reconcile, and gives it a status.
func takenUp(since string, conditions ...any) func(*shared.APIServer) {
	return func(s *shared.APIServer) {
		shop := find(s, "Shop")
		shop.SetAnnotations(map[string]string{v1alpha1.AnnotationManagedBy: "shops", v1alpha1.AnnotationManagedSince: since})
		shop.Object["status"] = map[string]any{"conditions": conditions}
	}
}

// A reconcile that has not ended has written marks, and no status. What is known of it is said.
func TestAReconcileThatHasNotEnded(t *testing.T) {
	const (
		since = "2026-01-02T03:03:22Z"
		first = "a manager has taken it up at 2026-01-02T03:03:22Z, 43s ago, and its first reconcile has not ended"
		why   = "a reconcile of it is past its deadline and does not end: what runs in it does not heed its context"
	)
	for name, tc := range map[string]struct {
		change []func(*shared.APIServer)
		want   string
		notes  []string
		goes   bool // a reconcile is under way
	}{
		"nobody has begun": {[]func(*shared.APIServer){func(s *shared.APIServer) {
			find(s, "Shop").SetAnnotations(nil)
			delete(find(s, "Shop").Object, "status")
		}}, "is not ready: Unseen: no manager has looked at it yet", nil, false},
		"another box had it": {[]func(*shared.APIServer){takenUp(since), func(s *shared.APIServer) {
			find(s, "Shop").SetAnnotations(map[string]string{v1alpha1.AnnotationManagedBy: "other"})
		}}, "is not ready: Unseen: no manager has looked at it yet", nil, false},
		"its first":                       {[]func(*shared.APIServer){takenUp(since)}, "is not ready: FirstReconcile: " + first, nil, true},
		"its first, since when":           {[]func(*shared.APIServer){takenUp("long ago")}, "is not ready: FirstReconcile: a manager has taken it up, and its first reconcile has not ended", nil, true},
		"its first, of many":              {[]func(*shared.APIServer){takenUp(since), overdue("flowers2")}, "is not ready: FirstReconcile: " + first, nil, true},
		"its first, overdue":              {[]func(*shared.APIServer){takenUp(since), overdue("a", "flowers")}, "is not ready: Overdue: " + why + "; " + first, nil, true},
		"a later one of a ready resource": {[]func(*shared.APIServer){takenUp(since, ready("True", "", 2)), overdue("a", "flowers")}, "is ready", []string{"Its status is of the time before: " + why}, false},
		"one of a later generation": {[]func(*shared.APIServer){takenUp(since, ready("True", "", 1)), overdue("a", "flowers")},
			"is not ready: Overdue: " + why + "; before that: Outdated: its status is that of generation 1, and generation 2 is there", nil, true},
		"a failure that no status shows": {[]func(*shared.APIServer){takenUp(since), healthOf(map[string]any{"failing": []any{
			map[string]any{"namespace": "other", "name": "flowers", "reason": "A", "step": "a", "message": "another"},
			map[string]any{"namespace": "default", "name": "flowers", "reason": "ReconcileError", "step": "status", "message": "boom"},
		}})}, "is not ready: ReconcileError: status: boom", nil, false},
		"a failure that came after the status": {[]func(*shared.APIServer){takenUp(since, ready("True", "", 1)), healthOf(map[string]any{"failing": []any{
			map[string]any{"namespace": "default", "name": "flowers", "reason": "TemplateError", "step": "status", "message": "boom"},
		}})}, "is not ready: TemplateError: status: boom", []string{"Its own status is older: its status is that of generation 1, and generation 2 is there"}, false},
		"a failure that the status has": {[]func(*shared.APIServer){takenUp(since, ready("False", "status: boom", 1)), healthOf(map[string]any{"failing": []any{
			map[string]any{"namespace": "default", "name": "flowers", "reason": "TemplateError", "step": "status", "message": "boom"},
		}})}, "is not ready: Outdated: its status is that of generation 1, and generation 2 is there; before that: A: status: boom", nil, false},
		"a status that has no conditions": {[]func(*shared.APIServer){takenUp(since), func(s *shared.APIServer) {
			find(s, "OperatorBox").Object["status"].(map[string]any)["conditions"] = []any{map[string]any{"type": v1alpha1.ConditionStatusWritable, "status": "False", "reason": "StatusFieldsUnknown",
				"message": "the schema does not know them", "lastTransitionTime": "2026-01-01T00:00:00Z"}}
		}}, "is not ready: Unseen: its status has no condition Ready: the schema does not know them", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			i := inspector(t, append(tc.change, func(s *shared.APIServer) { // the reconcile would make it
				s.Objects = slices.DeleteFunc(s.Objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Deployment" })
			})...)
			target, err := i.Resolve("shop", "flowers")
			g.Expect(err).NotTo(HaveOccurred())
			r, err := i.Resource(t.Context(), target)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(r.Headline()).To(Equal("Shop default/flowers " + tc.want))
			g.Expect(r.Unknown).To(BeFalse())
			if tc.notes == nil {
				g.Expect(r.Notes).To(BeEmpty())
			} else {
				g.Expect(r.Notes).To(Equal(tc.notes))
			}
			missing := `nothing keeps it from being made, and there is no Deployment "flowers"`
			if tc.goes {
				missing = `the reconcile that is to make it has not ended, and there is no Deployment "flowers"`
			}
			g.Expect(r.Declarations).To(ContainElement(And(HaveField("State", overview.StateMissing), HaveField("Reason", missing))))
		})
	}
}

// The health of a box is asked for once, however many resources it has.
func TestAHealthIsReadOnce(t *testing.T) {
	g := NewWithT(t)
	asked := 0
	i := inspector(t, takenUp("2026-01-02T03:03:22Z"), overdue("a", "flowers"), func(s *shared.APIServer) {
		s.Refuse = func(path string) int {
			if path == "/apis/orkestra.orkspace.io/v1alpha1/crdhealths/shops" {
				asked++
			}
			return 0
		}
	})
	boxes, err := i.Boxes()
	g.Expect(err).NotTo(HaveOccurred())
	for range 2 {
		_, err = i.Resources(t.Context(), &boxes[0], "")
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(asked).To(Equal(1))
}
