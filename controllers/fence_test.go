package controllers_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/orkspace/orkestra/controllers"
)

// clocks are the two clocks of a machine, each of which may stand still.
type clocks struct {
	wall    time.Time
	running time.Duration
}

func (c *clocks) Now() time.Time                { return c.wall }
func (c *clocks) Since(time.Time) time.Duration { return c.running }

func (c *clocks) pass(d time.Duration) { c.wall, c.running = c.wall.Add(d), c.running+d }

// lock is the lease, in memory. before runs while a write is under way.
type lock struct {
	record resourcelock.LeaderElectionRecord
	before func() error
	events []string
}

func (l *lock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record := l.record
	return &record, nil, nil
}

func (l *lock) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.Update(ctx, r)
}

func (l *lock) Update(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	if l.before != nil {
		if err := l.before(); err != nil {
			return err
		}
	}
	l.record = r
	return nil
}
func (l *lock) RecordEvent(what string) { l.events = append(l.events, what) }
func (*lock) Identity() string          { return "me" }
func (*lock) Describe() string          { return "ns/lease" }

// held is the record of a lease that somebody holds; that of a released one has no holder.
func held(by string) resourcelock.LeaderElectionRecord {
	return resourcelock.LeaderElectionRecord{HolderIdentity: by}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// site is a fence with all that is around it.
type site struct {
	t     *testing.T
	g     *WithT
	clock *clocks
	fence *controllers.Fence
	lock  *lock
	guard resourcelock.Interface
	sent  int
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, g: NewWithT(t), clock: &clocks{wall: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}, lock: &lock{}}
	s.fence = controllers.NewFence(s.clock, 15*time.Second, 4*time.Second)
	s.guard = s.fence.Guard(s.lock)
	return s
}

// sends says whether a request reached the API server.
func (s *site) sends(method, path string) bool {
	before := s.sent
	rt := s.fence.Wrap(transport(func(*http.Request) (*http.Response, error) {
		s.sent++
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("{}"))}, nil
	}))
	r, err := http.NewRequestWithContext(s.t.Context(), method, "https://api"+path, strings.NewReader("{}"))
	s.g.Expect(err).NotTo(HaveOccurred())
	response, err := rt.RoundTrip(r)
	if err != nil {
		s.g.Expect(err).To(MatchError(controllers.ErrFenced))
		s.g.Expect(s.sent).To(Equal(before))
		return false
	}
	s.g.Expect(response.Body.Close()).To(Succeed())
	return true
}

func (s *site) writes() bool { return s.sends(http.MethodPatch, "/api/v1/namespaces/a/configmaps/b") }

func (s *site) leads() {
	s.g.Expect(s.guard.Create(s.t.Context(), held("me"))).To(Succeed())
	s.g.Expect(s.writes()).To(BeTrue())
}

// TestFenceKnowsTheHeartbeat: when the last renewal that succeeded was sent.
func TestFenceKnowsTheHeartbeat(t *testing.T) {
	s := newSite(t)
	s.g.Expect(s.fence.Renewed()).To(BeZero())
	s.leads()
	first := s.clock.wall
	s.g.Expect(s.fence.Renewed()).To(BeTemporally("==", first))
	s.clock.pass(2 * time.Second)
	s.lock.before = func() error { return errors.New("cut off") }
	s.g.Expect(s.guard.Update(t.Context(), held("me"))).NotTo(Succeed())
	s.g.Expect(s.fence.Renewed()).To(BeTemporally("==", first))
	s.lock.before = nil
	s.g.Expect(s.guard.Update(t.Context(), held("me"))).To(Succeed())
	s.g.Expect(s.fence.Renewed()).To(BeTemporally("==", first.Add(2*time.Second)))
}

func TestFenceLetsReadsAndReviewsPass(t *testing.T) {
	s := newSite(t)
	for path, method := range map[string]string{
		"/api/v1/configmaps": http.MethodGet, "/healthz": http.MethodHead,
		"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": http.MethodPost, "/apis/authentication.k8s.io/v1/tokenreviews": http.MethodPost,
	} {
		s.g.Expect(s.sends(method, path)).To(BeTrue(), path)
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		s.g.Expect(s.sends(method, "/apis/apps/v1/namespaces/a/deployments")).To(BeFalse(), method)
	}
}

func TestFenceOpensWithTheLease(t *testing.T) {
	for name, c := range map[string]struct {
		pass func(*clocks)
		want bool
	}{
		"at once":                              {func(*clocks) {}, true},
		"a moment before it may run out":       {func(c *clocks) { c.pass(11*time.Second - 1) }, true},
		"when it may run out during a write":   {func(c *clocks) { c.pass(11 * time.Second) }, false},
		"after a sleep of the machine":         {func(c *clocks) { c.wall = c.wall.Add(time.Hour) }, false},
		"after the clock was set back":         {func(c *clocks) { c.running += 11 * time.Second; c.wall = c.wall.Add(-time.Hour) }, false},
		"when the clock was just set back":     {func(c *clocks) { c.wall = c.wall.Add(-time.Hour) }, true},
		"when both clocks went on differently": {func(c *clocks) { c.running += time.Second; c.wall = c.wall.Add(10 * time.Second) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.leads()
			c.pass(s.clock)
			s.g.Expect(s.writes()).To(Equal(c.want))
			s.g.Expect(s.guard.Update(t.Context(), held("me"))).To(Succeed())
			s.g.Expect(s.writes()).To(BeTrue(), "a renewal opens it")
		})
	}
}

func TestFenceCountsFromWhenARenewalWasSent(t *testing.T) {
	s := newSite(t)
	s.lock.before = func() error {
		s.clock.pass(8 * time.Second)
		return nil
	}
	s.leads()
	s.clock.pass(3 * time.Second)
	s.g.Expect(s.writes()).To(BeFalse())
}

func TestFenceIgnoresRenewalsThatFail(t *testing.T) {
	s := newSite(t)
	s.leads()
	s.clock.pass(8 * time.Second)
	s.lock.before = func() error { return errors.New("conflict") }
	s.g.Expect(s.guard.Update(t.Context(), held("me"))).NotTo(Succeed())
	s.g.Expect(s.writes()).To(BeTrue())
	s.clock.pass(3 * time.Second)
	s.g.Expect(s.writes()).To(BeFalse())
}

func TestFenceShutsBeforeTheLeaseIsReleased(t *testing.T) {
	s := newSite(t)
	s.leads()
	during := true
	s.lock.before = func() error {
		during = s.writes()
		return nil
	}
	_, _, err := s.guard.Get(t.Context())
	s.g.Expect(err).NotTo(HaveOccurred())
	s.g.Expect(s.guard.Update(t.Context(), held(""))).To(Succeed())
	s.g.Expect(during).To(BeFalse(), "another process may hold the lease before the answer is here")
	s.g.Expect(s.writes()).To(BeFalse())
	s.guard.RecordEvent("stopped leading")
	s.g.Expect(s.lock.events).To(BeEmpty())
}

func TestALeaseThatAnotherProcessHasHadIsLostForGood(t *testing.T) {
	for name, by := range map[string]string{"it has it": "other", "it has released it": ""} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.leads()
			s.lock.record = held(by)
			_, _, err := s.guard.Get(t.Context())
			s.g.Expect(err).NotTo(HaveOccurred())
			s.g.Expect(s.writes()).To(BeFalse())
			s.g.Expect(s.guard.Update(t.Context(), held("me"))).To(MatchError("renewing the lease ns/lease: another process has had it meanwhile"))
			s.g.Expect(s.guard.Create(t.Context(), held("me"))).NotTo(Succeed())
			s.g.Expect(s.writes()).To(BeFalse())
			// The elector gives up, and releases what it takes for its own.
			s.g.Expect(s.guard.Update(t.Context(), held(""))).To(MatchError(ContainSubstring("releasing the lease ns/lease: it is held by")))
			s.g.Expect(s.lock.record).To(Equal(held(by)))
		})
	}
}

func TestAFollowerMayFollowManyLeaders(t *testing.T) {
	s := newSite(t)
	for _, by := range []string{"a", "b", ""} {
		s.lock.record = held(by)
		_, _, err := s.guard.Get(t.Context())
		s.g.Expect(err).NotTo(HaveOccurred())
		s.g.Expect(s.writes()).To(BeFalse())
	}
	s.g.Expect(s.guard.Update(t.Context(), held("me"))).To(Succeed())
	s.g.Expect(s.writes()).To(BeTrue())
}

func TestFencedWritesAreGivenUpInTime(t *testing.T) {
	s := newSite(t)
	s.fence = controllers.NewFence(s.clock, time.Second, time.Millisecond)
	s.guard = s.fence.Guard(s.lock)
	s.g.Expect(s.guard.Create(t.Context(), held("me"))).To(Succeed())
	bodies := make(chan context.Context, 1)
	hangs := s.fence.Wrap(transport(func(r *http.Request) (*http.Response, error) {
		if r.Method != http.MethodGet {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		_, bounded := r.Context().Deadline()
		s.g.Expect(bounded).To(BeFalse(), "watches last")
		bodies <- r.Context()
		return &http.Response{Body: http.NoBody}, nil
	}))
	for _, method := range []string{http.MethodDelete, http.MethodGet} {
		r, err := http.NewRequestWithContext(t.Context(), method, "https://api/api/v1/configmaps", http.NoBody)
		s.g.Expect(err).NotTo(HaveOccurred())
		_, err = hangs.RoundTrip(r) //nolint:bodyclose // there is none
		if method == http.MethodGet {
			s.g.Expect(err).NotTo(HaveOccurred())
			continue
		}
		s.g.Expect(err).To(MatchError(context.DeadlineExceeded))
	}
	s.g.Expect((<-bodies).Err()).NotTo(HaveOccurred())
}

func TestAFencedAnswerCanBeRead(t *testing.T) {
	s := newSite(t)
	s.leads()
	contexts := make(chan context.Context, 1)
	rt := s.fence.Wrap(transport(func(r *http.Request) (*http.Response, error) {
		contexts <- r.Context()
		return &http.Response{Body: io.NopCloser(strings.NewReader("answer"))}, nil
	}))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://api/api/v1/configmaps", http.NoBody)
	s.g.Expect(err).NotTo(HaveOccurred())
	response, err := rt.RoundTrip(r)
	s.g.Expect(err).NotTo(HaveOccurred())
	asked := <-contexts
	s.g.Expect(asked.Err()).NotTo(HaveOccurred(), "the body is still to be read")
	body, err := io.ReadAll(response.Body)
	s.g.Expect(err).NotTo(HaveOccurred())
	s.g.Expect(string(body)).To(Equal("answer"))
	s.g.Expect(response.Body.Close()).To(Succeed())
	s.g.Expect(asked.Err()).To(MatchError(context.Canceled), "no timer is left")
}
