package worker

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
)

func keyOf(name string) types.NamespacedName { return types.NamespacedName{Name: name} }

// testQueue is an open queue that is shut down when the test ends.
func testQueue(t *testing.T) *Queue {
	t.Helper()
	q := NewQueue()
	q.Open()
	t.Cleanup(q.ShutDown)
	return q
}

const soonEnough = 10 * time.Second

func TestLowStandsBehindWhatHappens(t *testing.T) {
	g := NewWithT(t)
	q := testQueue(t)
	q.EnqueueLow(0, keyOf("sweep"))
	q.Enqueue(0, keyOf("event"))
	g.Eventually(q.Len).WithTimeout(soonEnough).Should(Equal(2))
	var order []string
	for range 2 {
		key, over := q.Get()
		g.Expect(over).To(BeFalse())
		order = append(order, key.Name)
		q.Done(key)
	}
	g.Expect(order).To(Equal([]string{"event", "sweep"}))
}

func TestAQueueThatIsNotOpenKeepsNothing(t *testing.T) {
	g := NewWithT(t)
	q := NewQueue()
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
	_, over := q.Get()
	g.Expect(over).To(BeTrue())
}
