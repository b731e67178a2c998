package cycle

import (
	"math/rand/v2"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/pipeline"
)

// TestResyncsFallOnBeats: between 90 and 99 % of a resync later, so that resync stays the longest time, at a beat, and not all at the same one.
func TestResyncsFallOnBeats(t *testing.T) {
	g := NewWithT(t)
	for resync, beat := range map[time.Duration]time.Duration{
		1: 1, time.Second: 40 * time.Millisecond, 5 * time.Second: 200 * time.Millisecond, 10 * time.Minute: time.Second, 24 * time.Hour: time.Second,
	} {
		plan := &pipeline.Plan{}
		plan.Runtime.Resync = resync
		beats := map[int64]bool{}
		now := time.Unix(rand.Int64N(1<<32), rand.Int64N(1e9))
		for range 1000 {
			after := jittered(plan, now)
			due := now.Add(after).UnixNano()
			beats[due] = true
			g.Expect(due%int64(beat)).To(BeZero(), "%s", resync)
			if resync >= time.Second {
				g.Expect(after).To(And(BeNumerically(">=", shortest(plan)), BeNumerically("<=", resync/100*99)), "%s", resync)
			}
		}
		if resync >= time.Second {
			g.Expect(len(beats)).To(BeNumerically(">", 1), "%s", resync)
		}
	}
}
