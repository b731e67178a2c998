package serve

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/web"
	"github.com/orkspace/orkestra/engine/web/person"
)

// Leader is what a replica knows of the one that leads.
type Leader struct {
	// Leading says whether this process leads.
	Leading func() bool
	// Annotations are those of the Lease, as they were last seen; nil: it was not seen.
	Annotations func() map[string]string
	// Key is one that all replicas have, and nobody else. An error says why it can't be had.
	Key func(ctx context.Context) ([]byte, error)
}

// How long the leader may take: to be reached, and to begin its answer. Somebody waits for it who could have the follower's own. After that it is left
// alone for a while, so that the next ones do not wait as well.
const (
	reachTimeout  = time.Second
	answerTimeout = 5 * time.Second
	leftAlone     = 15 * time.Second
	// maxPassed is how long a body may be that is passed on: it is kept, for the follower's own answer. The pages bound it further.
	maxPassed = 1 << 20 // bytes
	// idlePeers is how many connections to the leader are kept open, and idleTimeout for how long.
	idlePeers   = 4
	idleTimeout = time.Minute
)

// passing has the leader answer what it alone knows: queue, workers, and what it remembers of reconciles; and do what people ask for, since it alone
// writes. It passes on the question, and says who asks; what showed that to this process stays here. A question that was passed on goes no further: two that
// both believe that the other leads would send it to and fro.
// Where the leader can't be asked, this process answers from what it knows, which says so.
type passing struct {
	leader Leader
	own    http.Handler
	sealed *web.Replicas
	clock  clock.PassiveClock
	log    logr.Logger
	proxy  *httputil.ReverseProxy
	client *http.Transport

	mu    sync.Mutex // guards all below
	alone place      // that did not answer
	until time.Time  // it is left alone
}

// newPassing makes one in front of a process's own answers.
func newPassing(l Leader, own http.Handler, sealed *web.Replicas, clk clock.PassiveClock, log logr.Logger) *passing {
	p := &passing{leader: l, own: own, sealed: sealed, clock: clk, log: log}
	p.client = &http.Transport{
		DialTLSContext: p.dial, ResponseHeaderTimeout: answerTimeout, MaxIdleConns: idlePeers, MaxIdleConnsPerHost: idlePeers, IdleConnTimeout: idleTimeout,
		DisableCompression: true, // it is passed on as it is
	}
	p.proxy = &httputil.ReverseProxy{Rewrite: rewrite, Transport: p.client, ModifyResponse: isAnswer, ErrorHandler: p.instead}
	return p
}

// close ends the connections that are kept open.
func (p *passing) close() { p.client.CloseIdleConnections() }

// place is where the leader serves the page.
type place struct{ address, certificate string }

// passed is what belongs to a question that is passed on.
type passed struct {
	place

	body  []byte
	asked *http.Request // as it came
}

// passedKey is its key in the context of the question.
type passedKey struct{}

func passedOf(ctx context.Context) passed {
	of, _ := ctx.Value(passedKey{}).(passed)
	return of
}

// ServeHTTP implements http.Handler.
func (p *passing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at, known := p.where()
	who, said := person.From(r.Context())
	if !known || !isLeaders(r) || !said || r.Header.Get(web.PassedOnHeader) != "" {
		p.own.ServeHTTP(w, r)
		return
	}
	body, whole := kept(r)
	if !whole {
		p.own.ServeHTTP(w, r) // it refuses what is too long
		return
	}
	sealed := r.Clone(context.WithValue(r.Context(), passedKey{}, passed{place: at, body: body, asked: r}))
	if err := p.sealed.Seal(sealed, who, body); err != nil {
		p.instead(w, sealed, fmt.Errorf("%w: %w", errUnsealed, err))
		return
	}
	p.proxy.ServeHTTP(w, sealed)
}

// kept reads the body of a question, which can be read again then; false: it is longer than any that is answered, or can't be read.
func kept(r *http.Request) (body []byte, whole bool) {
	if r.ContentLength == 0 {
		return nil, true
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxPassed+1))
	rest := r.Body
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), rest), rest}
	return body, err == nil && len(body) <= maxPassed
}

// where is the leader; false: this process leads, nobody knows, or it is left alone.
func (p *passing) where() (place, bool) {
	if p.leader.Leading() {
		return place{}, false
	}
	said := p.leader.Annotations()
	at := place{address: said[v1alpha1.AnnotationWebAddress], certificate: said[v1alpha1.AnnotationWebCertificate]}
	return at, at.address != "" && at.certificate != "" && !p.isLeftAlone(at)
}

// isLeftAlone says whether a leader has not answered lately.
func (p *passing) isLeftAlone(at place) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return at == p.alone && p.clock.Now().Before(p.until)
}

// leaveAlone has a leader that did not answer not asked for a while.
func (p *passing) leaveAlone(at place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.alone, p.until = at, p.clock.Now().Add(leftAlone)
}

// isLeaders says whether a question is for the leader: for what it alone knows (the fleet, the manager, a box, a resource, what the tools for language
// models ask), or an order.
func isLeaders(r *http.Request) bool {
	path, ofAPI := strings.CutPrefix(r.URL.Path, "/api/v1/")
	if !ofAPI {
		return r.URL.Path == web.ToolsPath
	}
	parts := strings.Split(path, "/")
	if parts[0] == "boxes" && r.Method == http.MethodPost {
		return slices.Contains(parts, "actions")
	}
	if r.Method != http.MethodGet {
		return false
	}
	return path == "fleet" || path == "manager" || parts[0] == "boxes" && (len(parts) == 2 || len(parts) == 5 && parts[2] == "resources")
}

// rewrite sends a question to the leader.
func rewrite(r *httputil.ProxyRequest) {
	r.SetURL(&url.URL{Scheme: "https", Host: passedOf(r.In.Context()).address})
}

// dial connects to the leader, and to nobody else: it shows the certificate whose hash is on the Lease.
func (p *passing) dial(ctx context.Context, network, address string) (net.Conn, error) {
	at := passedOf(ctx)
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	dialer := &tls.Dialer{NetDialer: &net.Dialer{}, Config: &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		InsecureSkipVerify: true, //nolint:gosec // no name is checked, and no CA is asked: it has to be this one certificate
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 || fingerprint(s.PeerCertificates[0].Raw) != at.certificate {
				return errors.New("it shows another certificate than the Lease says")
			}
			return nil
		},
	}}
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreached, err)
	}
	return conn, nil
}

// errUnreached is the error of a leader that has got nothing of a question.
var errUnreached = errors.New("it can't be reached")

// errUnsealed is the error of a question that was not sent, because this process can't say who asks.
var errUnsealed = errors.New("who asks can't be sealed")

// errRefused is the error of a leader that has answered, and not the question.
var errRefused = errors.New("it does not answer this")

// isAnswer refuses what a leader says that does not know who asks, or is about to end: the follower's own answer is better. What it says of an order
// is passed on: it may have done it.
func isAnswer(r *http.Response) error {
	switch code := r.StatusCode; {
	case code == http.StatusUnauthorized, code == http.StatusMisdirectedRequest, code == http.StatusTooManyRequests,
		code >= http.StatusInternalServerError && r.Request.Method != http.MethodPost:
		return fmt.Errorf("%w: %s", errRefused, r.Status)
	}
	return nil
}

// instead answers where the leader did not.
func (p *passing) instead(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // nobody waits any more
	}
	p.log.V(1).Info("The leader was not asked: this process answers by itself", "path", r.URL.Path, "error", err.Error())
	of := passedOf(r.Context())
	if !errors.Is(err, errRefused) {
		p.leaveAlone(of.place)
	}
	if sent := !errors.Is(err, errRefused) && !errors.Is(err, errUnreached) && !errors.Is(err, errUnsealed); sent && r.Method == http.MethodPost {
		web.Problem(w, http.StatusServiceUnavailable, "The replica that leads did not answer in time: whether it was done is not known. Look at the object, and try again if it was not")
		return
	}
	of.asked.Body = io.NopCloser(bytes.NewReader(of.body))
	p.own.ServeHTTP(w, of.asked)
}
