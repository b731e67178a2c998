package cluster

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	testclock "k8s.io/utils/clock/testing"
)

// The server's time is told where both clocks differ by more than seconds.
func TestTheServersTime(t *testing.T) {
	local := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	date := func(ahead time.Duration) string { return local.Add(ahead).Format(http.TimeFormat) }
	for name, tc := range map[string]struct {
		dates []string // of the answers, one after the other
		takes time.Duration
		ahead time.Duration
	}{
		"no answer yet":                        {nil, 0, 0},
		"an answer without a date":             {[]string{""}, 0, 0},
		"a date that is none":                  {[]string{"yesterday"}, 0, 0},
		"the same":                             {[]string{date(0)}, 0, 0},
		"a server that is a little behind":     {[]string{date(-3 * time.Second)}, 0, 0},
		"a server that is a little ahead":      {[]string{date(3 * time.Second)}, 0, 0},
		"a server that is behind":              {[]string{date(-20 * time.Second)}, 0, -20 * time.Second},
		"a server that is ahead":               {[]string{date(time.Hour)}, 0, time.Hour},
		"a server that answered late":          {[]string{date(0)}, time.Minute, 0},
		"a server that answered late and fast": {[]string{date(time.Minute)}, time.Minute, 0},
		"a server that answered in between":    {[]string{date(30 * time.Second)}, time.Minute, 0},
		"a server that is behind and slow":     {[]string{date(-time.Minute)}, time.Minute, -time.Minute},
		"a clock that was set right since":     {[]string{date(time.Hour), date(0)}, 0, 0},
		"a proxy that leaves the date out":     {[]string{date(time.Hour), ""}, 0, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			fake := testclock.NewFakePassiveClock(local)
			clk := NewClock(fake)
			for _, d := range tc.dates {
				fake.SetTime(local)
				answer, err := clk.Wrap(answering(func() *http.Response {
					fake.SetTime(local.Add(tc.takes))
					return &http.Response{Header: http.Header{"Date": {d}}, Body: http.NoBody}
				})).RoundTrip(httptest.NewRequest(http.MethodGet, "/", nil))
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(answer.Body.Close()).To(Succeed())
			}
			g.Expect(clk.At(local)).To(Equal(local.Add(tc.ahead)))
			g.Expect(clk.Now()).To(Equal(fake.Now().Add(tc.ahead)))
			g.Expect(clk.Since(fake.Now())).To(Equal(tc.ahead))
		})
	}
}

type answering func() *http.Response

func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	if r := a(); r != nil {
		return r, nil
	}
	return nil, errGone
}

var errGone = errors.New("the server is gone")

// A request that fails says nothing of the time.
func TestAFailedRequestSaysNoTime(t *testing.T) {
	g := NewWithT(t)
	clk := NewClock(testclock.NewFakePassiveClock(time.Unix(0, 0)))
	answer, err := clk.Wrap(answering(func() *http.Response { return nil })).RoundTrip(httptest.NewRequest(http.MethodGet, "/", nil)) //nolint:bodyclose // there is no answer
	g.Expect(err).To(MatchError(errGone))
	g.Expect(answer).To(BeNil())
	g.Expect(clk.Now()).To(Equal(time.Unix(0, 0)))
}
