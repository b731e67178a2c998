package chaos_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// proxy stands between a seed's managers and the API server. Each manager has a listener of its own, so that one can be cut off for
// good while the next begins.
type proxy struct {
	plan     *plan
	target   string
	upstream *http.Transport
	auth     http.RoundTripper // upstream, with the administrator's credentials
	lists    recordedLists
	quiet    chan struct{} // closed when the faults end

	mu     sync.Mutex
	kills  []int         // guarded by mu: after which writes a manager dies
	writes int           // guarded by mu
	more   chan struct{} // guarded by mu; closed at the next write
	log    []request     // guarded by mu: what was asked, but for watches
}

// request is what a manager asked.
type request struct {
	method, path, body string
	at                 time.Time
	manager            string // by its address
}

func (r request) String() string { return strings.TrimSpace(r.method + " " + r.path + " " + r.body) }

func newProxy(config *rest.Config, p *plan, kills []int) (*proxy, error) {
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	upstream := &http.Transport{TLSClientConfig: tlsConfig, DisableCompression: true, MaxIdleConnsPerHost: 100}
	auth, err := rest.HTTPWrappersForConfig(config, upstream)
	if err != nil {
		return nil, err
	}
	return &proxy{
		plan: p, target: strings.TrimSuffix(config.Host, "/"), upstream: upstream, auth: auth, kills: kills,
		quiet: make(chan struct{}), more: make(chan struct{}),
	}, nil
}

// calm ends all faults, and lets go of what is held back.
func (p *proxy) calm() {
	p.plan.calm()
	p.mu.Lock()
	p.kills = nil
	p.mu.Unlock()
	close(p.quiet)
}

func (p *proxy) close() { p.upstream.CloseIdleConnections() }

// gate is one manager's way to the API server.
type gate struct {
	proxy  *proxy
	server *http.Server
	url    string
	done   chan struct{}
	cut    chan struct{} // closed when the manager is killed
	once   sync.Once
	killed func() // called once, when the proxy decides that the manager dies
}

func (p *proxy) open(killed func()) (*gate, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	g := &gate{proxy: p, url: "http://" + listener.Addr().String(), done: make(chan struct{}), cut: make(chan struct{}), killed: killed}
	g.server = &http.Server{Handler: g, ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: time.Minute}
	go func() {
		defer close(g.done)
		_ = g.server.Serve(listener) // ends when it is closed
	}()
	return g, nil
}

// sever closes the manager's way to the API server for good, in both directions.
func (g *gate) sever() {
	g.once.Do(func() { close(g.cut) })
	_ = g.server.Close() // what it did not close is gone already
	<-g.done
}

func (g *gate) dead() bool {
	select {
	case <-g.cut:
		return true
	default:
		return false
	}
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || g.dead() {
		panic(http.ErrAbortHandler)
	}
	if r.URL.Query().Get("watch") != "" {
		g.watch(w, r)
		return
	}
	c := read
	if r.Method != http.MethodGet && !strings.HasSuffix(r.URL.Path, "accessreviews") {
		c = write
	}
	dies, before := g.proxy.note(r, c, body)
	if dies && before {
		g.die()
	}
	f := g.proxy.plan.decide(c, r.Method+" "+r.URL.Path)
	if g.refuse(w, r, f) {
		return
	}
	said := g.forward(r, body)
	if dies {
		g.die()
	}
	g.answer(w, r, f, said)
}

// note logs a request, and says whether the manager is killed at it: before it is forwarded, or after.
func (p *proxy) note(r *http.Request, c class, body []byte) (dies, before bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = append(p.log, request{r.Method, r.URL.Path, string(body[:min(len(body), 1000)]), time.Now(), r.Host})
	if c != write {
		return false, false
	}
	p.writes++
	close(p.more)
	p.more = make(chan struct{})
	if at := slices.Index(p.kills, p.writes); at >= 0 {
		return true, at%2 == 0
	}
	return false, false
}

// written gives the number of writes so far, and what is closed at the next.
func (p *proxy) written() (int, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.writes, p.more
}

// since gives the requests after the first n, and how many there are now.
func (p *proxy) since(n int) ([]request, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.log[n:]), len(p.log)
}

// die ends the manager before anything else of it passes, and the request with it.
func (g *gate) die() {
	g.once.Do(func() {
		close(g.cut)
		g.killed()
	})
	panic(http.ErrAbortHandler)
}

// forward asks the API server, and reads its answer. What has reached the API server is done, even if its sender gives up.
func (g *gate) forward(r *http.Request, body []byte) recorded {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), time.Minute)
	defer cancel()
	response, err := g.proxy.ask(ctx, r, body)
	if err != nil {
		panic(http.ErrAbortHandler) // the API server is away
	}
	answer, err := io.ReadAll(response.Body)
	_ = response.Body.Close() // it was read to its end, or failed
	if err != nil || g.dead() {
		panic(http.ErrAbortHandler)
	}
	return recorded{response.StatusCode, response.Header, answer}
}

func (p *proxy) ask(ctx context.Context, r *http.Request, body []byte) (*http.Response, error) {
	out, err := http.NewRequestWithContext(ctx, r.Method, p.target+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	out.Header = r.Header.Clone()
	out.Header.Del("Accept-Encoding")
	return p.auth.RoundTrip(out)
}

// pause waits, unless the faults end, the manager is killed or the client gives up.
func (g *gate) pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-g.proxy.quiet:
	case <-ctx.Done():
	case <-g.cut:
	}
	if g.dead() {
		panic(http.ErrAbortHandler)
	}
}

// reset ends a connection as a crash would.
func reset(w http.ResponseWriter) {
	if hijacker, ok := w.(http.Hijacker); ok {
		if conn, _, err := hijacker.Hijack(); err == nil {
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0) // a connection that is gone can't be asked for more
			}
			_ = conn.Close()
			return
		}
	}
	panic(http.ErrAbortHandler)
}

// status writes an error as the API server does.
func status(w http.ResponseWriter, code int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	if code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(code)
	_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"code":%d}`,
		message, reason, code) // an answer that can't be written has no reader
}
