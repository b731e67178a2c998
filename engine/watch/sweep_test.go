package watch

import (
	"context"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/cache"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/orkspace/orkestra/engine/packed"
)

func TestWhatIsGoneBeforeTheStoreHasSeenItIsTold(t *testing.T) {
	for name, tc := range map[string]struct {
		does func(o *overlay, store cache.Store)
		want []string
	}{
		"it was made and deleted while nothing was watched": {
			does: func(o *overlay, s cache.Store) {
				o.wrote(packed.Whole(child("ns", "new", "11", "o")))
				s.Bookmark("12")
			},
			want: []string{"ns/new#11"},
		},
		"another object has its name": {
			does: func(o *overlay, s cache.Store) {
				o.wrote(packed.Whole(named("1", child("ns", "new", "11", "o"))))
				_ = s.Add(named("2", child("ns", "new", "12", "p")))
			},
			want: []string{"ns/new#11"},
		},
		"the store has it": {
			does: func(o *overlay, s cache.Store) {
				o.wrote(packed.Whole(named("1", child("ns", "new", "11", "o"))))
				_ = s.Add(named("1", child("ns", "new", "12", "o")))
			},
		},
		"the store is behind": {
			does: func(o *overlay, _ cache.Store) { o.wrote(packed.Whole(child("ns", "new", "11", "o"))) },
		},
		"we deleted it ourselves": {
			does: func(o *overlay, s cache.Store) {
				o.wrote(packed.Whole(child("ns", "new", "11", "o")))
				o.gone(packed.Whole(child("ns", "new", "11", "o")))
				s.Bookmark("12")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o, store := lagging(t, child("ns", "a", "9", "o"))
			tc.does(o, store)
			o.all()
			var lost []string
			for _, obj := range o.takeLost() {
				lost = append(lost, obj.Key()+"#"+obj.Version())
			}
			g.Expect(lost).To(Equal(tc.want))
			g.Expect(o.takeLost()).To(BeEmpty(), "told once")
		})
	}
}

// TestNothingIsSweptWhereNobodyWrites: what is lost is told, and then no timer wakes the process until something is written again.
func TestNothingIsSweptWhereNobodyWrites(t *testing.T) {
	g := NewWithT(t)
	o, store := lagging(t, child("ns", "a", "9", "o"))
	clk := testingclock.NewFakeClock(time.Unix(1000, 0))
	o.store.watchdog.clock = clk
	told := make(chan string)
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(done)
		o.sweep(ctx, func(lost *packed.Object) { told <- lost.Key() })
	}()
	g.Consistently(clk.HasWaiters, 20*time.Millisecond).Should(BeFalse())
	for i, name := range []string{"one", "two"} {
		o.wrote(packed.Whole(child("ns", name, strconv.Itoa(11+10*i), "o")))
		g.Eventually(clk.HasWaiters).Should(BeTrue())
		clk.Step(sweepInterval)
		g.Eventually(clk.HasWaiters).Should(BeTrue(), "the store is behind")
		store.Bookmark(strconv.Itoa(12 + 10*i))
		clk.Step(sweepInterval)
		g.Expect(<-told).To(Equal("ns/" + name))
		g.Eventually(clk.HasWaiters).Should(BeFalse())
	}
	cancel()
	<-done
}
