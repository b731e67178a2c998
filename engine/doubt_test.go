package engine

import (
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/status"
)

// writing is a box whose requests go to an API server that answers with one code, and a resource of it.
func writing(t *testing.T, code *int) (*box, *unstructured.Unstructured) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(*code)
		_, _ = w.Write([]byte(`{"apiVersion":"v1","kind":"Any","metadata":{"resourceVersion":"8"}}`)) // who does not read it notices
	}))
	t.Cleanup(server.Close)
	kind := schema.GroupVersionKind{Group: "demo.example.com", Version: "v1", Kind: "Website"}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(kind, meta.RESTScopeNamespace)
	e, err := New(Config{REST: &rest.Config{Host: server.URL, QPS: -1}, Mapper: mapper, MaxConcurrentReconciles: 1})
	if err != nil {
		t.Fatal(err)
	}
	b := serving(t, e, v1alpha1.OperatorBoxSpec{})
	resource := &unstructured.Unstructured{}
	resource.SetGroupVersionKind(kind)
	resource.SetNamespace("team-a")
	resource.SetName("shop")
	resource.SetUID("u1")
	resource.SetResourceVersion("7")
	return b, resource
}

// A status whose answer is lost may be written. The next cycle compares what it found with a cache that does not show that yet, and
// so writes nothing: without another look, the resource would show the failure for ever.
func TestAStatusWithoutAnAnswerIsLookedAtAgain(t *testing.T) {
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
			b, resource := writing(t, &code)
			plan, st := b.plan.Load(), &state{}
			failed := status.Result{Ready: status.Failed("no"), Reconciling: status.Settled(), Stalled: status.NotStalled()}
			g.Expect(b.patchStatus(t.Context(), plan, resource, failed, st)).NotTo(Succeed())

			st.inputs = plan.NewRun(resource, b.engine.config.Clock.Now(), pipeline.Ports{}).Inputs
			st.doubt(resource)
			g.Expect(st.inputs).NotTo(BeNil(), "nothing has changed yet")
			resource.SetResourceVersion("8")
			st.doubt(resource)
			g.Expect(st.inputs == nil).To(Equal(tc.again))

			st.inputs = plan.NewRun(resource, b.engine.config.Clock.Now(), pipeline.Ports{}).Inputs
			resource.SetResourceVersion("9")
			st.doubt(resource)
			g.Expect(st.inputs).NotTo(BeNil(), "once")
		})
	}
}

func TestAnAnswerEndsTheDoubtAboutAStatus(t *testing.T) {
	g := NewWithT(t)
	code := http.StatusGatewayTimeout
	b, resource := writing(t, &code)
	plan, st := b.plan.Load(), &state{}
	failed := status.Result{Ready: status.Failed("no"), Reconciling: status.Settled(), Stalled: status.NotStalled()}
	g.Expect(b.patchStatus(t.Context(), plan, resource, failed, st)).NotTo(Succeed())
	code = http.StatusOK
	g.Expect(b.patchStatus(t.Context(), plan, resource, failed, st)).To(Succeed())
	st.inputs = plan.NewRun(resource, b.engine.config.Clock.Now(), pipeline.Ports{}).Inputs
	resource.SetResourceVersion("8")
	st.doubt(resource)
	g.Expect(st.inputs).NotTo(BeNil())
}
