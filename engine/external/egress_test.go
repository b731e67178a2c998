package external

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	testclock "k8s.io/utils/clock/testing"
)

// egressOf gives a client that reaches what a file of rules says, and hosts for everybody.
func egressOf(tb testing.TB, file string, everybody ...string) *Client {
	tb.Helper()
	g := NewWithT(tb)
	rules, err := ParseEgressRules([]byte(file))
	g.Expect(err).NotTo(HaveOccurred())
	egress, err := NewEgress(everybody, nil, rules)
	g.Expect(err).NotTo(HaveOccurred())
	return New(egress, testclock.NewFakePassiveClock(start))
}

// as makes a request one of another caller.
func as(r *Request, box, account string) *Request {
	r.Box, r.Account = box, account
	return r
}

func TestWhatOneCallerMayReachIsNotEverybodys(t *testing.T) {
	url, calls := serve(t, func(http.ResponseWriter, *http.Request) {})
	public := "http://192.168.7.7:1/"
	for name, tc := range map[string]struct {
		file, box, account, url string
		want                    string // empty: it is called
	}{
		"the box":                   {file: "external-allow: {boxes: {shop: [127.0.0.1]}}", box: "shop"},
		"another box":               {file: "external-allow: {boxes: {shop: [127.0.0.1]}}", box: "shops", want: "is not public (loopback)"},
		"the account":               {file: "external-allow: {accounts: {team-a/shop: [127.0.0.0/8]}}", box: "shop", account: "team-a/shop"},
		"an account elsewhere":      {file: "external-allow: {accounts: {team-a/shop: [127.0.0.1]}}", box: "shop", account: "team-b/shop", want: "is not public (loopback)"},
		"no account":                {file: "external-allow: {accounts: {team-a/shop: [127.0.0.1]}}", box: "shop", want: "is not public (loopback)"},
		"a box named as an account": {file: "external-allow: {accounts: {team-a/shop: [127.0.0.1]}}", box: "team-a/shop", want: "is not public (loopback)"},
		"only, of the account":      {file: "external-only: {accounts: {a/b: [127.0.0.1]}}\nexternal-allow: {boxes: {shop: [127.0.0.0/8, 192.168.7.7]}}", box: "shop", account: "a/b"},
		"not only":                  {file: "external-only: {accounts: {a/b: [127.0.0.1]}}\nexternal-allow: {boxes: {shop: [127.0.0.0/8, 192.168.7.7]}}", box: "shop", account: "a/b", url: public, want: `host "192.168.7.7" may not be called`},
		"only, of the box besides":  {file: "external-only: {accounts: {a/b: [example.com]}, boxes: {shop: [127.0.0.1]}}\nexternal-allow: {boxes: {shop: [127.0.0.1]}}", box: "shop", account: "a/b"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			before := calls.Load()
			r := as(get(url), tc.box, tc.account)
			if tc.url != "" {
				r.URL = tc.url
			}
			_, err := egressOf(t, tc.file).Call(context.Background(), r)
			if tc.want != "" {
				g.Expect(err).To(MatchError(And(ContainSubstring(tc.want), ContainSubstring("--egress-rules for this box or its account"))))
				g.Expect(calls.Load()).To(Equal(before))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(calls.Load()).To(Equal(before + 1))
		})
	}
}

// Who restricts one account has not restricted the others: a host may come from a resource only where the caller itself is held to a list.
func TestOnlyTheCallerThatIsListedIsRestricted(t *testing.T) {
	g := NewWithT(t)
	rules, err := ParseEgressRules([]byte("external-only: {accounts: {a/b: [example.com]}}"))
	g.Expect(err).NotTo(HaveOccurred())
	egress, err := NewEgress(nil, nil, rules)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(egress.Of("shop", "a/b").Restricted()).To(BeTrue())
	g.Expect(egress.Of("shop", "").Restricted()).To(BeFalse())
	g.Expect(egress.Of("a/b", "").Restricted()).To(BeFalse())
	g.Expect((*Egress)(nil).Of("shop", "").Restricted()).To(BeFalse())
}

func TestARedirectLeadsNowhereThatItsCallerMayNotReach(t *testing.T) {
	g := NewWithT(t)
	inside, calls := serve(t, func(http.ResponseWriter, *http.Request) {})
	inside = strings.Replace(inside, "127.0.0.1", "127.0.0.2", 1) // an address that only one of them may reach
	outside, _ := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, inside, http.StatusFound) })
	c := egressOf(t, "external-allow: {boxes: {shop: [127.0.0.2]}}", "127.0.0.1")
	_, err := c.Call(context.Background(), as(get(outside), "other", ""))
	g.Expect(err).To(MatchError(ContainSubstring(`redirected, and host "127.0.0.2" has an address that is not public`)))
	_, err = c.Call(context.Background(), as(get(outside), "shop", ""))
	g.Expect(err).To(MatchError(Not(ContainSubstring("not public"))), "it is followed: nobody listens there")
	g.Expect(calls.Load()).To(BeZero())
}

func TestAnAnswerIsKeptForItsCallerAlone(t *testing.T) {
	g := NewWithT(t)
	url, calls := serve(t, func(http.ResponseWriter, *http.Request) {})
	c := egressOf(t, "external-allow: {accounts: {a/b: [127.0.0.1]}, boxes: {shop: [], other: [127.0.0.1]}}")
	cached := func(box, account string) (*Answer, error) {
		r := as(get(url), box, account)
		r.CacheFor = time.Minute
		return c.Call(context.Background(), r)
	}
	_, err := cached("shop", "a/b")
	g.Expect(err).NotTo(HaveOccurred())
	again, err := cached("shop", "a/b")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again.Cached).To(BeTrue())
	refused := func(box, account string) {
		t.Helper()
		_, err := cached(box, account)
		g.Expect(err).To(MatchError(ContainSubstring("not public")))
	}
	refused("shop", "")
	refused("shop", "a/c")
	theirs, err := cached("other", "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(theirs.Cached).To(BeFalse())
	mine, err := cached("other", "a/b")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(mine.Cached).To(BeFalse(), "another account is another caller, also in the same box")
	g.Expect(calls.Load()).To(BeEquivalentTo(3))
}

func TestEgressRulesThatAreNone(t *testing.T) {
	for name, tc := range map[string]struct{ file, want string }{
		"an unknown field":  {"external-alow: {}", `unknown field "external-alow"`},
		"an unknown caller": {"external-allow: {namespaces: {a: [b]}}", `unknown field "namespaces"`},
		"twice":             {"external-allow: {boxes: {a: [b]}}\nexternal-allow: {}", "already set"},
		"no list":           {"external-allow: {boxes: {a: b}}", "cannot unmarshal"},
		"no account":        {"external-allow: {accounts: {shop: [b]}}", `external-allow.accounts: "shop/" is no account: wanted namespace/name`},
		"no box":            {"external-only: {boxes: {A: [b]}}", `external-only.boxes: "A" is not the name of a box`},
		"no host":           {"external-allow: {boxes: {shop: ['http://x']}}", `boxes: shop: external-allow: "http://x" is neither a host nor a network`},
		"no host, only":     {"external-only: {accounts: {a/b: [10.0.0.0/8]}}", `accounts: a/b: external-only: "10.0.0.0/8" is a network`},
	} {
		t.Run(name, func(t *testing.T) {
			rules, err := ParseEgressRules([]byte(tc.file))
			if err == nil {
				_, err = NewEgress(nil, nil, rules)
			}
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(tc.want)))
		})
	}
}
