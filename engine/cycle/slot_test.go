package cycle

import (
	"context"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/external"
	"github.com/orkspace/orkestra/engine/provision"
	"github.com/orkspace/orkestra/engine/worker"
)

// hanging is a host that does not answer.
type hanging struct{ arrived chan struct{} }

// Call implements pipeline.Caller.
func (h hanging) Call(ctx context.Context, _ *external.Request) (*external.Answer, error) {
	h.arrived <- struct{}{}
	<-ctx.Done()
	return nil, ctx.Err()
}

func (hanging) CallProvider(context.Context, *provision.Call) (provision.Answer, error) {
	panic("no provider is declared")
}

func TestAReconcileWhoseHostHangsLeavesItsSlotToOthers(t *testing.T) {
	g := NewWithT(t)
	arrived := make(chan struct{})
	var spec v1alpha1.OperatorBoxSpec
	spec.External = []v1alpha1.ExternalCall{{Name: "quota", URL: "https://quota.example.com"}}
	r, resource := serving(t, spec, func(http.ResponseWriter, *http.Request) { t.Error("a process that stops writes nothing") })
	r.Caller = hanging{arrived: arrived}
	c := of(t, r, resource, &state{uid: "u1"})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan bool)
	go func() { ended <- c.execute(ctx) }()
	g.Eventually(arrived).WithContext(patience(t)).Should(Receive())
	second := worker.NewSlot(r.Slots)
	g.Expect(second.Take(patience(t))).To(BeTrue())
	cancel()
	g.Eventually(ended).WithContext(patience(t)).Should(Receive(BeFalse()), "what was not finished is not reported")
	g.Expect(c.slot.Held()).To(BeFalse(), "it is the second one's")
	g.Expect(c.st.last.at).To(BeZero())
}
