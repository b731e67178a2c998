package serve

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/web"
	"github.com/orkspace/orkestra/engine/web/person"
)

// leading is another replica, and what it was asked.
type leading struct {
	*httptest.Server

	asked chan *http.Request
}

func startLeading(t *testing.T, answer http.HandlerFunc) *leading {
	t.Helper()
	l := &leading{asked: make(chan *http.Request, 1)}
	l.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.asked <- r
		answer(w, r)
	}))
	t.Cleanup(l.Close)
	return l
}

// notes are the annotations of a lease that it holds.
func (l *leading) notes() map[string]string {
	return map[string]string{v1alpha1.AnnotationWebAddress: l.Listener.Addr().String(), v1alpha1.AnnotationWebCertificate: fingerprint(l.Certificate().Raw)}
}

// asks passes a question on, and gives what comes back. The follower's own answer is "own".
func asks(t *testing.T, l Leader, r *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	p := newPassing(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "own") }), sealing(clock.RealClock{}), clock.RealClock{}, logr.Discard())
	t.Cleanup(p.close)
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w
}

// sealing is how replicas that share a key say who asks.
func sealing(clk clock.PassiveClock) *web.Replicas {
	return &web.Replicas{Key: shared, Clock: clk, Log: logr.Discard()}
}

// shared is a key.
func shared(context.Context) ([]byte, error) { return []byte("shared"), nil }

func question(path string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "https://page.example.com"+path, http.NoBody)
	r.Header.Set("Authorization", "Bearer token")
	return r.WithContext(person.With(r.Context(), person.Person{Name: "ann"}))
}

func follower(notes map[string]string) Leader {
	return Leader{Leading: func() bool { return false }, Annotations: func() map[string]string { return notes }}
}

// TestTheLeaderAnswers: what it alone knows comes from it, asked as the follower was; all else the follower answers.
func TestTheLeaderAnswers(t *testing.T) {
	l := startLeading(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "leader's") })
	for path, want := range map[string]string{
		"/api/v1/fleet": "leader's", "/api/v1/manager": "leader's", "/api/v1/boxes/shop": "leader's", "/api/v1/boxes/shop/resources/team-a/x": "leader's",
		"/api/v1/boxes/shop/resources/-/x": "leader's",
		"/api/v1/stream":                   "own", "/api/v1/boxes/shop/resources": "own", "/api/v1/boxes/shop/graph": "own", "/api/v1/session": "own", "/api/v1/fleet/x": "own",
		"/": "own", "/boxes/shop": "own", "/auth/login": "own", "/api/v1/boxes/shop/resources/team-a/x/actions": "own", "/mcp": "leader's",
	} {
		t.Run(path, func(t *testing.T) {
			g := NewWithT(t)
			w := asks(t, follower(l.notes()), question(path+"?a=b"))
			g.Expect(w.Body.String()).To(Equal(want))
			if want == "own" {
				g.Expect(l.asked).NotTo(Receive())
				return
			}
			var asked *http.Request
			g.Expect(l.asked).To(Receive(&asked))
			g.Expect(asked.URL.RequestURI()).To(Equal(path + "?a=b"))
			g.Expect(asked.Header).NotTo(HaveKey("Authorization"), "it stays with the replica that it was sent to")
			g.Expect(asked.Header.Get(web.PassedOnHeader)).NotTo(BeEmpty())
		})
	}
}

// sent is a question or an order with a body.
func sent(path, body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "https://page.example.com"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer token")
	return r.WithContext(person.With(r.Context(), person.Person{Name: "ann"}))
}

// TestTheLeaderActs: orders and calls of tools go to the leader as they came, and the follower gets them whole where it does not answer.
func TestTheLeaderActs(t *testing.T) {
	read := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(append([]byte(r.Method+" "), body...))
	}
	l := startLeading(t, read)
	refuses := startLeading(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	long := strings.Repeat("x", maxPassed)
	for path, want := range map[string]bool{
		"/api/v1/boxes/shop/actions/suspend": true, "/api/v1/boxes/shop/resources/team-a/x/actions/pause": true, "/mcp": true,
		"/api/v1/compile": false, "/api/v1/boxes/shop": false,
	} {
		for _, body := range []string{"an order", "", long} {
			t.Run(fmt.Sprint(path, len(body)), func(t *testing.T) {
				g := NewWithT(t)
				p := newPassing(follower(l.notes()), http.NotFoundHandler(), sealing(clock.RealClock{}), clock.RealClock{}, logr.Discard())
				t.Cleanup(p.close)
				w := httptest.NewRecorder()
				p.ServeHTTP(w, sent(path, body))
				if !want {
					g.Expect(w.Code).To(Equal(http.StatusNotFound))
					return
				}
				g.Expect(l.asked).To(Receive())
				g.Expect(w.Body.String()).To(Equal("POST " + body))

				p.leader = follower(refuses.notes())
				p.own = http.HandlerFunc(read)
				w = httptest.NewRecorder()
				p.ServeHTTP(w, sent(path, body))
				g.Expect(refuses.asked).To(Receive())
				g.Expect(w.Body.String()).To(Equal("POST "+body), "the follower reads it again")
			})
		}
	}
	t.Run("what is longer than any answer", func(t *testing.T) {
		g := NewWithT(t)
		p := newPassing(follower(l.notes()), http.HandlerFunc(read), sealing(clock.RealClock{}), clock.RealClock{}, logr.Discard())
		t.Cleanup(p.close)
		w := httptest.NewRecorder()
		p.ServeHTTP(w, sent("/mcp", long+"y"))
		g.Expect(l.asked).NotTo(Receive())
		g.Expect(w.Body.Len()).To(Equal(len("POST ")+len(long)+1), "the follower has it whole")
	})
}

// TestWhatTheLeaderSaysOfAnOrderStands: it may have done it, so that nobody else says that nothing was done.
func TestWhatTheLeaderSaysOfAnOrderStands(t *testing.T) {
	g := NewWithT(t)
	const order = "/api/v1/boxes/shop/actions/suspend"
	fails := startLeading(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	g.Expect(asks(t, follower(fails.notes()), sent(order, "an order")).Code).To(Equal(http.StatusBadGateway))
	breaks := startLeading(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	w := asks(t, follower(breaks.notes()), sent(order, "an order"))
	g.Expect(w.Code).To(Equal(http.StatusServiceUnavailable))
	g.Expect(w.Body.String()).To(ContainSubstring("whether it was done is not known"))
	breaks.Close()
	g.Expect(asks(t, follower(breaks.notes()), sent(order, "an order")).Body.String()).To(Equal("own"), "nobody has got it")
}

// TestALeaderThatDoesNotAnswerIsLeftAlone for a while, so that one alone waits for it; one that answers is not.
func TestALeaderThatDoesNotAnswerIsLeftAlone(t *testing.T) {
	g := NewWithT(t)
	l := startLeading(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	notes, clk := l.notes(), clocktesting.NewFakePassiveClock(time.Now())
	p := newPassing(follower(notes), http.NotFoundHandler(), sealing(clk), clk, logr.Discard())
	t.Cleanup(p.close)
	reached := func() bool {
		p.ServeHTTP(httptest.NewRecorder(), question("/api/v1/fleet"))
		select {
		case <-l.asked:
			return true
		default:
			return false
		}
	}
	g.Expect(reached()).To(BeTrue())
	g.Expect(reached()).To(BeTrue(), "it has answered")
	right := notes[v1alpha1.AnnotationWebCertificate]
	notes[v1alpha1.AnnotationWebCertificate] = fingerprint([]byte("x"))
	p.client.CloseIdleConnections()
	g.Expect(reached()).To(BeFalse())
	_, asked := p.where()
	g.Expect(asked).To(BeFalse())
	clk.SetTime(clk.Now().Add(leftAlone))
	_, asked = p.where()
	g.Expect(asked).To(BeTrue())
	g.Expect(reached()).To(BeFalse())
	notes[v1alpha1.AnnotationWebCertificate] = right
	g.Expect(reached()).To(BeTrue(), "another one is asked at once")
}

// TestTheFollowerAnswers where the leader can't be asked, or does not know who asks.
func TestTheFollowerAnswers(t *testing.T) {
	l := startLeading(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "leader's") })
	gone := startLeading(t, nil)
	gone.Close()
	with := func(notes map[string]string, change func(map[string]string)) map[string]string {
		change(notes)
		return notes
	}
	passedOn := question("/api/v1/fleet")
	passedOn.Header.Set(web.PassedOnHeader, "by another one")
	for name, tc := range map[string]struct {
		leader Leader
		r      *http.Request
	}{
		"it leads itself":              {Leader{Leading: func() bool { return true }, Annotations: l.notes}, question("/api/v1/fleet")},
		"nobody leads":                 {follower(nil), question("/api/v1/fleet")},
		"without a certificate":        {follower(with(l.notes(), func(n map[string]string) { delete(n, v1alpha1.AnnotationWebCertificate) })), question("/api/v1/fleet")},
		"with another certificate":     {follower(with(l.notes(), func(n map[string]string) { n[v1alpha1.AnnotationWebCertificate] = fingerprint([]byte("x")) })), question("/api/v1/fleet")},
		"with an address that is none": {follower(with(l.notes(), func(n map[string]string) { n[v1alpha1.AnnotationWebAddress] = "a b/c" })), question("/api/v1/fleet")},
		"gone":                         {follower(gone.notes()), question("/api/v1/fleet")},
		"passed on once":               {follower(l.notes()), passedOn},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(asks(t, tc.leader, tc.r).Body.String()).To(Equal("own"))
			g.Expect(l.asked).NotTo(Receive(), "nothing of who asks has left")
		})
	}
	for code, want := range map[int]string{200: "leader's", 403: "leader's", 404: "leader's", 401: "own", 421: "own", 429: "own", 500: "own", 503: "own"} {
		t.Run(http.StatusText(code), func(t *testing.T) {
			g := NewWithT(t)
			refuses := startLeading(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(code)
				_, _ = io.WriteString(w, "leader's")
			})
			w := asks(t, follower(refuses.notes()), question("/api/v1/fleet"))
			g.Expect(w.Body.String()).To(Equal(want))
			if want != "own" {
				g.Expect(w.Code).To(Equal(code))
			}
		})
	}
}

// TestReplicasKnowWhoAsks: whatever showed it to the one that was asked, also where that can't be shown again, such as the certificate of a proxy.
func TestReplicasKnowWhoAsks(t *testing.T) {
	g := NewWithT(t)
	l := startLeading(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "leader's") })
	l.Config.Handler = web.NewGuard(web.Doors{Replicas: sealing(clock.RealClock{}), Clock: clock.RealClock{}, Log: logr.Discard()}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, _ := person.From(r.Context())
		_, _ = io.WriteString(w, who.Name)
	}))
	file, proxy := proxyOf(t)
	leader := follower(l.notes())
	leader.Key = shared
	at := serving(t, Options{Anonymous: &person.Person{Name: "everybody"}, Proxy: &web.ProxyOptions{CAFile: file, UserHeader: "X-Remote-User", GroupHeader: "X-Remote-Group"}, Leader: &leader}, func(*Server) {})
	asked := func(change func(*http.Request), certificates ...tls.Certificate) (body string) {
		transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: certificates}}
		defer transport.CloseIdleConnections()
		g.Eventually(func(g Gomega) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+at+"/api/v1/manager", http.NoBody)
			g.Expect(err).NotTo(HaveOccurred())
			change(r)
			response, err := transport.RoundTrip(r)
			g.Expect(err).NotTo(HaveOccurred())
			text, err := io.ReadAll(response.Body)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(response.Body.Close()).To(Succeed())
			g.Expect(response.StatusCode).To(Equal(http.StatusOK))
			body = string(text)
		}).Should(Succeed())
		return body
	}
	g.Expect(asked(func(r *http.Request) { r.Header.Set("X-Remote-User", "ann") }, proxy)).To(Equal("ann"))
	g.Expect(asked(func(*http.Request) {})).To(Equal("everybody"))
}

// TestThePlaceOnTheLease is the address at which others reach a process, with the certificate that it shows there.
func TestThePlaceOnTheLease(t *testing.T) {
	g := NewWithT(t)
	g.Expect((&Place{}).Annotations()).To(BeNil(), "nothing is served yet")
	place := &Place{}
	at := serving(t, Options{Place: place, AdvertiseHost: "pod.example.com"}, func(*Server) {})
	g.Eventually(place.Annotations).ShouldNot(BeNil())
	_, port, err := net.SplitHostPort(at)
	g.Expect(err).NotTo(HaveOccurred())
	said := place.Annotations()
	g.Expect(said).To(HaveKeyWithValue(v1alpha1.AnnotationWebAddress, "pod.example.com:"+port))
	c, err := tls.Dial("tcp", at, &tls.Config{InsecureSkipVerify: true})
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { g.Expect(c.Close()).To(Succeed()) }()
	g.Expect(said).To(HaveKeyWithValue(v1alpha1.AnnotationWebCertificate, fingerprint(c.ConnectionState().PeerCertificates[0].Raw)))
	place.serves("a:1", func() []byte { return nil })
	g.Expect(place.Annotations()).To(BeNil(), "its certificate can't be had")
}

func TestAdvertisedAddresses(t *testing.T) {
	for _, tc := range []struct{ host, listens, want string }{
		{"", "127.0.0.1:1", "127.0.0.1:1"}, {"", "[::]:1", ""}, {"", "0.0.0.0:1", ""}, {"10.0.0.1", "[::]:1", "10.0.0.1:1"}, {"fd00::1", "[::]:1", "[fd00::1]:1"},
		{"a", "no address", ""},
	} {
		NewWithT(t).Expect(advertised(tc.host, named(tc.listens))).To(Equal(tc.want), "%v", tc)
	}
}

// named is an address as it is written.
type named string

func (named) Network() string  { return "tcp" }
func (n named) String() string { return string(n) }
