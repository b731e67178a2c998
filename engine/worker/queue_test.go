package worker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
)

func keyOf(name string) types.NamespacedName { return types.NamespacedName{Name: name} }

// testQueue is an open queue that is shut down when the test ends.
func testQueue(t *testing.T) *Queue {
	t.Helper()
	return boundedQueue(t, 0)
}

// boundedQueue is an open queue with a bound, which the keys of urgent pass.
func boundedQueue(t *testing.T, bound int, urgent ...string) *Queue {
	t.Helper()
	passes := map[string]bool{}
	for _, name := range urgent {
		passes[name] = true
	}
	q := NewQueue(func(key types.NamespacedName) bool { return passes[key.Name] })
	q.SetBound(bound)
	q.Open()
	t.Cleanup(q.ShutDown)
	return q
}

// taken gives the names of the next keys, each of which is done before the next one is taken.
func taken(g Gomega, q *Queue, n int) []string {
	var order []string
	for range n {
		key, found := q.Take()
		g.Expect(found).To(BeTrue())
		order = append(order, key.Name)
		q.Done(key)
	}
	return order
}

const (
	soonEnough = 10 * time.Second

	nameEvent, nameSweep, nameDeleted = "event", "sweep", "deleted"
)

func TestLowStandsBehindWhatHappens(t *testing.T) {
	g := NewWithT(t)
	q := testQueue(t)
	q.EnqueueLow(0, keyOf(nameSweep))
	q.Enqueue(0, keyOf(nameEvent))
	g.Expect(q.Len()).To(Equal(2))
	g.Expect(taken(g, q, 2)).To(Equal([]string{nameEvent, nameSweep}))
}

func TestAQueueThatIsNotOpenKeepsNothing(t *testing.T) {
	g := NewWithT(t)
	q := NewQueue(nil)
	defer q.ShutDown()
	q.Enqueue(0, keyOf("before"))
	q.EnqueueLow(0, keyOf("before"))
	g.Expect(q.Len()).To(BeZero())
	q.Open()
	q.Enqueue(0, keyOf("after"))
	g.Expect(q.Len()).To(Equal(1))
}

func TestAQueueMayBeShutDownTwice(t *testing.T) {
	g := NewWithT(t)
	q := testQueue(t)
	q.ShutDown()
	q.ShutDown()
	_, found := q.Take()
	g.Expect(found).To(BeFalse())
}

func TestTheBestPriorityAndTheEarliestTimeWin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		q := testQueue(t)
		q.EnqueueLow(time.Hour, keyOf("a"))
		q.EnqueueLow(0, keyOf("b"))
		q.Enqueue(time.Minute, keyOf("a"))
		q.Enqueue(time.Hour, keyOf("a"), keyOf("b"))
		g.Expect(q.Len()).To(Equal(1), "a is not due")
		time.Sleep(time.Minute)
		synctest.Wait()
		g.Expect(q.Len()).To(Equal(2))
		g.Expect(taken(g, q, 2)).To(Equal([]string{"b", "a"}), "both as events, in the order in which they were due")
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		g.Expect(q.Len()).To(BeZero(), "a key is in it once")
		q.ShutDown()
	})
}

func TestAKeyIsNotGivenOutBeforeItIsDone(t *testing.T) {
	g := NewWithT(t)
	q := boundedQueue(t, 1)
	q.Enqueue(0, keyOf("a"))
	a, _ := q.Take()
	q.Enqueue(0, keyOf("a"), keyOf("b"))
	g.Expect(q.Len()).To(Equal(2))
	g.Expect(taken(g, q, 1)).To(Equal([]string{"b"}), "a takes no room while it is reconciled")
	q.Done(a)
	g.Expect(taken(g, q, 1)).To(Equal([]string{"a"}))
}

func TestKeysAboveTheBoundWaitOutside(t *testing.T) {
	g := NewWithT(t)
	q := boundedQueue(t, 1, nameDeleted)
	q.EnqueueLow(0, keyOf("first"), keyOf(nameSweep), keyOf("swept"))
	q.Enqueue(0, keyOf(nameEvent), keyOf("another"))
	q.Enqueue(0, keyOf("swept"))
	q.EnqueueLow(0, keyOf(nameSweep))
	g.Expect(q.Len()).To(Equal(5), "what waits outside waits for a worker, too")
	g.Expect(inside(q)).To(Equal(1))
	q.EnqueueLow(0, keyOf(nameDeleted))
	g.Expect(inside(q)).To(Equal(2))
	g.Expect(taken(g, q, 6)).To(Equal([]string{"first", nameDeleted, nameEvent, "another", "swept", nameSweep}),
		"who was inside, who passes, and then the events, in their order")
}

// What enters later may not stand in front of a key that has passed it.
func TestWhoPassesWaitsForNoMoreThanTheBound(t *testing.T) {
	g := NewWithT(t)
	q := boundedQueue(t, 3, nameDeleted)
	for i := range 100 {
		q.Enqueue(0, keyOf(fmt.Sprint(i)))
	}
	q.Enqueue(0, keyOf(nameDeleted))
	g.Expect(taken(g, q, 5)).To(Equal([]string{"0", "1", "2", nameDeleted, "3"}))
}

func TestTenThousandEventsUnderABoundOfOne(t *testing.T) {
	g := NewWithT(t)
	const keys = 10_000
	q := boundedQueue(t, 1, nameDeleted)
	var all []string
	for range 2 { // each has two events
		for i := range keys {
			q.Enqueue(0, keyOf(fmt.Sprint(i)))
		}
	}
	for i := range keys {
		all = append(all, fmt.Sprint(i))
	}
	q.Enqueue(0, keyOf(nameDeleted))
	g.Expect(q.Len()).To(Equal(keys + 1))
	g.Expect(inside(q)).To(Equal(2))
	g.Expect(taken(g, q, keys+1)).To(Equal(slices.Insert(all, 1, nameDeleted)), "none is lost, and a deletion waits for one")
	g.Expect(q.Len()).To(BeZero())
}

func TestAKeyOutsideEntersWhenItMayPass(t *testing.T) {
	g := NewWithT(t)
	deleted := false
	q := NewQueue(func(types.NamespacedName) bool { return deleted })
	defer q.ShutDown()
	q.SetBound(1)
	q.Open()
	q.Enqueue(0, keyOf("first"), keyOf("second"), keyOf("third"))
	deleted = true
	q.Enqueue(0, keyOf("third"))
	g.Expect(taken(g, q, 3)).To(Equal([]string{"first", "third", "second"}))
}

func TestDelayedKeysCountWhenTheyAreDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		q := boundedQueue(t, 2, nameDeleted)
		q.Enqueue(time.Minute, keyOf("a"), keyOf("b"), keyOf("c"), keyOf(nameDeleted))
		q.Enqueue(0, keyOf(nameEvent), keyOf("another"))
		g.Expect(inside(q)).To(Equal(2))
		time.Sleep(time.Minute)
		synctest.Wait()
		g.Expect(q.Len()).To(Equal(6))
		g.Expect(inside(q)).To(Equal(3))
		g.Expect(taken(g, q, 6)).To(Equal([]string{nameEvent, "another", nameDeleted, "a", "b", "c"}))
		q.ShutDown()
	})
}

// TestTheWaitOfAKeyBeginsWhenItIsDue: not when it was asked for, and not anew when it is asked for once more, or enters from outside.
func TestTheWaitOfAKeyBeginsWhenItIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		q := boundedQueue(t, 1)
		var waits []time.Duration
		q.Tell(func(wait time.Duration) { waits = append(waits, wait) })
		g.Expect(q.Oldest()).To(BeZero())
		q.Enqueue(time.Second, keyOf("later"))
		g.Expect(q.Oldest()).To(BeZero(), "it is not due")
		time.Sleep(time.Second)
		synctest.Wait()
		g.Expect(q.Oldest()).To(BeZero(), "it has just become due")
		time.Sleep(time.Second)
		q.Enqueue(0, keyOf("later"), keyOf("outside"))
		time.Sleep(time.Second)
		g.Expect(q.Oldest()).To(Equal(2 * time.Second))
		g.Expect(taken(g, q, 1)).To(Equal([]string{"later"}))
		g.Expect(q.Oldest()).To(Equal(time.Second))
		time.Sleep(time.Second)
		key, _ := q.Take()
		g.Expect(key).To(Equal(keyOf("outside")))
		q.Enqueue(0, key) // while it is given out
		time.Sleep(3 * time.Second)
		g.Expect(q.Oldest()).To(Equal(3*time.Second), "it waits for itself")
		q.Done(key)
		g.Expect(taken(g, q, 1)).To(Equal([]string{"outside"}))
		g.Expect(waits).To(Equal([]time.Duration{2 * time.Second, 2 * time.Second, 3 * time.Second}))
		g.Expect(q.Oldest()).To(BeZero())
	})
}

// BenchmarkQueue is what a key costs that is added, given out and done.
func BenchmarkQueue(b *testing.B) {
	q := NewQueue(nil)
	q.Open()
	defer q.ShutDown()
	key := keyOf("a")
	b.ReportAllocs()
	for b.Loop() {
		q.Enqueue(0, key)
		_, _ = q.Take()
		q.Done(key)
	}
}

func TestTheBoundOfAQueueChanges(t *testing.T) {
	g := NewWithT(t)
	q := boundedQueue(t, 1)
	for i := range 10 {
		q.Enqueue(0, keyOf(fmt.Sprint(i)))
	}
	g.Expect(inside(q)).To(Equal(1))
	q.SetBound(4)
	g.Expect(inside(q)).To(Equal(4), "they enter at once")
	q.SetBound(2)
	g.Expect(inside(q)).To(Equal(4), "nobody is put out")
	g.Expect(taken(g, q, 2)).To(Equal([]string{"0", "1"}))
	g.Expect(inside(q)).To(Equal(2))
	q.SetBound(0)
	g.Expect(inside(q)).To(Equal(8))
	g.Expect(taken(g, q, 8)).To(Equal([]string{"2", "3", "4", "5", "6", "7", "8", "9"}))
}

// asked is what a test has asked of the queue for one key since it was last given out.
type asked struct {
	low bool
	due time.Time
}

// inside is the number of keys that can be given out now.
func inside(q *Queue) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.inside.Len()
}

// Whatever happens, in whatever order: no key is lost, none is given out twice at once, or asked for too late, or behind what is less.
func TestAQueueUnderEverythingThatMayHappen(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { randomOperations(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func randomOperations(t *testing.T, random *rand.Rand) {
	t.Helper()
	g := NewWithT(t)
	q := boundedQueue(t, random.IntN(4), "0", "1")
	wanted, given := map[types.NamespacedName]asked{}, map[types.NamespacedName]bool{}
	get := func() {
		low := false
		q.mu.Lock()
		for key, want := range wanted {
			// It can be given out, and stands inside in front of all that is low.
			low = low || !want.low && !given[key] && q.keys[key].in == q.inside
		}
		q.mu.Unlock()
		key, found := q.Take()
		g.Expect(found).To(BeTrue())
		g.Expect(given).NotTo(HaveKey(key), "it is given out, and not done")
		g.Expect(wanted).To(HaveKey(key))
		g.Expect(wanted[key].due).NotTo(BeTemporally(">", time.Now()))
		g.Expect(low && wanted[key].low).To(BeFalse(), "an event stands behind it")
		delete(wanted, key)
		given[key] = true
	}
	for range 400 {
		key := keyOf(fmt.Sprint(random.IntN(12)))
		switch n := random.IntN(10); {
		case n < 4:
			low, after := random.IntN(2) == 0, time.Duration(max(0, random.IntN(6)-2))*time.Second
			q.add(after, low, []types.NamespacedName{key})
			want, known := wanted[key]
			if due := time.Now().Add(after); !known || due.Before(want.due) {
				want.due = due
			}
			wanted[key] = asked{low: low && (!known || want.low), due: want.due}
		case n < 6 && inside(q) > 0:
			get()
		case n < 8:
			delete(given, key)
			q.Done(key)
		case n == 8:
			q.SetBound(random.IntN(5))
		default:
			time.Sleep(time.Second)
			synctest.Wait()
		}
		consistent(g, q, wanted)
	}
	for key := range given {
		q.Done(key)
	}
	clear(given)
	time.Sleep(time.Minute)
	synctest.Wait()
	for len(wanted) > 0 {
		g.Expect(inside(q)).To(BeNumerically(">", 0), "%v are lost", wanted)
		before := len(wanted)
		get()
		for key := range given {
			q.Done(key)
		}
		clear(given)
		g.Expect(wanted).To(HaveLen(before - 1))
	}
	g.Expect(q.Len()).To(BeZero())
	q.ShutDown()
}

// consistent says that the queue holds what was asked of it, and nothing else, each where it belongs.
func consistent(g Gomega, q *Queue, wanted map[types.NamespacedName]asked) {
	length := q.Len()
	q.mu.Lock() // the timer of delayed keys may run beside the test
	defer q.mu.Unlock()
	g.Expect(q.keys).To(HaveLen(len(wanted)))
	due, parked := 0, 0
	for key, want := range wanted {
		e := q.keys[key]
		g.Expect(e).NotTo(BeNil(), "%s is lost", key)
		g.Expect(e.low).To(Equal(want.low))
		if want.due.After(time.Now()) {
			g.Expect(e.in).To(BeIdenticalTo(q.delayed))
		} else {
			g.Expect(e.in).NotTo(BeIdenticalTo(q.delayed))
			due++
		}
		if e.in == nil {
			g.Expect(q.given).To(HaveKey(key))
			parked++
		}
	}
	g.Expect(length).To(Equal(due))
	g.Expect(q.inside.Len() + q.outside.Len() + q.delayed.Len() + parked).To(Equal(len(wanted)))
	if q.outside.Len() > 0 {
		g.Expect(q.bound).To(BeNumerically(">", 0))
		g.Expect(q.inside.Len()).To(BeNumerically(">=", q.bound), "there is room, and others wait outside")
	}
}
