package cycle

import (
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/inventory"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/worker"
)

func TestWhichCyclesOnlyTimeAsksFor(t *testing.T) {
	now := time.Unix(1000, 0)
	cases := map[string]struct {
		state *state
		due   bool
	}{
		"no error":                      {&state{}, false},
		"transient, too early":          {&state{last: last{class: pipeline.Transient}, retry: retry{due: now.Add(1), pause: 1}}, false},
		"transient":                     {&state{last: last{class: pipeline.Transient}, retry: retry{due: now}}, true},
		"transient, a clock set back":   {&state{last: last{class: pipeline.Transient}, retry: retry{due: now.Add(time.Hour), pause: time.Second}}, true},
		"panic":                         {&state{last: last{class: pipeline.Panic}, retry: retry{due: now}}, true},
		"refused, just now":             {&state{last: last{class: pipeline.Refused, at: now.Add(-10 * time.Second)}}, false},
		"refused, a clock set back":     {&state{last: last{class: pipeline.Refused, at: now.Add(10 * time.Second)}}, true},
		"refused, a resync ago":         {&state{last: last{class: pipeline.Refused, at: now.Add(-time.Minute)}}, true},
		"permanent":                     {&state{last: last{class: pipeline.Permanent, at: now.Add(-time.Hour)}}, false},
		"a right that has been granted": {&state{last: last{class: pipeline.Permission, at: now.Add(-time.Hour)}}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			resource := &unstructured.Unstructured{Object: map[string]any{}}
			resource.SetName("web")
			resource.SetResourceVersion("1")
			plan := &pipeline.Plan{}
			plan.Runtime.Resync = time.Minute
			clk := testingclock.NewFakeClock(now)
			r := New(Config{Clock: clk, Inventory: inventory.New("website", func() *pipeline.Plan { return plan }, nil, nil, 0)})
			st := tc.state
			st.last.inputs, st.last.version = plan.NewRun(resource, now, pipeline.Ports{}).Inputs, "1"
			retries := func() bool {
				c := &cycle{Reconciler: r, stored: resource, st: st, record: &Record{Plan: plan, Began: now}}
				return Decide(c.gather(t.Context())).Action == Retry
			}
			g.Expect(retries()).To(Equal(tc.due))
			resource.SetGeneration(2)
			g.Expect(retries()).To(BeFalse(), "a change passes")
			st.last.inputs = nil
			g.Expect(retries()).To(Equal(tc.due), "a status that could not be written is no change")
			resource.SetResourceVersion("2")
			g.Expect(retries()).To(BeFalse())
		})
	}
}

// A box whose retries have sent all that they may has one wait that comes then, and does not ask its API server.
func TestARetryWithoutRoomIsQueuedAgain(t *testing.T) {
	g := NewWithT(t)
	asked := 0
	r, resource := serving(t, v1alpha1.OperatorBoxSpec{}, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusBadRequest)
	})
	resource.SetFinalizers(nil) // they are refused, too
	resource.SetAnnotations(nil)
	clk := testingclock.NewFakeClock(time.Unix(1000, 0))
	r.Retries, r.Clock = worker.NewRetries(&rest.Config{QPS: 1, Burst: 1}, clk), clk
	st := &state{uid: "u1"}
	retry := func() *Record {
		slot := worker.NewSlot(r.Slots)
		g.Expect(slot.Take(patience(t))).To(BeTrue())
		defer slot.Leave()
		c := &cycle{Reconciler: r, stored: resource, st: st, slot: slot, record: &Record{Key: client.ObjectKeyFromObject(resource), Plan: r.Plan(), Began: clk.Now()}}
		g.Expect(c.retry(patience(t))).To(BeTrue())
		return c.record
	}
	g.Expect(retry().Class).NotTo(BeEmpty())
	g.Expect(asked).To(BeNumerically(">=", 1))
	before := asked
	g.Expect(retry().Decision.Action).To(Equal(Skip))
	g.Expect(asked).To(Equal(before), "what was sent is charged, and nothing is left")
	g.Expect(r.Retries.AdmitNext()).To(ConsistOf(client.ObjectKeyFromObject(resource)), "it waits")
}

// What failed because the API server could not be reached is tried again soon after it is back, however long it was away. What the API server
// refuses waits longer each time.
func TestWhatDidNotReachTheAPIServerIsTriedAgainSoon(t *testing.T) {
	for name, tc := range map[string]struct {
		answer  http.HandlerFunc
		longest types.GomegaMatcher
	}{
		"the connection is lost": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, BeNumerically("<=", 5*time.Second)},
		"an error is answered":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, BeNumerically(">", time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r, resource := serving(t, v1alpha1.OperatorBoxSpec{RuntimeSpec: v1alpha1.RuntimeSpec{Resync: &metav1.Duration{Duration: 24 * time.Hour}}}, tc.answer)
			resource.SetFinalizers(nil) // so that it writes first of all
			resource.SetAnnotations(nil)
			st := &state{uid: "u1"}
			for range 20 {
				slot := worker.NewSlot(r.Slots)
				g.Expect(slot.Take(patience(t))).To(BeTrue())
				c := &cycle{Reconciler: r, stored: resource, st: st, slot: slot, record: &Record{
					Key: client.ObjectKeyFromObject(resource), Resource: resource, Plan: r.Plan(), Began: r.Clock.Now(), Decision: Decision{Action: Reconcile},
				}}
				g.Expect(c.execute(patience(t))).To(BeTrue())
				reporting{c}.report(patience(t))
				slot.Leave()
				g.Expect(st.last.class).To(Equal(pipeline.Transient))
			}
			g.Expect(st.retry.pause).To(tc.longest)
		})
	}
}

// What others have written over a status is put right once per resync, where the status is ours: that of objects of others, and that which code writes,
// changes without us.
func TestARewrittenResourceIsEvaluatedOncePerResync(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, tc := range map[string]struct {
		ago     time.Duration
		version string
		same    bool
	}{
		"nobody has written":         {time.Minute, "1", true},
		"somebody has, just now":     {time.Second, "3", true},
		"somebody has, a resync ago": {time.Minute, "3", false},
	} {
		t.Run(name, func(t *testing.T) {
			resource := &unstructured.Unstructured{Object: map[string]any{}}
			resource.SetName("web")
			resource.SetResourceVersion(tc.version)
			plan := &pipeline.Plan{}
			plan.Runtime.Resync = time.Minute
			r := New(Config{Clock: testingclock.NewFakeClock(now), Inventory: inventory.New("website", func() *pipeline.Plan { return plan }, nil, nil, 0)})
			st := &state{last: last{at: now.Add(-tc.ago), version: "1", inputs: plan.NewRun(resource, now, pipeline.Ports{}).Inputs}}
			c := &cycle{Reconciler: r, stored: resource, st: st, record: &Record{Plan: plan, Began: now}}
			g := NewWithT(t)
			g.Expect(c.gather(t.Context()).Unchanged).To(Equal(tc.same))
			plan.CRD.OfOthers = true
			g.Expect(c.gather(t.Context()).Unchanged).To(BeTrue(), "of others")
			st.own.version = tc.version
			g.Expect(st.rewritten(resource)).To(BeFalse(), "it is our own write")
		})
	}
}
