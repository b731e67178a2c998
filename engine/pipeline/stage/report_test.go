package stage

import (
	"testing"
	"time"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

func TestContentionStandsBeforeWhatComesByItself(t *testing.T) {
	g := gomega.NewWithT(t)
	var r Report
	r.Wait("a", v1alpha1.ReasonWaitingForGate, "first")
	r.Contend("c")
	r.Wait("b", v1alpha1.ReasonWaitingForGate, "second")
	r.Contend("b")
	r.Contend("d")
	var messages []string
	for _, w := range r.Waits {
		messages = append(messages, w.Message)
	}
	g.Expect(messages).To(gomega.Equal([]string{"b", "c", "d", "first", "second"}))
}

// tenth is a guard that has enough of the tenth write.
type tenth struct{ writes int }

func (t *tenth) Count(writes []Written, _ time.Time, resync time.Duration) string {
	if t.writes += len(writes); t.writes < 10 {
		return ""
	}
	return "too much within " + resync.String()
}

func TestWhatIsWrittenWithoutEndIsAWait(t *testing.T) {
	g := gomega.NewWithT(t)
	guard := &tenth{}
	p := &Plan{}
	p.Runtime.Resync = time.Minute
	cycle := func(writes int, ports Ports) []Wait {
		c := NewCycle(p, &unstructured.Unstructured{Object: map[string]any{}}, time.Unix(0, 0), ports)
		c.Writes = make([]Written, writes)
		c.Wait("a", v1alpha1.ReasonWaitingForGate, "first")
		c.CountWrites()
		return c.Waits[1:]
	}
	g.Expect(cycle(9, Ports{LoopGuard: guard})).To(gomega.BeEmpty())
	g.Expect(cycle(1, Ports{LoopGuard: guard})).To(gomega.Equal([]Wait{{Reason: v1alpha1.ReasonRetrying, Message: "too much within 1m0s"}}))
	g.Expect(cycle(10, Ports{})).To(gomega.BeEmpty(), "nobody counts")
}
