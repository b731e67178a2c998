package engine

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/health"
)

// successor is a sub-controller of the same box as another, with another version of its CRD, or another CRD.
func successor(t *testing.T, former *box, crd types.UID) *box {
	t.Helper()
	plan := *former.plan.Load()
	plan.CRD.Kind.Version, plan.CRD.Resource.Version, plan.CRD.UID = "v2", "v2", crd
	// What CRDHealth shows is older than what the former one has counted since.
	b, err := newBox(former.engine, &plan, Options{Health: &v1alpha1.CRDHealthStatus{SuccessCount: 1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.queue.ShutDown)
	return b
}

// failedTwice is a box of which one resource has failed twice, and another has succeeded.
func failedTwice(t *testing.T, leads bool) *box {
	t.Helper()
	e, err := New(Config{REST: &rest.Config{Host: "https://127.0.0.1:1"}, Mapper: meta.NewDefaultRESTMapper(nil)})
	if err != nil {
		t.Fatal(err)
	}
	if leads {
		e.Lead()
	}
	b, resource := calling(t, e, "https://quota.example.com")
	failing := client.ObjectKeyFromObject(resource)
	for range 2 {
		b.tracker.Observe(health.Observation{Resource: failing, Counts: true, Failed: true, Step: "external", Message: "refused"})
	}
	b.tracker.Observe(health.Observation{Resource: types.NamespacedName{Name: "good"}, Ready: true, Counts: true, Revision: "website-0"})
	b.tracker.Observe(health.Observation{Resource: failing, Counts: true, Failed: true, Step: "external", Message: "refused"})
	return b
}

func TestAnotherVersionGoesOnWithHealthAndBackoff(t *testing.T) {
	g := NewWithT(t)
	former := failedTwice(t, true)
	next := successor(t, former, former.plan.Load().CRD.UID)
	next.inherit(former)
	want := former.tracker.Snapshot()
	for _, when := range []string{"before it leads", "when it takes over"} {
		s := next.tracker.Snapshot()
		g.Expect(s.FailureCount).To(BeEquivalentTo(3), when)
		g.Expect(s.SuccessCount).To(BeEquivalentTo(1), when)
		g.Expect(s.ConsecutiveFailures).To(BeEquivalentTo(1), when)
		g.Expect(s.GoodRevision).To(Equal("website-0"), when)
		g.Expect(s.Failing).To(HaveLen(1), when)
		g.Expect(s.Failing[0].ConsecutiveFailures).To(Equal(want.Failing[0].ConsecutiveFailures), when)
		g.Expect(s.Resources).To(Equal(want.Resources), when)
		next.tracker.Restore(*next.known.Load())
	}
}

func TestWhoInheritsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		leads bool
		crd   types.UID
	}{"a process that does not lead": {false, "crd"}, "the box of another CRD": {true, "new"}} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			former := failedTwice(t, c.leads)
			next := successor(t, former, c.crd)
			next.inherit(former)
			g.Expect(next.tracker.Snapshot().SuccessCount).To(BeEquivalentTo(1), "as CRDHealth says")
			g.Expect(next.tracker.Snapshot().FailureCount).To(BeZero())
		})
	}
}
