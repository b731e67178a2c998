package engine

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}

// testQueue is a queue that is shut down when the test ends.
func testQueue(t *testing.T, limit, items int) *queue {
	t.Helper()
	q := newQueue(limit)
	t.Cleanup(q.ShutDown)
	for i := range items {
		q.Add(request(fmt.Sprint(i)))
	}
	return q
}

// workers take items until the queue is shut down, and hold each of them until they are told to go on.
type workers struct {
	sync.WaitGroup

	running atomic.Int32
	most    atomic.Int32
	goOn    chan struct{}
}

func start(q *queue, n int) *workers {
	w := &workers{goOn: make(chan struct{})}
	for range n {
		w.Go(func() {
			for {
				item, shutdown := q.Get()
				if shutdown {
					return
				}
				now := w.running.Add(1)
				for {
					most := w.most.Load()
					if now <= most || w.most.CompareAndSwap(most, now) {
						break
					}
				}
				<-w.goOn
				w.running.Add(-1)
				q.Done(item)
			}
		})
	}
	return w
}

const soonEnough = 10 * time.Second

func TestNoMoreItemsThanPermits(t *testing.T) {
	g := NewWithT(t)
	q := testQueue(t, 2, 20)
	w := start(q, 8)
	g.Eventually(w.running.Load).WithTimeout(soonEnough).Should(Equal(int32(2)))
	for range 20 {
		w.goOn <- struct{}{}
	}
	g.Eventually(q.inUse).WithTimeout(soonEnough).Should(BeZero(), "Done gives the permits back")
	g.Expect(w.most.Load()).To(Equal(int32(2)))
	q.ShutDown()
	w.Wait()
}

func TestARaisedLimitWakesThoseWhoWait(t *testing.T) {
	g := NewWithT(t)
	q := testQueue(t, 1, 20)
	w := start(q, 8)
	g.Eventually(w.running.Load).WithTimeout(soonEnough).Should(Equal(int32(1)))
	q.setLimit(5)
	g.Eventually(w.running.Load).WithTimeout(soonEnough).Should(Equal(int32(5)))
	g.Expect(q.inUse()).To(Equal(5))
	close(w.goOn)
	g.Eventually(q.inUse).WithTimeout(soonEnough).Should(BeZero())
	q.ShutDown()
	w.Wait()
}

func TestALoweredLimitFinishesWhatIsUnderWay(t *testing.T) {
	g := NewWithT(t)
	q := testQueue(t, 4, 20)
	w := start(q, 8)
	g.Eventually(w.running.Load).WithTimeout(soonEnough).Should(Equal(int32(4)))
	q.setLimit(1)
	g.Expect(q.inUse()).To(Equal(4))
	for range 3 {
		w.goOn <- struct{}{}
	}
	g.Eventually(w.running.Load).WithTimeout(soonEnough).Should(Equal(int32(1)))
	w.most.Store(0)
	for range 17 {
		w.goOn <- struct{}{}
	}
	g.Eventually(q.inUse).WithTimeout(soonEnough).Should(BeZero())
	g.Expect(w.most.Load()).To(Equal(int32(1)))
	q.ShutDown()
	w.Wait()
}

func TestALimitThatIsLoweredWhileWorkersWaitForItems(t *testing.T) {
	g := NewWithT(t)
	q := testQueue(t, 4, 0)
	w := start(q, 4)
	g.Eventually(func() int { q.mu.Lock(); defer q.mu.Unlock(); return q.out }).WithTimeout(soonEnough).Should(Equal(4), "all have a permit and wait for items")
	q.setLimit(1)
	for i := range 8 {
		q.Add(request(fmt.Sprint(i)))
	}
	for range 8 {
		w.goOn <- struct{}{}
	}
	g.Eventually(q.inUse).WithTimeout(soonEnough).Should(BeZero())
	g.Expect(w.most.Load()).To(Equal(int32(1)), "a permit of before does not count")
	q.ShutDown()
	w.Wait()
}

func TestShutDown(t *testing.T) {
	cases := map[string]struct {
		limit, items int
		busy         int32
	}{
		"while workers wait for items":   {limit: 4},
		"while workers wait for permits": {limit: 1, items: 10, busy: 1},
		"without permits":                {limit: 0, items: 10},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			q := testQueue(t, tc.limit, tc.items)
			w := start(q, 4)
			g.Eventually(w.running.Load).WithTimeout(soonEnough).Should(Equal(tc.busy))
			var all sync.WaitGroup
			for range 4 {
				all.Go(q.ShutDown)
			}
			all.Wait()
			close(w.goOn)
			ended := make(chan struct{})
			var waiting sync.WaitGroup
			waiting.Go(func() { w.Wait(); close(ended) })
			g.Eventually(ended).WithTimeout(soonEnough).Should(BeClosed())
			waiting.Wait()
			q.ShutDownWithDrain()
			_, shutdown := q.Get()
			g.Expect(shutdown).To(BeTrue())
			g.Expect(q.inUse()).To(BeZero())
		})
	}
}

func TestLowStandsBehindWhatHappens(t *testing.T) {
	g := NewWithT(t)
	q := testQueue(t, 1, 0)
	q.low(0, request("sweep"))
	q.Add(request("event"))
	g.Eventually(q.Len).WithTimeout(soonEnough).Should(Equal(2))
	var order []string
	for range 2 {
		item, _, shutdown := q.GetWithPriority()
		g.Expect(shutdown).To(BeFalse())
		order = append(order, item.Name)
		q.Done(item)
	}
	g.Expect(order).To(Equal([]string{"event", "sweep"}))
}

func TestLimitsThatChangeAllTheTime(t *testing.T) {
	g := NewWithT(t)
	const items = 500
	q := testQueue(t, 1, items)
	w := start(q, 6)
	var changing sync.WaitGroup
	changing.Go(func() {
		for i := range 300 {
			q.setLimit(1 + i%5)
		}
	})
	for range items {
		w.goOn <- struct{}{}
	}
	changing.Wait()
	g.Eventually(q.inUse).WithTimeout(soonEnough).Should(BeZero())
	g.Expect(w.most.Load()).To(BeNumerically("<=", 5))
	q.ShutDown()
	w.Wait()
	q.mu.Lock()
	defer q.mu.Unlock()
	g.Expect(q.out).To(BeZero(), "every permit is given back")
}
