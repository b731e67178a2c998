package bench_test

import (
	"fmt"
	"testing"
	"time"
)

// steeper is how many times more resources the larger burst has.
const steeper = 5

// measureGrowth has binaries make many resources, and then more, in turns.
func measureGrowth(b *testing.B, t *sheet) {
	b.Helper()
	p := newPlane(b)
	p.applyKinds(b, "Applied", "Handwritten", "Chained")
	_, err := p.cluster.KubectlApply(b.Context(), fmt.Sprintf(sideBox, usualResync, "b"))
	must(b, err)
	p.takeTurns(b, t, inGrowth, p.contenders(b, t), []step{{"growth", true, (*turn).growth}}, (*turn).cleared)
}

// growth makes two bursts, of which the second is larger, beside the resources of the first.
func (u *turn) growth() error {
	if _, err := u.one(noiseOf(u.kind, u.name+"-warm")); err != nil {
		return err
	}
	var each, cpus [2]float64
	for i, n := range []int{u.t.growth, steeper * u.t.growth} {
		var took time.Duration
		cpu, _, err := u.spent(func() error {
			var err error
			took, err = u.made(u.b, u.kind, fmt.Sprintf("%s-%d", u.name, i), n)
			return err
		})
		if err != nil {
			return err
		}
		each[i], cpus[i] = milliseconds(took, n), milliseconds(cpu, n)
	}
	u.add("growth.rate", 1000/each[0])
	u.add("growth.time", each[1]/each[0])
	u.add("growth.cpu", cpus[1]/cpus[0])
	return nil
}
