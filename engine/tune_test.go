package engine

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestARunningBoxIsTunedFromOutside(t *testing.T) {
	g := NewWithT(t)
	e := idle(t, nil)
	b := idleBox(t, e, "website", nil, func(context.Context, *box) {})
	t.Cleanup(func() { e.stopAll(e.boxes) })
	before := b.plan.Load()
	e.SetWorkers("website", 17)
	e.SetResync("website", 7*time.Minute)
	g.Expect(b.pool.Workers()).To(Equal(17))
	g.Expect(e.Plan("website").Runtime.Resync).To(Equal(7 * time.Minute))
	g.Expect(e.Plan("website").Revision).To(Equal(before.Revision))
	g.Expect(before.Runtime.Resync).NotTo(Equal(7*time.Minute), "a plan never changes")
	e.SetWorkers("gone", 1)
	e.SetResync("gone", time.Minute)
}
