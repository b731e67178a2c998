package external

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	testclock "k8s.io/utils/clock/testing"
)

func TestHostThatFailsIsLeftAlone(t *testing.T) {
	g := NewWithT(t)
	healthy := false
	url, calls := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if !healthy {
			w.WriteHeader(http.StatusBadGateway)
		}
	})
	c, clk := newClient(t)
	at := time.Duration(0)
	for i, seconds := range []int{1, 2, 4, 8, 16, 32, 60, 60} {
		clk.SetTime(start.Add(at))
		g.Expect(fails(t, c, get(url)).Held).To(BeFalse(), "try %d is sent", i)
		at += time.Duration(seconds) * time.Second
		clk.SetTime(start.Add(at - time.Nanosecond))
		held := fails(t, c, get(url))
		g.Expect(held.Held).To(BeTrue(), "hold %d is not over", i)
		g.Expect(held.RetryAt).To(Equal(start.Add(at)))
		g.Expect(held.Error()).To(Equal("answered 502 Bad Gateway, expected 200"))
	}
	g.Expect(calls.Load()).To(BeEquivalentTo(8))
	healthy = true
	clk.SetTime(start.Add(at))
	_, err := c.Call(context.Background(), get(url))
	g.Expect(err).NotTo(HaveOccurred())
	_, err = c.Call(context.Background(), get(url))
	g.Expect(err).NotTo(HaveOccurred(), "one success is enough")
}

func TestFailuresOfOneRequestHoldNobodyBack(t *testing.T) {
	for _, status := range []int{404, 500, 501, 401} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			url, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
			c, _ := newClient(t)
			for range 3 {
				NewWithT(t).Expect(fails(t, c, get(url)).Held).To(BeFalse())
			}
			NewWithT(t).Expect(c.limiter.hosts).To(BeEmpty())
		})
	}
}

func TestHostIsAnotherBoxesOwn(t *testing.T) {
	g := NewWithT(t)
	url, calls := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	c, _ := newClient(t)
	g.Expect(fails(t, c, get(url)).Held).To(BeFalse())
	other := get(url)
	other.Box = "other"
	g.Expect(fails(t, c, other).Held).To(BeFalse())
	g.Expect(calls.Load()).To(BeEquivalentTo(2))
	g.Expect(fails(t, c, other).Held).To(BeTrue())
	c.Forget("other")
	g.Expect(fails(t, c, other).Held).To(BeFalse())
	g.Expect(fails(t, c, get(url)).Held).To(BeTrue())
}

// TestDeadHostHoldsFewCalls: of many calls to a host that hangs, a few are under way; when they fail, all others fail at once.
func TestDeadHostHoldsFewCalls(t *testing.T) {
	g := NewWithT(t)
	const callers = 200
	var mu sync.Mutex
	open, most := 0, 0
	let := make(chan struct{})
	url := raw(t, func(conn net.Conn) {
		mu.Lock()
		open++
		most = max(most, open)
		full := open == maxConcurrent
		mu.Unlock()
		if full {
			close(let)
		}
		<-let                         // all that may call do
		io.CopyN(io.Discard, conn, 1) //nolint:errcheck // it hangs up in the middle of the request
	})
	c, _ := newClient(t)
	var wg sync.WaitGroup
	var held sync.Map
	for i := range callers {
		wg.Go(func() { held.Store(i, fails(t, c, get(url)).Held) })
	}
	wg.Wait()
	n := 0
	held.Range(func(_, v any) bool {
		if h, _ := v.(bool); h {
			n++
		}
		return true
	})
	mu.Lock() // a connection tells nobody that its handler has counted
	defer mu.Unlock()
	g.Expect(most).To(Equal(maxConcurrent))
	g.Expect(n).To(Equal(callers - maxConcurrent))
}

func TestWaitingForAHostEnds(t *testing.T) {
	g := NewWithT(t)
	l := newLimiter(testclock.NewFakePassiveClock(start))
	key := hostKey{"shop", "h:80"}
	var turns []*turn
	for range maxConcurrent {
		turn, err := l.enter(context.Background(), key, time.Hour)
		g.Expect(err).NotTo(HaveOccurred())
		turns = append(turns, turn)
	}
	_, err := l.enter(context.Background(), key, time.Millisecond)
	g.Expect(err).To(MatchError("16 calls to the host are under way, and none of them ended within 1ms"))
	for _, turn := range turns {
		turn.leave(nil)
	}
	g.Expect(l.hosts).To(BeEmpty())
}

// TestOneCallTriesAHostThatFailed: after a hold, the next call is alone.
func TestOneCallTriesAHostThatFailed(t *testing.T) {
	g := NewWithT(t)
	clk := testclock.NewFakePassiveClock(start)
	l := newLimiter(clk)
	key := hostKey{"shop", "h:80"}
	enter := func() (*turn, error) { return l.enter(context.Background(), key, time.Hour) }
	first, err := enter()
	g.Expect(err).NotTo(HaveOccurred())
	second, err := enter()
	g.Expect(err).NotTo(HaveOccurred())
	first.leave(trips(transient("down")))
	second.leave(trips(transient("down")))
	g.Expect(l.hosts[key].failures).To(Equal(1), "calls that were under way together are one failure")
	clk.SetTime(start.Add(firstHold))
	try, err := enter()
	g.Expect(err).NotTo(HaveOccurred())
	_, err = enter()
	g.Expect(err).To(MatchError("down"))
	try.abandon()
	try, err = enter()
	g.Expect(err).NotTo(HaveOccurred(), "a call that came to nothing changes nothing")
	try.leave(trips(transient("down")))
	g.Expect(l.hosts[key].until).To(Equal(start.Add(3 * firstHold)))
}

func TestLimiterIsBounded(t *testing.T) {
	g := NewWithT(t)
	clk := testclock.NewFakePassiveClock(start)
	l := newLimiter(clk)
	for i := range maxHosts + 10 {
		clk.SetTime(start.Add(time.Duration(i) * time.Millisecond))
		turn, err := l.enter(context.Background(), hostKey{"shop", fmt.Sprint(i)}, time.Hour)
		g.Expect(err).NotTo(HaveOccurred())
		turn.leave(trips(transient("down")))
	}
	g.Expect(l.hosts).To(HaveLen(maxHosts))
	g.Expect(l.hosts).NotTo(HaveKey(hostKey{"shop", "9"}))
	g.Expect(l.hosts).To(HaveKey(hostKey{"shop", "10"}))
}
