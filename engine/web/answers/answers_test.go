package answers

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	clocktesting "k8s.io/utils/clock/testing"
)

var beginning = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

const life, timeout = 10 * time.Second, time.Minute

func TestAnAnswerIsKeptForItsTime(t *testing.T) {
	g := NewWithT(t)
	clk := clocktesting.NewFakePassiveClock(beginning)
	k := New[string, int](clk, 2, timeout)
	asked := map[string]int{}
	var failing error
	lives := life
	get := func(name string) (int, error) {
		return k.Get(t.Context(), name, func(context.Context) (int, time.Duration, error) {
			asked[name]++
			return asked[name], lives, failing
		})
	}
	for _, step := range []time.Duration{0, life - 1} {
		clk.SetTime(beginning.Add(step))
		g.Expect(get("a")).To(Equal(1))
	}
	clk.SetTime(beginning.Add(life))
	failing = errors.New("no answer")
	for range 2 {
		_, err := get("a")
		g.Expect(err).To(MatchError("no answer"), "an error is kept as well")
	}
	g.Expect(asked).To(Equal(map[string]int{"a": 2}))
	clk.SetTime(beginning.Add(2 * life))
	lives = 0
	for n := range 3 {
		_, err := get("a")
		g.Expect(err).To(MatchError("no answer"))
		g.Expect(asked).To(Equal(map[string]int{"a": 3 + n}), "what nobody believes is not kept")
	}
	failing, lives = nil, life
	g.Expect(get("a")).To(Equal(6))
	g.Expect(get("a")).To(Equal(6))
}

// TestTheTimeOfAnAnswerBeginsWhenItIsAskedFor: what was true then may be so no more when the answer comes.
func TestTheTimeOfAnAnswerBeginsWhenItIsAskedFor(t *testing.T) {
	g := NewWithT(t)
	clk := clocktesting.NewFakePassiveClock(beginning)
	k := New[string, int](clk, 2, timeout)
	asked := 0
	get := func() (int, error) {
		return k.Get(t.Context(), "a", func(context.Context) (int, time.Duration, error) {
			asked++
			clk.SetTime(clk.Now().Add(life - 1))
			return asked, life, nil
		})
	}
	g.Expect(get()).To(Equal(1))
	g.Expect(get()).To(Equal(1))
	clk.SetTime(beginning.Add(life))
	g.Expect(get()).To(Equal(2))
}

// TestAnswersAreFew: who asks for many things does not fill the memory.
func TestAnswersAreFew(t *testing.T) {
	g, clk := NewWithT(t), clocktesting.NewFakePassiveClock(beginning)
	k := New[int, int](clk, 10, timeout)
	get := func(n int) {
		got, err := k.Get(t.Context(), n, func(context.Context) (int, time.Duration, error) { return n, life, nil })
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(got).To(Equal(n))
		g.Expect(len(k.all)).To(BeNumerically("<=", 10))
	}
	for n := range 5 {
		get(n)
	}
	clk.SetTime(beginning.Add(life / 2))
	for n := range 5 {
		get(5 + n)
	}
	clk.SetTime(beginning.Add(life))
	get(10)
	g.Expect(k.all).To(And(HaveLen(6), HaveKey(5), Not(HaveKey(4))), "the old ones go first")
	for n := range 100 {
		get(11 + n)
	}
	one, known := k.recall(110)
	g.Expect(known).To(BeTrue())
	g.Expect(one.value).To(Equal(110))
}

// TestManyWhoAskAtOnceAskOnce: and who asks first and goes does not take the answer from the others.
func TestManyWhoAskAtOnceAskOnce(t *testing.T) {
	for _, lives := range []time.Duration{0, life} {
		t.Run(fmt.Sprint("believed for ", lives), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				k := New[string, int](clocktesting.NewFakePassiveClock(beginning), 2, timeout)
				begun, end := make(chan struct{}), make(chan struct{})
				answers := make(chan int, 3)
				first, leave := context.WithCancel(t.Context())
				ask := func(ctx context.Context) {
					got, err := k.Get(ctx, "a", func(ctx context.Context) (int, time.Duration, error) {
						close(begun) // a second time would panic
						<-end
						return 7, lives, ctx.Err()
					})
					g.Expect(err).NotTo(HaveOccurred())
					answers <- got
				}
				go ask(first)
				<-begun
				go ask(t.Context())
				go ask(t.Context())
				synctest.Wait()
				leave()
				close(end)
				for range 3 {
					g.Expect(<-answers).To(Equal(7))
				}
			})
		})
	}
}

// TestAQuestionThatHasNoAnswerEnds: what is asked is given up after its time.
func TestAQuestionThatHasNoAnswerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		k := New[string, int](clocktesting.NewFakePassiveClock(beginning), 2, timeout)
		_, err := k.Get(t.Context(), "a", func(ctx context.Context) (int, time.Duration, error) {
			<-ctx.Done()
			return 0, 0, ctx.Err()
		})
		g.Expect(err).To(MatchError(context.DeadlineExceeded))
	})
}
