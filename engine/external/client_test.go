package external

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"go.uber.org/goleak"
	testclock "k8s.io/utils/clock/testing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// newClient may reach servers of this machine.
func newClient(tb testing.TB, only ...string) (*Client, *testclock.FakePassiveClock) {
	tb.Helper()
	guard, err := NewGuard([]string{"127.0.0.0/8", "::1/128"}, only)
	NewWithT(tb).Expect(err).NotTo(HaveOccurred())
	clk := testclock.NewFakePassiveClock(start)
	return New(&Egress{everybody: guard}, clk), clk
}

// serve starts a server and counts what it is asked.
func serve(tb testing.TB, handler http.HandlerFunc) (url string, calls *atomic.Int64) {
	tb.Helper()
	calls = &atomic.Int64{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		handler(w, r)
	}))
	tb.Cleanup(s.Close)
	return s.URL, calls
}

func get(url string) *Request {
	return &Request{Box: "shop", Name: "quota", Method: http.MethodGet, URL: url, Timeout: 30 * time.Second, Expected: []int{200}}
}

// fails gives the *Error of a call.
func fails(tb testing.TB, c *Client, r *Request) *Error {
	tb.Helper()
	_, err := c.Call(context.Background(), r)
	own, ok := err.(*Error) //nolint:errorlint // that is the promise
	if !ok {
		tb.Fatalf("wanted an *Error, got %v", err)
	}
	return own
}

func TestCallSends(t *testing.T) {
	g := NewWithT(t)
	var got *http.Request
	var body []byte
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.Header().Add("X-Left", "1")
		w.Header().Add("X-Left", "2")
		w.Header().Set("Set-Cookie", "session=secret")
		fmt.Fprint(w, `{"limit": 5, "ratio": 0.5, "name": "a", "list": [1]}`) //nolint:errcheck // the client tells
	})
	c, _ := newClient(t)
	r := get(url + "/v1/a%2Fb?keep=1&replace=old#fragment")
	r.Method, r.Body, r.ContentType = http.MethodPut, []byte(`{"a":1}`), "application/json"
	r.Query = map[string]string{"replace": "new value", "more": "&x=y"}
	r.Headers = map[string]string{"x-team": "a"}
	r.Credential = &Credential{Header: "Authorization", Value: "Bearer token"}
	r.Key = "uid-1-quota"
	answer, err := c.Call(context.Background(), r)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got.Method).To(Equal("PUT"))
	g.Expect(got.URL.EscapedPath()).To(Equal("/v1/a%2Fb"))
	g.Expect(got.URL.Query()).To(BeEquivalentTo(map[string][]string{"keep": {"1"}, "replace": {"new value"}, "more": {"&x=y"}}))
	g.Expect(got.Header).To(And(
		HaveKeyWithValue("X-Team", []string{"a"}), HaveKeyWithValue("Authorization", []string{"Bearer token"}),
		HaveKeyWithValue("Content-Type", []string{"application/json"}), HaveKeyWithValue("Idempotency-Key", []string{"uid-1-quota"}),
		HaveKeyWithValue("User-Agent", []string{"orkestra"}), Not(HaveKey("Accept-Encoding"))))
	g.Expect(string(body)).To(Equal(`{"a":1}`))
	g.Expect(answer.Status).To(Equal(200))
	g.Expect(answer.Body).To(Equal(map[string]any{"limit": int64(5), "ratio": 0.5, "name": "a", "list": []any{int64(1)}}))
	g.Expect(answer.Headers).To(And(HaveKeyWithValue("X-Left", "1, 2"), Not(HaveKey("Set-Cookie"))))
}

// TestAServiceIsCalledAtItsAddressAlone, whatever its name and the guard would say, and leads nowhere else.
func TestAServiceIsCalledAtItsAddressAlone(t *testing.T) {
	g := NewWithT(t)
	var hosts []string
	target, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		hosts = append(hosts, r.Host)
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "http://elsewhere.example.com/", http.StatusFound)
		}
	})
	guard, err := NewGuard(nil, []string{"example.com"})
	g.Expect(err).NotTo(HaveOccurred())
	c := New(&Egress{everybody: guard}, testclock.NewFakePassiveClock(start))
	r := get("http://hooks.team-a.svc")
	r.Service = strings.TrimPrefix(target, "http://")
	_, err = c.Call(context.Background(), r)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(hosts).To(Equal([]string{"hooks.team-a.svc"}))
	r.URL += "/away"
	g.Expect(fails(t, c, r).Error()).To(Equal("redirected; a Service of the cluster may not redirect"))
	g.Expect(hosts).To(HaveLen(2))

	r.URL, r.Service = target, ""
	g.Expect(fails(t, c, r).Error()).To(ContainSubstring("may not be called"), "the address itself is guarded")

	var dialed string
	c.egress.ServicesBy(func(ctx context.Context, network, address string) (net.Conn, error) {
		dialed = address
		return (&net.Dialer{}).DialContext(ctx, network, strings.TrimPrefix(target, "http://"))
	})
	r = get("http://hooks.team-a.svc")
	r.Service = "10.96.0.7:80"
	_, err = c.Call(context.Background(), r)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(dialed).To(Equal("10.96.0.7:80"))
}

// Whatever the manager's process holds, such as its own token, no service is sent it.
func TestNothingIsSentThatABoxDoesNotSay(t *testing.T) {
	g := NewWithT(t)
	var got http.Header
	url, _ := serve(t, func(_ http.ResponseWriter, r *http.Request) { got = r.Header })
	c, _ := newClient(t)
	_, err := c.Call(context.Background(), get(url))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got).To(BeEquivalentTo(map[string][]string{"User-Agent": {"orkestra"}, "Accept": {"application/json, text/plain;q=0.9, */*;q=0.8"}, "Connection": {"close"}}))
}

func TestCallReadsBodies(t *testing.T) {
	for name, tc := range map[string]struct {
		contentType, body string
		want              any
	}{
		"text":            {"text/plain", "hello", "hello"},
		"JSON by suffix":  {"application/problem+json", `[true, null]`, []any{true, nil}},
		"JSON as text":    {"text/plain", `{"a": 1}`, `{"a": 1}`},
		"a JSON scalar":   {"application/json", `7`, int64(7)},
		"nothing":         {"application/json", "", nil},
		"no text":         {"image/png", "\xff\xfe\x00", nil},
		"no content type": {"", "plain", "plain"},
	} {
		t.Run(name, func(t *testing.T) {
			url, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = []string{tc.contentType}
				io.WriteString(w, tc.body) //nolint:errcheck // the client tells
			})
			c, _ := newClient(t)
			answer, err := c.Call(context.Background(), get(url))
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			if tc.want == nil {
				NewWithT(t).Expect(answer.Body).To(BeNil())
				return
			}
			NewWithT(t).Expect(answer.Body).To(Equal(tc.want))
		})
	}
}

// raw serves a connection by hand.
func raw(tb testing.TB, serve func(conn net.Conn)) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	NewWithT(tb).Expect(err).NotTo(HaveOccurred())
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer conn.Close() //nolint:errcheck // the client tells
				serve(conn)
			})
		}
	})
	tb.Cleanup(func() {
		NewWithT(tb).Expect(l.Close()).To(Succeed())
		wg.Wait()
	})
	return "http://" + l.Addr().String()
}

// readHead reads a request up to its empty line.
func readHead(conn net.Conn) {
	var head []byte
	b := make([]byte, 1)
	for !bytes.HasSuffix(head, []byte("\r\n\r\n")) {
		if _, err := conn.Read(b); err != nil {
			return
		}
		head = append(head, b...)
	}
}

func TestCallBadHosts(t *testing.T) {
	closed := raw(t, func(conn net.Conn) { readHead(conn) })
	hanging := raw(t, func(conn net.Conn) { io.Copy(io.Discard, conn) }) //nolint:errcheck // it ends with the connection
	dripping := raw(t, func(conn net.Conn) {
		readHead(conn)
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx") //nolint:errcheck // as above
		io.Copy(io.Discard, conn)                                               //nolint:errcheck // as above
	})
	endless := raw(t, func(conn net.Conn) {
		readHead(conn)
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n") //nolint:errcheck // as above
		chunk := fmt.Sprintf("%x\r\n%s\r\n", 1<<16, strings.Repeat("x", 1<<16))
		for {
			if _, err := io.WriteString(conn, chunk); err != nil {
				return
			}
		}
	})
	announced := raw(t, func(conn net.Conn) {
		readHead(conn)
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2147483648\r\n\r\n") //nolint:errcheck // as above
		io.Copy(io.Discard, conn)                                                     //nolint:errcheck // as above
	})
	noHTTP := raw(t, func(conn net.Conn) {
		readHead(conn)
		io.WriteString(conn, "SSH-2.0-OpenSSH_9 token=secret\r\n\r\n") //nolint:errcheck // as above
	})
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(gone.Close()).To(Succeed())
	headers, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Large", strings.Repeat("x", 1<<20)) })
	bomb, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		z.Write(make([]byte, 1<<24)) //nolint:errcheck // as above
		z.Close()                    //nolint:errcheck // as above
	})
	broken, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"token": "secret"`) //nolint:errcheck // as above
	})
	circle, circled := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/again?token=secret", http.StatusFound)
	})
	missing, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "token=secret", http.StatusNotFound) })
	ill, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	secure.Config.ErrorLog = nil
	t.Cleanup(secure.Close)

	for name, tc := range map[string]struct {
		url, want string
		refused   bool
		timeout   time.Duration
		calls     *atomic.Int64
	}{
		"hangs":             {url: hanging, timeout: 50 * time.Millisecond, want: "no full answer within 50ms"},
		"drips":             {url: dripping, timeout: 50 * time.Millisecond, want: "no full answer within 50ms"},
		"sends for ever":    {url: endless, want: "the answer is larger than 1 MiB", refused: true},
		"announces 2 GB":    {url: announced, want: "the answer is larger than 1 MiB", refused: true},
		"hangs up":          {url: closed, want: "the server closed the connection before its answer was complete"},
		"speaks no HTTP":    {url: noHTTP, want: "the answer is not HTTP"},
		"is not there":      {url: "http://" + gone.Addr().String(), want: "connection refused"},
		"huge headers":      {url: headers, want: "the headers of the answer are larger than 64 KiB", refused: true},
		"gzip bomb":         {url: bomb, want: "the answer is compressed (gzip), which was not asked for", refused: true},
		"broken JSON":       {url: broken, want: "the answer is called JSON, but is not", refused: true},
		"endless redirects": {url: circle, want: "redirected more than 5 times", refused: true, calls: circled},
		"not found":         {url: missing, want: "answered 404 Not Found, expected 200", refused: true},
		"ill":               {url: ill, want: "answered 500 Internal Server Error, expected 200"},
		"unknown CA": {url: secure.URL, refused: true,
			want: "the server's certificate is signed by an unknown authority; give its CA by caBundle"},
		"TLS where there is none": {url: "https" + strings.TrimPrefix(ill, "http"), refused: true,
			want: "the server does not speak TLS; is its URL an http one?"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c, _ := newClient(t)
			r := get(tc.url + "/path?token=secret")
			if tc.timeout > 0 {
				r.Timeout = tc.timeout
			}
			failure := fails(t, c, r)
			g.Expect(failure.Error()).To(Equal(tc.want))
			g.Expect(failure.Refused).To(Equal(tc.refused))
			if tc.calls != nil {
				g.Expect(tc.calls.Load()).To(BeEquivalentTo(1 + maxRedirects))
			}
			g.Expect(failure.Error()).NotTo(ContainSubstring("secret"))
		})
	}
}

// The last of two lists of children would win, and all others be deleted. What other services say twice is theirs.
func TestAWebhookSaysNothingTwice(t *testing.T) {
	g := NewWithT(t)
	url, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"children": ["secret"], "status": {"a": 1, "a": 2}, "children": []}`) //nolint:errcheck // the client tells
	})
	c, _ := newClient(t)
	r := get(url)
	r.Webhook = true
	g.Expect(fails(t, c, r)).To(MatchError(`the answer says something twice: duplicate field "status.a"`))
	r.Webhook = false
	answer, err := c.Call(context.Background(), r)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer.Body).To(Equal(map[string]any{"children": []any{}, "status": map[string]any{"a": int64(2)}}))
}

func TestCallStatusOnlyReadsNoBody(t *testing.T) {
	url := raw(t, func(conn net.Conn) {
		readHead(conn)
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2147483648\r\n\r\n") //nolint:errcheck // it ends with the connection
		io.Copy(io.Discard, conn)                                                     //nolint:errcheck // as above
	})
	c, _ := newClient(t)
	r := get(url)
	r.StatusOnly = true
	answer, err := c.Call(context.Background(), r)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(*answer).To(Equal(Answer{Status: 200}))
}

func TestCallVerifiesByCABundle(t *testing.T) {
	g := NewWithT(t)
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") })) //nolint:errcheck // the client tells
	t.Cleanup(s.Close)
	c, _ := newClient(t)
	r := get(s.URL)
	r.CABundle = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	answer, err := c.Call(context.Background(), r)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer.Body).To(Equal("ok"))

	r.URL = strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
	g.Expect(fails(t, c, r).Error()).To(Equal("the server's certificate is for another host"))
	r.CABundle = []byte("no PEM")
	g.Expect(fails(t, c, r).Error()).To(Equal("the CA bundle holds no certificate in PEM"))
}

func TestCallRetries(t *testing.T) {
	g := NewWithT(t)
	var bodies []string
	url, calls := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(b))
		if len(bodies) < 3 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		io.WriteString(w, "ok") //nolint:errcheck // the client tells
	})
	c, _ := newClient(t)
	r := get(url)
	r.Method, r.Body, r.Retries = http.MethodPost, []byte("b"), 2
	answer, err := c.Call(context.Background(), r)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer.Body).To(Equal("ok"))
	g.Expect(bodies).To(Equal([]string{"b", "b", "b"}))

	for name, status := range map[string]int{"refusals": 404, "what is expected": 503} {
		t.Run("but not "+name, func(t *testing.T) {
			bodies, calls = nil, nil
			url, calls := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
			r := get(url)
			r.Retries, r.Expected = 5, []int{503}
			_, _ = c.Call(context.Background(), r) // only the number of calls counts here
			NewWithT(t).Expect(calls.Load()).To(BeEquivalentTo(1))
		})
	}
	_ = calls
}

func TestRetryAfter(t *testing.T) {
	g := NewWithT(t)
	p := &prepared{clock: testclock.NewFakePassiveClock(start)}
	at := func(text string, attempt int) time.Duration {
		return p.backoff(retryWaitMin, retryWaitMax, attempt, &http.Response{Header: http.Header{"Retry-After": {text}}})
	}
	g.Expect(at("3", 0)).To(Equal(3 * time.Second))
	g.Expect(at(start.Add(4*time.Second).Format(http.TimeFormat), 0)).To(Equal(4 * time.Second))
	g.Expect(at(start.Add(-time.Hour).Format(http.TimeFormat), 0)).To(BeZero())
	g.Expect(at("99999", 0)).To(Equal(maxRetryAfter))
	g.Expect(at("soon", 0)).To(Equal(retryWaitMin))
	g.Expect(at("-1", 1)).To(Equal(2 * retryWaitMin))
	g.Expect(at("", 60)).To(Equal(retryWaitMax))
	g.Expect(p.backoff(retryWaitMin, retryWaitMax, 0, nil)).To(Equal(retryWaitMin))
}

func TestCallLeavesALongRetryAfterToTheQueue(t *testing.T) {
	g := NewWithT(t)
	url, calls := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "120")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	c, clk := newClient(t)
	r := get(url)
	r.Retries = 10
	failure := fails(t, c, r)
	until := "; by its Retry-After it is left alone until " + start.Add(120*time.Second).UTC().Format(time.RFC3339)
	g.Expect(failure.Error()).To(Equal("answered 429 Too Many Requests, expected 200" + until))
	g.Expect(failure.Held).To(BeFalse())
	g.Expect(calls.Load()).To(BeEquivalentTo(1))

	clk.SetTime(start.Add(119 * time.Second))
	held := fails(t, c, r)
	g.Expect(held.Held).To(BeTrue())
	g.Expect(held.RetryAt).To(Equal(start.Add(120 * time.Second)))
	g.Expect(held.Error()).To(Equal(failure.Error()), "a resource shows the same")
	g.Expect(calls.Load()).To(BeEquivalentTo(1))
	clk.SetTime(start.Add(120 * time.Second))
	g.Expect(fails(t, c, r).Held).To(BeFalse())
	g.Expect(calls.Load()).To(BeEquivalentTo(2))
}

// What a host asks for in vain, or would get anyway, is not told: the message stays the same from one failure to the next.
func TestUntilWhenAHostIsLeftAlone(t *testing.T) {
	for after, want := range map[string]string{
		"3600": "answered 503 Service Unavailable, expected 200; by its Retry-After it is left alone until " + start.Add(longestAsked).UTC().Format(time.RFC3339),
		"60":   "answered 503 Service Unavailable, expected 200",
		"":     "answered 503 Service Unavailable, expected 200",
	} {
		t.Run(after, func(t *testing.T) {
			g := NewWithT(t)
			url, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", after)
				w.WriteHeader(http.StatusServiceUnavailable)
			})
			c, _ := newClient(t)
			g.Expect(fails(t, c, get(url)).Error()).To(Equal(want))
			held := fails(t, c, get(url))
			g.Expect(held.Held).To(BeTrue())
			g.Expect(held.Error()).To(Equal(want))
		})
	}
}

func TestRedirects(t *testing.T) {
	target, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s|%s|%s", r.Header.Get("X-Team"), r.Header.Get("Authorization"), r.Header.Get("Referer")) //nolint:errcheck // the client tells
	})
	location := ""
	source, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/landed" {
			fmt.Fprintf(w, "%s|%s|%s", r.Header.Get("X-Team"), r.Header.Get("Authorization"), r.Header.Get("Referer")) //nolint:errcheck // as above
			return
		}
		http.Redirect(w, r, location, http.StatusTemporaryRedirect)
	})
	credential := &Credential{Header: "Authorization", Value: "Bearer token"}
	for name, tc := range map[string]struct {
		to         string
		credential *Credential
		method     string
		expected   int
		body, fail string
	}{
		"the same host keeps what is sent":     {to: "/landed", credential: credential, body: "a|Bearer token|"},
		"another host gets nothing of it":      {to: target, body: "||"},
		"another host may not get credentials": {to: target, credential: credential, fail: `redirected to host "127.0.0.1", to which the credentials of this call may not go`},
		"an address that is not public": {to: "http://169.254.169.254/latest/meta-data",
			fail: `redirected, and host "169.254.169.254" has an address that is not public (link-local, where clouds serve credentials); the operator of this cluster may allow it (--external-allow, or --egress-rules for this box or its account)`},
		"another scheme":                    {to: "file:///etc/passwd", fail: `redirected, and the scheme of the URL is "file"; only http and https may be called`},
		"methods that change things do not": {to: "/landed", method: http.MethodPost, fail: "answered 307 Temporary Redirect, expected 200; a redirect of a POST is not followed"},
		"what is expected is the answer":    {to: "/landed", expected: 307, body: ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			location = tc.to
			c, _ := newClient(t)
			r := get(source)
			r.Headers, r.Credential = map[string]string{"X-Team": "a"}, tc.credential
			if tc.method != "" {
				r.Method = tc.method
			}
			if tc.expected != 0 {
				r.Expected = []int{tc.expected}
			}
			if tc.fail != "" {
				failure := fails(t, c, r)
				g.Expect(failure.Error()).To(Equal(tc.fail))
				g.Expect(failure.Refused).To(BeTrue())
				return
			}
			answer, err := c.Call(context.Background(), r)
			g.Expect(err).NotTo(HaveOccurred())
			if tc.expected == 0 {
				g.Expect(answer.Body).To(Equal(tc.body))
			}
		})
	}
}

func TestRedirectFromHTTPS(t *testing.T) {
	plain, calls := serve(t, func(http.ResponseWriter, *http.Request) {})
	s := httptest.NewTLSServer(http.RedirectHandler(plain, http.StatusFound))
	t.Cleanup(s.Close)
	c, _ := newClient(t)
	r := get(s.URL)
	r.CABundle = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	NewWithT(t).Expect(fails(t, c, r).Error()).To(Equal("redirected from https to http"))
	NewWithT(t).Expect(calls.Load()).To(BeZero())
}

func TestRequestsThatAreNotSent(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(r *Request)
		want   string
	}{
		"a URL that is none":  {func(r *Request) { r.URL = "http://a b/?token=secret" }, "the URL can't be read: invalid character"},
		"a line break":        {func(r *Request) { r.URL = "http://127.0.0.1/\nsecret" }, "the URL can't be read: net/url: invalid control character in URL"},
		"parent folders":      {func(r *Request) { r.URL += "/v1/../admin" }, `the path of the URL has the segment "..", by which it would be another path`},
		"escaped parents":     {func(r *Request) { r.URL += "/v1/%2e%2E/admin" }, `the path of the URL has the segment "..", by which it would be another path`},
		"a header's name":     {func(r *Request) { r.Headers = map[string]string{"a b": "c"} }, `header "a b": not the name of a header`},
		"a header's value":    {func(r *Request) { r.Headers = map[string]string{"a": "secret\r\nb: c"} }, `header "a": its value holds characters that no header may have, such as a line break`},
		"a header of ours":    {func(r *Request) { r.Headers = map[string]string{"hOST": "x"} }, `header "hOST": this header can't be set: it is taken from the URL`},
		"a broken credential": {func(r *Request) { r.Credential = &Credential{Header: "Authorization", Value: "secret\n"} }, "the credential holds characters that no header may have, such as a line break"},
		"a method":            {func(r *Request) { r.Method = "G ET" }, "no request can be made of this method, URL and body"},
	} {
		t.Run(name, func(t *testing.T) {
			url, calls := serve(t, func(http.ResponseWriter, *http.Request) {})
			c, _ := newClient(t)
			r := get(url)
			tc.change(r)
			failure := fails(t, c, r)
			NewWithT(t).Expect(failure.Error()).To(Equal(tc.want))
			NewWithT(t).Expect(failure.Refused).To(BeTrue())
			NewWithT(t).Expect(calls.Load()).To(BeZero())
		})
	}
}

func TestCallEndsWithItsContext(t *testing.T) {
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(context.Background())
	url := raw(t, func(conn net.Conn) {
		cancel()
		io.Copy(io.Discard, conn) //nolint:errcheck // it ends with the connection
	})
	c, _ := newClient(t)
	r := get(url)
	r.Retries = 10
	_, err := c.Call(ctx, r)
	g.Expect(err).To(MatchError(context.Canceled))
	g.Expect(c.limiter.hosts).To(BeEmpty(), "a process that stops holds nothing against the host")

	late, done := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer done()
	_, err = c.Call(late, r)
	g.Expect(err).To(MatchError("the time for one reconcile was over before there was an answer"))
}

// TestNoProxy says that a proxy in the environment sees no call.
func TestNoProxy(t *testing.T) {
	g := NewWithT(t)
	c, _ := newClient(t)
	p, err := c.prepare(get("http://example.com"))
	g.Expect(err).NotTo(HaveOccurred())
	transport, err := p.transport()
	g.Expect(err).NotTo(HaveOccurred())
	r, ok := transport.(*reader)
	g.Expect(ok).To(BeTrue())
	// Go reads the environment once per process, and never asks a proxy for the loopback: a test with a server would prove nothing.
	g.Expect(r.next).To(HaveField("Proxy", BeNil()))
}
