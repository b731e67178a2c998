package engine

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/orkspace/orkestra/engine/cycle"
	"github.com/orkspace/orkestra/engine/pipeline"
)

func keyN(n int) types.NamespacedName { return types.NamespacedName{Name: fmt.Sprint(n)} }

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
			clk := testingclock.NewFakePassiveClock(time.Unix(0, 0))
			s := newShare(tc.config, clk)
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
					wait, price := s.admit(keyN(n))
					due[n] = clk.Now().Add(wait)
					if wait == 0 {
						if sent > int(s.most) {
							longest = max(longest, clk.Since(last))
						}
						last = clk.Now()
						s.spent(price, 2)
						sent += 2
						due[n] = clk.Now().Add(10 * time.Millisecond)
					}
				}
				clk.SetTime(clk.Now().Add(100 * time.Millisecond))
			}
			passed := clk.Since(begun).Seconds()
			g.Expect(float64(sent)).To(BeNumerically("<=", tc.rate*passed+s.most+2))
			g.Expect(float64(sent)).To(BeNumerically(">=", tc.rate*passed*0.9), "and it is used")
			g.Expect(longest.Seconds()).To(BeNumerically("<=", 2*2/tc.rate+0.2), "at a steady pace")
		})
	}
}

func TestShareLetsAFewThrough(t *testing.T) {
	g := NewWithT(t)
	s := newShare(&rest.Config{QPS: 100, Burst: 200}, testingclock.NewFakePassiveClock(time.Unix(0, 0)))
	for range 50 {
		wait, price := s.admit(keyN(1))
		g.Expect(wait).To(BeZero(), "the backoff alone slows down what fails now and then")
		s.spent(price, 2)
	}
	wait, _ := s.admit(keyN(1))
	g.Expect(wait).To(BeNumerically(">", 0))
}

// When what all of them wait for is there, each that succeeds lets the next one go.
func TestShareIsNoBrakeForWhatSucceeds(t *testing.T) {
	g := NewWithT(t)
	s := newShare(&rest.Config{QPS: 10, Burst: 10}, testingclock.NewFakePassiveClock(time.Unix(0, 0)))
	var waiting []int
	for n := range 1000 {
		if wait, price := s.admit(keyN(n)); wait > 0 {
			waiting = append(waiting, n)
		} else {
			s.spent(price, 1)
		}
	}
	g.Expect(waiting).To(HaveLen(990))
	s.forget(keyN(waiting[0]))
	next, ok := s.back(0)
	done := 0
	for ok {
		g.Expect(next).To(Equal(keyN(waiting[done+1])), "in their order")
		done++
		if done%10 == 0 { // something has changed about it, and so nobody asks whether it is admitted
			s.forget(next)
			next, ok = s.passOn(next)
			continue
		}
		wait, price := s.admit(next)
		g.Expect(wait).To(BeZero())
		_, early := s.passOn(next)
		g.Expect(early).To(BeFalse(), "who is admitted says himself how it went")
		next, ok = s.back(price)
	}
	g.Expect(done).To(Equal(989))
	g.Expect(s.waiting).To(BeEmpty())
	g.Expect(s.queue).To(BeEmpty())
	g.Expect(s.first).To(BeEmpty())
}

// What looks are taken to cost changes all the time; who leaves gets back what he has paid.
func TestShareLosesNothing(t *testing.T) {
	g := NewWithT(t)
	s := newShare(&rest.Config{QPS: 10, Burst: 10}, testingclock.NewFakePassiveClock(time.Unix(0, 0)))
	_, price := s.admit(keyN(0))
	s.spent(price, 10)
	g.Expect(s.tokens).To(BeZero())
	for n := range 100 {
		s.cost = float64(n%7 + 1)
		wait, _ := s.admit(keyN(n))
		g.Expect(wait).To(BeNumerically(">", 0))
	}
	for n := range 100 {
		s.cost = float64(n%3 + 1)
		s.forget(keyN(n))
	}
	g.Expect(s.tokens).To(BeZero())
}

func TestShareKeepsNobodyWaitingWhoseClockIsSetBack(t *testing.T) {
	g := NewWithT(t)
	clk := testingclock.NewFakePassiveClock(time.Unix(10_000, 0))
	s := newShare(&rest.Config{QPS: 10, Burst: 10}, clk)
	s.tokens = -9
	wait, _ := s.admit(keyN(1))
	g.Expect(wait).To(Equal(10 * time.Second))
	clk.SetTime(time.Unix(5000, 0))
	wait, _ = s.admit(keyN(1))
	g.Expect(wait).To(Equal(10 * time.Second))
	clk.SetTime(time.Unix(5010, 0))
	wait, _ = s.admit(keyN(1))
	g.Expect(wait).To(BeZero())
}

func TestShareKeepsNothingOfThoseWhoLeave(t *testing.T) {
	g := NewWithT(t)
	s := newShare(&rest.Config{QPS: 1, Burst: 1}, testingclock.NewFakePassiveClock(time.Unix(0, 0)))
	s.admit(keyN(0))
	s.admit(keyN(-1)) // waits all the time
	for n := range 10_000 {
		s.admit(keyN(n % 7))
		s.forget(keyN(n % 7))
		g.Expect(len(s.queue)).To(BeNumerically("<=", 3))
	}
	s.forget(keyN(-1))
	g.Expect(s.queue).To(BeEmpty())
	g.Expect(s.waiting).To(BeEmpty())
}

func TestWhichCyclesOnlyTimeAsksFor(t *testing.T) {
	now := time.Unix(1000, 0)
	cases := map[string]struct {
		state *state
		due   bool
	}{
		"no error":                      {&state{}, false},
		"transient, too early":          {&state{class: pipeline.Transient, due: now.Add(1), pause: 1}, false},
		"transient":                     {&state{class: pipeline.Transient, due: now}, true},
		"transient, a clock set back":   {&state{class: pipeline.Transient, due: now.Add(time.Hour), pause: time.Second}, true},
		"panic":                         {&state{class: pipeline.Panic, due: now}, true},
		"refused, just now":             {&state{class: pipeline.Refused, looked: now.Add(-10 * time.Second)}, false},
		"refused, a clock set back":     {&state{class: pipeline.Refused, looked: now.Add(10 * time.Second)}, true},
		"refused, a resync ago":         {&state{class: pipeline.Refused, looked: now.Add(-time.Minute)}, true},
		"permanent":                     {&state{class: pipeline.Permanent, looked: now.Add(-time.Hour)}, false},
		"a right that has been granted": {&state{class: pipeline.Permission, looked: now.Add(-time.Hour)}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			resource := &unstructured.Unstructured{Object: map[string]any{}}
			resource.SetName("web")
			resource.SetResourceVersion("1")
			plan := &pipeline.Plan{}
			plan.Runtime.Resync = time.Minute
			clk := testingclock.NewFakeClock(now)
			b := &box{engine: &Engine{config: Config{Clock: clk}}}
			st := tc.state
			st.inputs = plan.NewRun(resource, now, pipeline.Ports{}).Inputs
			retries := func() bool {
				return cycle.Decide(b.gather(t.Context(), plan, resource, st)).Action == cycle.Retry
			}
			g.Expect(retries()).To(Equal(tc.due))
			resource.SetGeneration(2)
			g.Expect(retries()).To(BeFalse(), "a change passes")
			st.inputs, st.version = nil, "1"
			g.Expect(retries()).To(Equal(tc.due), "a status that could not be written is no change")
			resource.SetResourceVersion("2")
			g.Expect(retries()).To(BeFalse())
		})
	}
}

func TestARetryWithoutRoomIsQueuedAgain(t *testing.T) {
	g := NewWithT(t)
	clk := testingclock.NewFakeClock(time.Unix(1000, 0))
	b := &box{engine: &Engine{config: Config{Clock: clk}}, share: newShare(&rest.Config{QPS: 1, Burst: 1}, clk), queue: openQueue()}
	defer b.queue.ShutDown()
	plan, st := &pipeline.Plan{}, &state{}
	plan.Runtime.Resync = time.Minute
	g.Expect(b.heldBack(plan, keyN(1), st)).To(BeFalse(), "there is room for one")
	g.Expect(st.price).To(BeNumerically(">", 0))
	g.Expect(b.heldBack(plan, keyN(1), st)).To(BeTrue())
	g.Expect(st.price).To(BeZero())
	g.Expect(b.share.waiting).To(HaveLen(1))
	b.share.forget(keyN(1))
	g.Expect(b.share.waiting).To(BeEmpty())
}

func TestWhoPays(t *testing.T) {
	g := NewWithT(t)
	clk := testingclock.NewFakeClock(time.Unix(0, 0))
	b := &box{share: newShare(&rest.Config{QPS: 10, Burst: 10}, clk), queue: openQueue()}
	defer b.queue.ShutDown()
	b.settle(&state{class: pipeline.Transient}, 5)
	g.Expect(b.share.tokens).To(Equal(10.0), "a look that an event asked for")
	_, price := b.share.admit(keyN(1))
	b.settle(&state{class: pipeline.Transient, price: price}, 5)
	g.Expect(b.share.tokens).To(Equal(5.0))
	_, price = b.share.admit(keyN(1))
	st := &state{price: price}
	b.settle(st, 5)
	g.Expect(b.share.tokens).To(Equal(5.0), "what succeeds is free")
	g.Expect(st.price).To(BeZero())
	for n := range 6 {
		b.share.admit(keyN(n))
	}
	b.settle(&state{price: 5}, 1)
	next, _ := b.queue.Get()
	g.Expect(next).To(Equal(keyN(1)), "and lets the next one go")
}
