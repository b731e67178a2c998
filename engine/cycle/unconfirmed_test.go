package cycle

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/status"
)

// writing is a cycle whose requests go to an API server that answers with one code.
func writing(t *testing.T, code *int) *cycle {
	t.Helper()
	r, resource := serving(t, v1alpha1.OperatorBoxSpec{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(*code)
		_, _ = w.Write([]byte(`{"apiVersion":"v1","kind":"Any","metadata":{"resourceVersion":"8"}}`)) // the test notices where it is not read
	})
	return of(t, r, resource, &state{uid: "u1"})
}

// A status whose answer is lost may be written. The next cycle compares what it found with a cache that does not show that yet, and
// so writes nothing: without another reconcile, the resource would show the failure for ever.
func TestAStatusWriteWithoutAnAnswerIsReconciledAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		code  int
		again bool
	}{
		"no answer in time": {http.StatusGatewayTimeout, true},
		"a broken server":   {http.StatusInternalServerError, true},
		"a conflict":        {http.StatusConflict, false},
		"not valid":         {http.StatusUnprocessableEntity, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			code := tc.code
			c := writing(t, &code)
			resource, st := c.stored, c.st
			failed := status.Result{Ready: status.Failed("no"), Reconciling: status.Settled(), Stalled: status.NotStalled()}
			g.Expect(c.writeStatus(t.Context(), resource, failed)).NotTo(Succeed())

			st.last.inputs = c.record.Plan.NewRun(resource, c.record.Began, pipeline.Ports{}).Inputs
			st.resolveUnconfirmed(resource)
			g.Expect(st.last.inputs).NotTo(BeNil(), "nothing has changed yet")
			resource.SetResourceVersion("8")
			st.resolveUnconfirmed(resource)
			g.Expect(st.last.inputs == nil).To(Equal(tc.again))

			st.last.inputs = c.record.Plan.NewRun(resource, c.record.Began, pipeline.Ports{}).Inputs
			resource.SetResourceVersion("9")
			st.resolveUnconfirmed(resource)
			g.Expect(st.last.inputs).NotTo(BeNil(), "once")
		})
	}
}

func TestALaterAnswerConfirmsTheStatus(t *testing.T) {
	g := NewWithT(t)
	code := http.StatusGatewayTimeout
	c := writing(t, &code)
	resource, st := c.stored, c.st
	failed := status.Result{Ready: status.Failed("no"), Reconciling: status.Settled(), Stalled: status.NotStalled()}
	g.Expect(c.writeStatus(t.Context(), resource, failed)).NotTo(Succeed())
	code = http.StatusOK
	g.Expect(c.writeStatus(t.Context(), resource, failed)).To(Succeed())
	st.last.inputs = c.record.Plan.NewRun(resource, c.record.Began, pipeline.Ports{}).Inputs
	resource.SetResourceVersion("8")
	st.resolveUnconfirmed(resource)
	g.Expect(st.last.inputs).NotTo(BeNil())
}
