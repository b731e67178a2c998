package worker

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// delays gives the next n delays, with 0 for each at resync.
func delays(b *Backoff, resync time.Duration, n int) []time.Duration {
	var out []time.Duration
	for range n {
		d, atResync := b.Next(resync)
		if atResync {
			d = 0
		}
		out = append(out, d)
	}
	return out
}

func TestBackoffDoubles(t *testing.T) {
	g := NewWithT(t)
	const ms = time.Millisecond
	var b Backoff
	g.Expect(delays(&b, 24*time.Hour, 6)).To(Equal([]time.Duration{5 * ms, 10 * ms, 20 * ms, 40 * ms, 80 * ms, 160 * ms}))
	b.Reset()
	g.Expect(delays(&b, 24*time.Hour, 2)).To(Equal([]time.Duration{5 * ms, 10 * ms}))
}

func TestBackoffIsCapped(t *testing.T) {
	g := NewWithT(t)
	var b Backoff
	all := delays(&b, 24*time.Hour, 10_000)
	g.Expect(all[17]).To(Equal(655360 * time.Millisecond))
	g.Expect(all[18]).To(Equal(maxDelay))
	g.Expect(all[9_999]).To(Equal(maxDelay))
}

func TestEachRestartDoublesTheFirstDelay(t *testing.T) {
	g := NewWithT(t)
	const ms, resync = time.Millisecond, 50 * time.Millisecond
	var b Backoff
	g.Expect(delays(&b, resync, 13)).To(Equal([]time.Duration{
		5 * ms, 10 * ms, 20 * ms, 40 * ms, 0,
		10 * ms, 20 * ms, 40 * ms, 0,
		20 * ms, 40 * ms, 0,
		40 * ms,
	}))
	g.Expect(delays(&b, resync, 5)).To(Equal([]time.Duration{0, 0, 0, 0, 0}), "up to resync: then there are no others")
	d, atResync := b.Next(resync)
	g.Expect(d).To(Equal(resync))
	g.Expect(atResync).To(BeTrue())
	b.Reset()
	g.Expect(delays(&b, resync, 1)).To(Equal([]time.Duration{5 * ms}))
}

func TestNoDelayIsLongerThanResync(t *testing.T) {
	for _, resync := range []time.Duration{time.Second, time.Minute, 24 * time.Hour} {
		g := NewWithT(t)
		var b Backoff
		for range 200 {
			d, _ := b.Next(resync)
			g.Expect(d).To(And(BeNumerically(">", 0), BeNumerically("<=", resync)))
		}
	}
}
