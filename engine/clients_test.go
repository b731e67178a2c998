package engine

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/identity"
)

// A box that can't act as its account has a client that writes nothing, whatever its plan would do: no stage has to remember that.
func TestABoxWithoutItsAccountWritesNothing(t *testing.T) {
	g := NewWithT(t)
	var sent []string
	e, write := asking(t, func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Method)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(storedWebsite)) // the client notices
	})
	full := serving(t, e, v1alpha1.OperatorBoxSpec{})
	g.Expect(write(t.Context(), full)).To(Succeed())
	g.Expect(sent).To(HaveLen(1), "it would be sent otherwise")

	problem := identity.Problem{Reason: v1alpha1.ReasonAccountMissing, Message: "the account is gone"}
	without, err := newBox(e, full.plan.Load().WithoutAccount(problem), Options{})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(without.queue.ShutDown)
	g.Expect(write(t.Context(), without)).To(MatchError(&apply.RefusedError{Reason: problem.Reason, Message: problem.Message}))
	g.Expect(sent).To(HaveLen(1))
}
