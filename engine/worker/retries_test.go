package worker

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	testingclock "k8s.io/utils/clock/testing"
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

func TestDelaysStayShortWhileTheAPIServerCanNotBeReached(t *testing.T) {
	g := NewWithT(t)
	var b Backoff
	for range 1000 {
		g.Expect(b.Unreached(24 * time.Hour)).To(BeNumerically("<=", longestUnreached))
	}
	g.Expect(b.Unreached(24 * time.Hour)).To(Equal(longestUnreached))
	g.Expect(b.Unreached(time.Second)).To(Equal(time.Second), "no delay is longer than resync")
	d, atResync := b.Next(24 * time.Hour)
	g.Expect(d).To(And(BeNumerically(">", longestUnreached), BeNumerically("<", 3*longestUnreached)), "what fails then goes on from there")
	g.Expect(atResync).To(BeFalse())
	b.Reset()
	g.Expect(b.Unreached(24 * time.Hour)).To(Equal(firstDelay))
	g.Expect(b.Unreached(24 * time.Hour)).To(Equal(2 * firstDelay))
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

func keyN(n int) types.NamespacedName { return types.NamespacedName{Name: fmt.Sprint(n)} }

// retriesAt gives a budget with a clock that stands still.
func retriesAt(now time.Time, config *rest.Config) (*Retries, *testingclock.FakePassiveClock) {
	clk := testingclock.NewFakePassiveClock(now)
	return NewRetries(config, clk), clk
}

func TestRetriesHaveABudget(t *testing.T) {
	for name, tc := range map[string]struct {
		config *rest.Config
		rate   float64
	}{
		"a limit":   {&rest.Config{QPS: 50, Burst: 80}, 5},
		"a low one": {&rest.Config{QPS: 2, Burst: 2}, 0.2},
		"none":      {&rest.Config{QPS: -1}, 10},
		"default":   {&rest.Config{}, 10},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r, clk := retriesAt(time.Unix(0, 0), tc.config)
			begun, sent := clk.Now(), 0
			last, longest := begun, time.Duration(0)
			// A thousand resources fail, each with two requests, and come back when they are told to.
			due := map[int]time.Time{}
			for n := range 1000 {
				due[n] = begun
			}
			for range 100 * 60 {
				for n := range 1000 {
					if clk.Now().Before(due[n]) {
						continue
					}
					wait := r.Admit(keyN(n))
					due[n] = clk.Now().Add(wait)
					if wait == 0 {
						if sent > int(r.burst) {
							longest = max(longest, clk.Since(last))
						}
						last = clk.Now()
						r.Charge(2)
						sent += 2
						due[n] = clk.Now().Add(10 * time.Millisecond)
					}
				}
				clk.SetTime(clk.Now().Add(100 * time.Millisecond))
			}
			passed := clk.Since(begun).Seconds()
			g.Expect(float64(sent)).To(BeNumerically("<=", tc.rate*passed+r.burst+2))
			g.Expect(float64(sent)).To(BeNumerically(">=", tc.rate*passed*0.9), "and it is used")
			g.Expect(longest.Seconds()).To(BeNumerically("<=", 2*2/tc.rate+0.2), "at a steady pace")
		})
	}
}

func TestEachOfManyThatFailIsTried(t *testing.T) {
	g := NewWithT(t)
	const many = 200
	r, clk := retriesAt(time.Unix(0, 0), &rest.Config{})
	due, tried := map[int]time.Time{}, map[int]int{}
	for range 20 * 60 * 2 {
		for n := range many {
			if clk.Now().Before(due[n]) {
				continue
			}
			wait := r.Admit(keyN(n))
			due[n] = clk.Now().Add(max(wait, time.Second))
			if wait == 0 {
				r.Charge(2)
				tried[n]++
			}
		}
		clk.SetTime(clk.Now().Add(500 * time.Millisecond))
	}
	for n := range many {
		// Twenty minutes are enough for thirty tries of each.
		g.Expect(tried[n]).To(BeNumerically("~", 30, 2), "one after the other")
	}
}

func TestAFewThatFailNowAndThenAreNotHeldUp(t *testing.T) {
	g := NewWithT(t)
	r, _ := retriesAt(time.Unix(0, 0), &rest.Config{})
	for range 51 {
		g.Expect(r.Admit(keyN(1))).To(BeZero(), "the backoff alone slows down what fails now and then")
		r.Charge(2)
	}
	g.Expect(r.Admit(keyN(1))).To(BeNumerically(">", 0))
}

// When what all of them wait for is there, each that succeeds lets others begin.
func TestTheBudgetHoldsNothingUpThatSucceeds(t *testing.T) {
	g := NewWithT(t)
	r, _ := retriesAt(time.Unix(0, 0), &rest.Config{QPS: 10, Burst: 10})
	var waiting []types.NamespacedName
	for n := range 1000 {
		if r.Admit(keyN(n)) > 0 {
			waiting = append(waiting, keyN(n))
		} else {
			r.Charge(1)
		}
	}
	g.Expect(waiting).To(HaveLen(989))
	r.Forget(waiting[0])
	done := map[types.NamespacedName]bool{}
	rounds := 0
	for next := r.AdmitNext(); len(next) > 0; rounds++ {
		var following []types.NamespacedName
		for _, key := range next {
			if len(done)%10 == 5 {
				r.Forget(key) // something has changed about it, and so nobody asks whether it is admitted
			} else {
				g.Expect(r.Admit(key)).To(BeZero())
				following = append(following, r.AdmitNext()...)
			}
			done[key] = true
		}
		next = following
	}
	g.Expect(done).To(HaveLen(988))
	g.Expect(done).NotTo(HaveKey(waiting[0]))
	g.Expect(rounds).To(BeNumerically("<", 20), "twice as many each time")
}

func TestASuccessLetsNoMoreBegin(t *testing.T) {
	g := NewWithT(t)
	r, _ := retriesAt(time.Unix(0, 0), &rest.Config{QPS: 1, Burst: 1})
	r.Charge(2)
	for n := range 10 {
		g.Expect(r.Admit(keyN(n))).To(BeNumerically(">", 0))
	}
	next := r.AdmitNext()
	g.Expect(next).To(HaveLen(admittedNext))
	admitted := 0
	for n := range 10 {
		if r.Admit(keyN(n)) == 0 {
			admitted++
		}
	}
	g.Expect(admitted).To(Equal(admittedNext), "where all others fail, a success is no reason for a burst")
}

func TestTheBudgetKeepsNobodyWaitingWhenTheClockIsSetBack(t *testing.T) {
	g := NewWithT(t)
	r, clk := retriesAt(time.Unix(10_000, 0), &rest.Config{QPS: 10, Burst: 10})
	r.Charge(20)
	g.Expect(r.Admit(keyN(1))).To(Equal(10 * time.Second))
	clk.SetTime(time.Unix(5000, 0))
	g.Expect(r.Admit(keyN(1))).To(BeNumerically(">", 0))
	clk.SetTime(time.Unix(5011, 0))
	g.Expect(r.Admit(keyN(1))).To(BeZero())
}

func TestTheBudgetKeepsNothingOfThoseWhoLeave(t *testing.T) {
	g := NewWithT(t)
	r, _ := retriesAt(time.Unix(0, 0), &rest.Config{QPS: 1, Burst: 1})
	r.Charge(2)
	for n := range 100 {
		g.Expect(r.Admit(keyN(n%7))).To(Equal(10*time.Second), "and nobody waits behind them")
		r.Forget(keyN(n % 7))
	}
	g.Expect(r.waiting).To(BeEmpty())
}
