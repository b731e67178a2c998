package cycle

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/history"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// remembering gives a history that remembers.
func remembering(tb testing.TB) *history.History {
	tb.Helper()
	h := history.New(clock.RealClock{})
	ctx, cancel := context.WithCancel(tb.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = h.Start(ctx) }) // it ends with the test
	tb.Cleanup(func() { cancel(); running.Wait() })
	NewWithT(tb).Eventually(h.Since).ShouldNot(BeZero())
	return h
}

// TestWhatACycleDidIsRemembered: one that has nothing to do is not, and one that is gone is forgotten.
func TestWhatACycleDidIsRemembered(t *testing.T) {
	g := NewWithT(t)
	r, s, _ := living(t, v1alpha1.OperatorBoxSpec{}, nil)
	r.History = remembering(t)
	key := client.ObjectKeyFromObject(s.resource)
	r.Reconcile(patience(t), key)
	all := r.History.Cycles("website", key)
	g.Expect(all).To(HaveLen(1))
	first := all[0]
	g.Expect(first.Woken).To(Equal("the first look of this manager"))
	g.Expect(first.Action).To(Equal("Reconcile"))
	g.Expect(first.Why).NotTo(BeEmpty())
	g.Expect(first.Outcome).To(Equal(history.Success))
	g.Expect(first.Reason).To(Equal("ReconcileSucceeded"))
	g.Expect(first.Message).NotTo(BeEmpty())
	g.Expect(first.At).To(BeTemporally("~", time.Now(), time.Minute))
	g.Expect(first.Took).To(BeNumerically(">", 0))
	var names []string
	for _, one := range first.Stages {
		names = append(names, one.Name)
	}
	g.Expect(names[0]).To(Equal(stage.StepGather))
	g.Expect(names[len(names)-1]).To(Equal(stage.StepStatus))

	r.states.of(key, "u1").own.version = "" // the cache shows what was written
	r.Reconcile(patience(t), key)
	g.Expect(r.History.Cycles("website", key)).To(HaveLen(1), "nothing has changed")
	g.Expect(r.History.Cycles("website", key)[0].Times).To(Equal(1))

	gone := &cycle{Reconciler: r, record: &Record{Key: key, Plan: r.Plan()}}
	gone.forget()
	g.Expect(r.History.Cycles("website", key)).To(BeEmpty(), "the resource is gone")
}

// TestWhatIsRememberedOfAFailure: in the words of the status; where that could not be written, in those of the error.
func TestWhatIsRememberedOfAFailure(t *testing.T) {
	g := NewWithT(t)
	r, resource := serving(t, v1alpha1.OperatorBoxSpec{}, http.NotFound)
	r.History = remembering(t)
	c := of(t, r, resource, &state{})
	c.record.Run = c.record.Plan.NewRun(resource, c.record.Began, pipeline.Ports{})
	c.laps.kept = reporting{c}.remember()
	c.record.Run.Writes = []stage.Written{{Group: "apps", Kind: "Deployment", Name: "web", Action: apply.Created}, {Kind: "Secret", Name: "team-b/key", Action: apply.Corrected, Patch: true}}
	c.record.Status.Failure = pipeline.AsStepError(stage.Classify(stage.StepStatus, apierrors.NewConflict(schema.GroupResource{Resource: "websites"}, "shop", context.DeadlineExceeded)))
	c.record.Class = c.record.Status.Failure.Class
	reporting{c}.note()
	got := r.History.Cycles("website", c.record.Key)[0]
	g.Expect(got.Stage).To(Equal(stage.StepStatus))
	g.Expect(got.Outcome).To(Equal(string(c.record.Class)))
	g.Expect(got.Message).To(ContainSubstring("shop"))
	g.Expect(got.Writes).To(Equal([]history.Write{
		{Action: "created", Group: "apps", Kind: "Deployment", Namespace: "team-a", Name: "web"}, {Action: "corrected", Kind: "Secret", Namespace: "team-b", Name: "key", Patch: true},
	}))
}

// TestWhatHasWokenAResource: what differs from what the last cycle has read, else the time that has come.
func TestWhatHasWokenAResource(t *testing.T) {
	for name, tc := range map[string]struct {
		prepare func(c *cycle)
		want    string
	}{
		"never seen": {func(c *cycle) { c.st.last.at = time.Time{} }, "the first look of this manager"},
		"not known":  {func(c *cycle) { c.st.last.inputs = nil }, "a reconcile whose end is not known"},
		"a panic":    {func(c *cycle) { c.st.last.inputs, c.record.Decision.Action = nil, Retry }, "the time of the next try"},
		"its spec":   {func(c *cycle) { c.stored.SetGeneration(9) }, "a change of the resource"},
		"its label":  {func(c *cycle) { c.stored.SetLabels(map[string]string{"a": "b"}) }, "a change of the resource"},
		"deletion":   {func(c *cycle) { c.stored.SetDeletionTimestamp(new(metav1.Now())) }, "the deletion of the resource"},
		"the box":    {func(c *cycle) { c.Config.Plan = anew(c.Plan()) }, "a change of the box, of its limits, or of kinds that it uses"},
		"a time":     {func(c *cycle) { c.st.last.inputs.ExpireAt(c.record.Began) }, "the time that the last reconcile has named"},
		"a retry":    {func(c *cycle) { c.record.Decision.Action = Retry }, "the time of the next try"},
		"a right":    {func(c *cycle) { c.st.last.class = pipeline.Permission }, "a change of rights"},
		"a failure":  {func(c *cycle) { c.record.Decision.Action = RollBack }, "the failure before"},
		"nothing":    {func(*cycle) {}, "the time of the next look"},
		"selection":  {func(c *cycle) { c.leavingSince = c.record.Began }, "the end of its selection"},
	} {
		t.Run(name, func(t *testing.T) {
			r, resource := serving(t, v1alpha1.OperatorBoxSpec{}, http.NotFound)
			c := of(t, r, resource.DeepCopy(), &state{})
			run := c.record.Plan.NewRun(resource, c.record.Began, pipeline.Ports{})
			c.st.last = last{inputs: run.Inputs, at: c.record.Began}
			tc.prepare(c)
			NewWithT(t).Expect(reporting{c}.woken()).To(Equal(tc.want))
		})
	}
}

// anew gives a copy of a plan, as one that the box runs instead.
func anew(plan *pipeline.Plan) func() *pipeline.Plan {
	other := *plan
	return func() *pipeline.Plan { return &other }
}
