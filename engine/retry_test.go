package engine

import (
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/cycle"
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
		"transient, too early":          {&state{class: pipeline.Transient, due: now.Add(1), pause: 1}, false},
		"transient":                     {&state{class: pipeline.Transient, due: now}, true},
		"transient, a clock set back":   {&state{class: pipeline.Transient, due: now.Add(time.Hour), pause: time.Second}, true},
		"panic":                         {&state{class: pipeline.Panic, due: now}, true},
		"refused, just now":             {&state{class: pipeline.Refused, looked: now.Add(-10 * time.Second)}, false},
		"refused, a clock set back":     {&state{class: pipeline.Refused, looked: now.Add(10 * time.Second)}, true},
		"refused, a resync ago":         {&state{class: pipeline.Refused, looked: now.Add(-time.Minute)}, true},
		"permanent":                     {&state{class: pipeline.Permanent, looked: now.Add(-time.Hour)}, false},
		"a right that has been granted": {&state{class: pipeline.Permission, looked: now.Add(-time.Hour)}, false},
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
			b := &box{engine: &Engine{config: Config{Clock: clk}}}
			st := tc.state
			st.inputs = plan.NewRun(resource, now, pipeline.Ports{}).Inputs
			retries := func() bool {
				return cycle.Decide(b.gather(t.Context(), plan, resource, st)).Action == cycle.Retry
			}
			g.Expect(retries()).To(Equal(tc.due))
			resource.SetGeneration(2)
			g.Expect(retries()).To(BeFalse(), "a change passes")
			st.inputs, st.version = nil, "1"
			g.Expect(retries()).To(Equal(tc.due), "a status that could not be written is no change")
			resource.SetResourceVersion("2")
			g.Expect(retries()).To(BeFalse())
		})
	}
}

// owing is a box whose retries have sent all that they may but for one request, and a resource of it. Its API server refuses to write
// anything; it is told how often it was asked to.
func owing(t *testing.T) (b *box, resource *unstructured.Unstructured, st *state, asked *int) {
	t.Helper()
	asked = new(int)
	e, _ := asking(t, func(w http.ResponseWriter, _ *http.Request) {
		*asked++
		w.WriteHeader(http.StatusBadRequest)
	})
	clk := testingclock.NewFakeClock(time.Unix(1000, 0))
	e.config.Clock = clk
	b = serving(t, e, v1alpha1.OperatorBoxSpec{})
	b.retries = worker.NewRetries(&rest.Config{QPS: 1, Burst: 1}, clk)
	b.queue.Open()
	resource = &unstructured.Unstructured{}
	resource.SetGroupVersionKind(b.plan.Load().CRD.Kind)
	resource.SetNamespace("team-a")
	resource.SetName("shop")
	resource.SetUID("u1")
	return b, resource, &state{}, asked
}

func TestARetryWithoutRoomIsQueuedAgain(t *testing.T) {
	g := NewWithT(t)
	b, resource, st, asked := owing(t)
	retry := func() { b.retry(patience(t), b.plan.Load(), resource, st, worker.NewSlot(b.slots)) }
	retry()
	g.Expect(st.class).NotTo(BeEmpty())
	g.Expect(*asked).To(BeNumerically(">=", 1))
	before := *asked
	retry()
	g.Expect(*asked).To(Equal(before), "what was sent is charged, and nothing is left")
	g.Expect(b.retries.AdmitNext()).To(ConsistOf(keyOf(resource)), "it waits")
}
