package worker

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// shift is a pool whose reconciles last until they are told to go on.
type shift struct {
	*Pool

	most  atomic.Int32 // that were under way at the same time
	goOn  chan struct{}
	stop  func()
	ended chan struct{}
}

// start runs a pool with keys in its queue.
func start(t *testing.T, workers, keys int) *shift {
	t.Helper()
	q := testQueue(t)
	for i := range keys {
		q.Enqueue(0, keyOf(fmt.Sprint(i)))
	}
	s := &shift{goOn: make(chan struct{}), ended: make(chan struct{})}
	s.Pool = NewPool(q, workers, func(context.Context, types.NamespacedName) {
		now := int32(s.Busy())
		for most := s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); most = s.most.Load() {
		}
		<-s.goOn
	}, func(_ types.NamespacedName, value any, _ []byte) { t.Error(value) })
	ctx, cancel := context.WithCancel(t.Context())
	s.stop = cancel
	go func() {
		defer close(s.ended)
		s.Run(ctx, t.Context())
	}()
	return s
}

func TestNoMoreReconcilesThanWorkers(t *testing.T) {
	g := NewWithT(t)
	s := start(t, 2, 20)
	g.Eventually(s.Busy).WithTimeout(soonEnough).Should(Equal(2))
	for range 20 {
		s.goOn <- struct{}{}
	}
	g.Eventually(s.Busy).WithTimeout(soonEnough).Should(BeZero())
	g.Expect(s.most.Load()).To(Equal(int32(2)))
	s.stop()
	g.Eventually(s.ended).WithTimeout(soonEnough).Should(BeClosed())
}

func TestMoreWorkersBeginAtOnce(t *testing.T) {
	g := NewWithT(t)
	s := start(t, 1, 20)
	g.Eventually(s.Busy).WithTimeout(soonEnough).Should(Equal(1))
	s.SetWorkers(5)
	g.Expect(s.Workers()).To(Equal(5))
	g.Eventually(s.Busy).WithTimeout(soonEnough).Should(Equal(5))
	s.stop()
	close(s.goOn)
	g.Eventually(s.ended).WithTimeout(soonEnough).Should(BeClosed())
	g.Expect(s.Busy()).To(BeZero())
}

func TestFewerWorkersFinishWhatIsUnderWay(t *testing.T) {
	g := NewWithT(t)
	s := start(t, 4, 20)
	g.Eventually(s.Busy).WithTimeout(soonEnough).Should(Equal(4))
	s.SetWorkers(1)
	g.Expect(s.Busy()).To(Equal(4))
	for range 3 {
		s.goOn <- struct{}{}
	}
	g.Eventually(s.Busy).WithTimeout(soonEnough).Should(Equal(1))
	s.most.Store(0)
	for range 17 {
		s.goOn <- struct{}{}
	}
	g.Eventually(s.Busy).WithTimeout(soonEnough).Should(BeZero())
	g.Expect(s.most.Load()).To(Equal(int32(1)))
	s.stop()
}

// The number is lowered while the pool waits for a key with a worker that was free then, and is one too many now.
func TestFewerWorkersWhileThereIsNothingToDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		s := start(t, 2, 1)
		synctest.Wait()
		g.Expect(s.Busy()).To(Equal(1), "and the pool waits for a second key")
		s.SetWorkers(1)
		s.queue.Enqueue(0, keyOf("second"))
		synctest.Wait()
		g.Expect(s.Busy()).To(Equal(1))
		s.goOn <- struct{}{}
		synctest.Wait()
		g.Expect(s.Busy()).To(Equal(1), "it follows")
		s.goOn <- struct{}{}
		g.Expect(s.most.Load()).To(Equal(int32(1)))
		s.stop()
		<-s.ended
		s.queue.ShutDown()
	})
}

func TestAPoolStops(t *testing.T) {
	for name, tc := range map[string]struct{ workers, keys, busy int }{
		"while it waits for keys":    {workers: 4},
		"while it waits for workers": {workers: 1, keys: 10, busy: 1},
		"without workers":            {workers: 0, keys: 10},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := start(t, tc.workers, tc.keys)
			g.Eventually(s.Busy).WithTimeout(soonEnough).Should(Equal(tc.busy))
			s.stop()
			if tc.busy > 0 {
				g.Consistently(s.ended, "20ms").ShouldNot(BeClosed(), "what is under way is finished")
			}
			close(s.goOn)
			g.Eventually(s.ended).WithTimeout(soonEnough).Should(BeClosed())
			g.Expect(s.Busy()).To(BeZero())
			_, found := s.queue.Take()
			g.Expect(found).To(BeFalse())
		})
	}
}

func TestNumbersOfWorkersThatChangeAllTheTime(t *testing.T) {
	g := NewWithT(t)
	const keys = 500
	s := start(t, 1, keys)
	var changing sync.WaitGroup
	changing.Go(func() {
		for i := range 300 {
			s.SetWorkers(1 + i%5)
		}
	})
	for range keys {
		s.goOn <- struct{}{}
	}
	changing.Wait()
	g.Eventually(s.Busy).WithTimeout(soonEnough).Should(BeZero())
	g.Expect(s.most.Load()).To(BeNumerically("<=", 5))
	s.stop()
	g.Eventually(s.ended).WithTimeout(soonEnough).Should(BeClosed())
}

// The stacks of goroutines that have worked a while are large, and growing one anew for each key costs a twentieth of a burst.
func TestABusyWorkerKeepsItsGoroutineAndAnIdleOneHasNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		q := testQueue(t)
		var goroutines []string
		p := NewPool(q, 1, func(context.Context, types.NamespacedName) {
			goroutine, _, _ := strings.Cut(string(debug.Stack()), "[")
			goroutines = append(goroutines, goroutine)
		}, func(_ types.NamespacedName, value any, _ []byte) { t.Error(value) })
		q.Enqueue(0, keyOf("a"), keyOf("b"), keyOf("c"))
		before := runtime.NumGoroutine()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); p.Run(ctx, ctx) }()
		synctest.Wait()
		g.Expect(goroutines).To(HaveLen(3))
		g.Expect(sets.New(goroutines...)).To(HaveLen(1))
		g.Expect(runtime.NumGoroutine()-before).To(Equal(1), "that of Run")
		stop()
		<-ended
		q.ShutDown()
	})
}

// What is added while all workers are busy is reconciled before what has waited and is less urgent.
func TestAWorkerTakesWhatIsMostUrgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		q := testQueue(t)
		var order []string
		goOn := make(chan struct{})
		p := NewPool(q, 1, func(_ context.Context, key types.NamespacedName) {
			order = append(order, key.Name)
			<-goOn
		}, func(_ types.NamespacedName, value any, _ []byte) { t.Error(value) })
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); p.Run(ctx, ctx) }()
		q.EnqueueLow(0, keyOf("first"), keyOf("low"))
		synctest.Wait()
		q.Enqueue(0, keyOf("urgent"))
		close(goOn)
		synctest.Wait()
		g.Expect(order).To(Equal([]string{"first", "urgent", "low"}))
		stop()
		<-ended
		q.ShutDown()
	})
}

// A reconcile that does not return is told of, and its worker goes on: what panicked, and what called runtime.Goexit, as t.FailNow does.
func TestAReconcileThatDoesNotReturnEndsAlone(t *testing.T) {
	for what, tc := range map[string]struct {
		end  func()
		says string
	}{
		"a panic":     {func() { panic("bug") }, "web-bad: bug"},
		"panic(nil)":  {func() { panic(nil) }, "web-bad: panic called with nil argument"}, //nolint:govet // users do
		"an exit":     {runtime.Goexit, "web-bad: runtime.Goexit was called"},
		"an odd exit": {func() { defer runtime.Goexit(); panic("bug") }, "web-bad: runtime.Goexit was called"},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			q := testQueue(t)
			caught, ran := make(chan string, 2), make(chan string, 2)
			p := NewPool(q, 1, func(_ context.Context, key types.NamespacedName) {
				ran <- key.Name
				if key.Name == "web-bad" {
					tc.end()
				}
			}, func(key types.NamespacedName, value any, stack []byte) {
				caught <- fmt.Sprint(key.Name, ": ", value, string(stack))
			})
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() { defer close(ended); p.Run(ctx, ctx) }()
			for _, name := range []string{"web-bad", "good"} {
				q.Enqueue(0, keyOf(name))
				g.Eventually(ran).WithTimeout(soonEnough).Should(Receive(Equal(name)))
			}
			g.Eventually(caught).WithTimeout(soonEnough).Should(Receive(And(HavePrefix(tc.says), ContainSubstring("pool_test.go"))))
			stop()
			g.Eventually(ended).WithTimeout(soonEnough).Should(BeClosed())
			g.Expect(caught).To(BeEmpty(), "it is told once, and of nothing else")
		})
	}
}

func TestHowMuchOfTheirTimeWorkersAreBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		s := start(t, 4, 3)
		used := func() []time.Duration {
			busy, had := s.Used()
			return []time.Duration{busy, had}
		}
		synctest.Wait()
		time.Sleep(10 * time.Second)
		g.Expect(used()).To(Equal([]time.Duration{30 * time.Second, 40 * time.Second}))
		s.goOn <- struct{}{}
		synctest.Wait()
		time.Sleep(10 * time.Second)
		g.Expect(used()).To(Equal([]time.Duration{50 * time.Second, 80 * time.Second}))
		s.SetWorkers(1)
		time.Sleep(10 * time.Second)
		g.Expect(used()).To(Equal([]time.Duration{70 * time.Second, 90 * time.Second}), "what is under way is finished")
		close(s.goOn)
		s.stop()
		<-s.ended
	})
}
