package history

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
)

var began = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

// started gives a history that remembers since began.
func started(tb testing.TB) (*History, *clocktesting.FakeClock) {
	tb.Helper()
	clk := clocktesting.NewFakeClock(began)
	h := New(clk)
	ctx, cancel := context.WithCancel(tb.Context())
	var running sync.WaitGroup
	running.Go(func() { NewWithT(tb).Expect(h.Start(ctx)).To(Succeed()) })
	tb.Cleanup(func() { cancel(); running.Wait() })
	NewWithT(tb).Eventually(clk.HasWaiters).Should(BeTrue())
	return h, clk
}

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "team-a", Name: name}
}

func after(d time.Duration, message string) *Cycle {
	return &Cycle{At: began.Add(d), Took: time.Second, Outcome: Success, Message: message}
}

func messages(all []*Cycle) (out []string) {
	for _, c := range all {
		out = append(out, c.Message)
	}
	return out
}

func TestTheLastReconcilesAreRemembered(t *testing.T) {
	g := NewWithT(t)
	h, _ := started(t)
	for n := range most + 3 {
		h.Note("web", key("shop"), after(time.Duration(n)*time.Minute, fmt.Sprint(n)))
	}
	h.Note("web", key("other"), after(0, "other"))
	h.Note("mail", key("shop"), after(0, "of another box"))
	g.Expect(messages(h.Cycles("web", key("shop")))).To(Equal([]string{"12", "11", "10", "9", "8", "7", "6", "5", "4", "3"}))
	g.Expect(messages(h.Cycles("web", key("other")))).To(Equal([]string{"other"}))
	g.Expect(h.Cycles("web", key("nothing"))).To(BeEmpty())
	g.Expect(h.Cycles("nothing", key("shop"))).To(BeEmpty())
	h.Drop("web", key("shop"))
	h.Drop("web", key("nothing"))
	g.Expect(h.Cycles("web", key("shop"))).To(BeEmpty())
	h.Forget("web")
	h.Forget("nothing")
	g.Expect(h.Cycles("web", key("other"))).To(BeEmpty())
	g.Expect(messages(h.Cycles("mail", key("shop")))).To(Equal([]string{"of another box"}))
	h.Forget("mail")
	g.Expect(h.bytes).To(BeZero())
	g.Expect(h.recent.Len()).To(BeZero())
}

// TestEqualReconcilesCountAsOne: what fails again and again does not push out what was before it.
func TestEqualReconcilesCountAsOne(t *testing.T) {
	g := NewWithT(t)
	h, _ := started(t)
	h.Note("web", key("shop"), after(0, "well"))
	handed := h.Cycles("web", key("shop"))[0]
	for n := range 100 {
		h.Note("web", key("shop"), after(time.Duration(n+1)*time.Minute, "the same"))
	}
	writing := after(time.Hour*2, "the same")
	writing.Writes = []Write{{Action: "created", Kind: "Pod", Name: "p"}}
	h.Note("web", key("shop"), writing)
	all := h.Cycles("web", key("shop"))
	g.Expect(messages(all)).To(Equal([]string{"the same", "the same", "well"}))
	g.Expect(all[1].Times).To(Equal(100))
	g.Expect(all[1].First).To(Equal(began.Add(time.Minute)))
	g.Expect(all[1].At).To(Equal(began.Add(100 * time.Minute)))
	g.Expect(all[0].Times).To(Equal(1), "one that has written stands for itself")
	g.Expect(handed.Times).To(Equal(1), "what was handed out does not change")
}

func TestTextsAndWritesAreBounded(t *testing.T) {
	g := NewWithT(t)
	h, _ := started(t)
	long := after(0, strings.Repeat("ä", maxText))
	for n := range 1000 {
		long.Writes = append(long.Writes, Write{Action: "created", Kind: "Pod", Name: fmt.Sprint(n)})
	}
	h.Note("web", key("shop"), long)
	got := h.Cycles("web", key("shop"))[0]
	g.Expect(len(got.Message)).To(BeNumerically("<=", maxText+len("…")))
	g.Expect(utf8.ValidString(got.Message)).To(BeTrue())
	g.Expect(got.Writes).To(HaveLen(maxWrites))
	g.Expect(got.Unnamed).To(Equal(1000 - maxWrites))
}

// TestNothingIsRememberedBeforeTheStart: who does not lead remembers nothing, and says so.
func TestNothingIsRememberedBeforeTheStart(t *testing.T) {
	g := NewWithT(t)
	h := New(clocktesting.NewFakeClock(began))
	h.Note("web", key("shop"), after(0, "x"))
	g.Expect(h.Cycles("web", key("shop"))).To(BeEmpty())
	g.Expect(h.Since()).To(BeZero())
	h, _ = started(t)
	g.Expect(h.Since()).To(Equal(began))
	g.Expect(h.NeedLeaderElection()).To(BeTrue())
	var none *History
	none.Note("web", key("shop"), after(0, "x"))
	none.Measure("web", nil)
	none.Drop("web", key("shop"))
	none.Forget("web")
	g.Expect(none.Cycles("web", key("shop"))).To(BeEmpty())
	g.Expect(none.Hour("web")).To(BeEmpty())
	g.Expect(none.Since()).To(BeZero())
}

// TestItStaysSmall: 300 boxes and 50,000 resources that never rest take no more than is allowed; the resources that were active last are known.
func TestItStaysSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("fills the history")
	}
	g := NewWithT(t)
	h, _ := started(t)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for n := range 300 {
		h.Measure(fmt.Sprintf("box-%03d", n), func() Sample { return Sample{Total: 1} })
	}
	for range minutes {
		h.look()
	}
	for round := range 3 {
		for n := range 50_000 {
			c := after(time.Duration(round)*time.Minute, fmt.Sprintf("round %d of resource %d: %s", round, n, strings.Repeat("x", n%600)))
			for s := range 8 {
				c.Stages = append(c.Stages, Stage{Name: "children", Took: time.Duration(s)})
			}
			for w := range n % 5 {
				c.Writes = append(c.Writes, Write{Action: "created", Kind: "Pod", Name: fmt.Sprintf("child-%d-%d", n, w)})
			}
			h.Note(fmt.Sprintf("box-%03d", n%300), key(fmt.Sprintf("resource-%05d", n)), c)
		}
	}
	took := int64(heap()) - int64(before)
	t.Logf("%d bytes by our count, %d in the heap, of %d resources", h.bytes, took, h.recent.Len())
	g.Expect(h.bytes).To(BeNumerically("<=", maxBytes))
	g.Expect(took).To(BeNumerically("<", maxBytes+(3<<20)), "with the hours of 300 boxes")
	g.Expect(h.recent.Len()).To(BeNumerically(">", 1000))
	g.Expect(h.Cycles("box-199", key("resource-49999"))).NotTo(BeEmpty(), "the last one")
	g.Expect(h.Cycles("box-000", key("resource-00000"))).To(BeEmpty(), "the oldest one")
	runtime.KeepAlive(h)
}

func TestTheHourOfABox(t *testing.T) {
	g := NewWithT(t)
	h, clk := started(t)
	var mu sync.Mutex
	now := Sample{Total: 4, Ready: 1, Waiting: 2, Failing: 1, Queue: 7}
	h.Measure("web", func() Sample {
		mu.Lock()
		defer mu.Unlock()
		return now
	})
	for n := range 100 {
		c := after(0, "x")
		c.Took = time.Duration(n+1) * 10 * time.Millisecond
		if n%10 == 0 {
			c.Outcome = "Permanent"
		}
		h.Note("web", key("shop"), c)
	}
	clk.Step(step)
	g.Eventually(func() []Minute { return h.Hour("web") }).Should(HaveLen(1))
	first := h.Hour("web")[0]
	g.Expect(first.Sample).To(Equal(now))
	g.Expect(first.At).To(Equal(began.Add(step)))
	g.Expect(first.Reconciles).To(BeEquivalentTo(100))
	g.Expect(first.Failures).To(BeEquivalentTo(10))
	g.Expect(first.P95).To(And(BeNumerically(">=", 950*time.Millisecond), BeNumerically("<=", 1140*time.Millisecond)))
	mu.Lock()
	now.Failing = 0
	mu.Unlock()
	for n := range minutes {
		clk.Step(step)
		g.Eventually(func() time.Time { all := h.Hour("web"); return all[len(all)-1].At }).Should(Equal(began.Add(time.Duration(n+2) * step)))
	}
	hour := h.Hour("web")
	g.Expect(hour).To(HaveLen(minutes))
	g.Expect(hour[0].At).To(Equal(began.Add(2*step)), "the oldest minute goes first")
	g.Expect(hour[0].Reconciles).To(BeZero())
	g.Expect(hour[0].P95).To(BeZero())
	g.Expect(hour[0].Failing).To(BeZero())
}

func TestBucketsOfDurations(t *testing.T) {
	g := NewWithT(t)
	for _, took := range []time.Duration{0, time.Microsecond, time.Millisecond, 1001 * time.Microsecond, 7 * time.Millisecond, time.Second, 119 * time.Second} {
		r := running{reconciles: 1}
		r.took[bucketOf(took)]++
		g.Expect(r.p95()).To(And(BeNumerically(">=", took), BeNumerically("<=", max(time.Millisecond, took+took/5+time.Microsecond))), took.String())
	}
	g.Expect(bucketOf(time.Hour)).To(Equal(buckets - 1))
}
