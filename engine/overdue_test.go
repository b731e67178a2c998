package engine

import (
	"context"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/worker"
)

func TestAReconcileThatIsOverdueSendsNothing(t *testing.T) {
	g := NewWithT(t)
	e, write := asking(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
	e.config.ReconcileTimeout = 10 * time.Millisecond
	b := serving(t, e, v1alpha1.OperatorBoxSpec{})
	place := worker.NewSlot(b.slots)
	g.Expect(place.Take(t.Context())).To(BeTrue())
	patient := patience(t)
	err := b.within(t.Context(), types.NamespacedName{Namespace: "team-a", Name: "shop"}, place, func(ctx context.Context) error {
		g.Eventually(b.overdue.Count).WithContext(patient).Should(Equal(1))
		return write(ctx, b)
	})
	g.Expect(err).To(MatchError(ContainSubstring("the reconcile took longer than 10ms and was ended")))
	g.Expect(b.overdue.Count()).To(BeZero())
}
