package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"github.com/go-logr/logr"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/web"
)

// Leader is what a replica knows of the one that leads.
type Leader struct {
	// Leading says whether this process leads.
	Leading func() bool
	// Annotations are those of the Lease, as they were last seen; nil: it was not seen.
	Annotations func() map[string]string
}

// How long the leader may take: to be reached, and to begin its answer. Somebody waits for it who could have the follower's own.
const (
	reachTimeout  = time.Second
	answerTimeout = 5 * time.Second
	// idlePeers is how many connections to the leader are kept open, and idleTimeout for how long.
	idlePeers   = 4
	idleTimeout = time.Minute
)

// headerAsked stands in a question that a follower passes on, so that it goes no further: two that both believe that the other leads would send it
// to and fro.
const headerAsked = "Orkestra-Passed-On"

// passing has the leader answer what it alone knows: queue, workers, and what it remembers of reconciles. It passes on the question as it came, with
// what says who asks, so that the leader lets in and shows what it would if it had been asked itself. Where the leader can't be asked, this process answers from what
// it knows, which says so.
type passing struct {
	leader Leader
	own    http.Handler
	log    logr.Logger
	proxy  *httputil.ReverseProxy
	client *http.Transport
}

// newPassing makes one in front of a process's own answers.
func newPassing(l Leader, own http.Handler, log logr.Logger) *passing {
	p := &passing{leader: l, own: own, log: log}
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

// placeKey is that of the leader's place in the context of a question.
type placeKey struct{}

// ServeHTTP implements http.Handler.
func (p *passing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at, known := p.where()
	if !known || !isLeaders(r) || r.Header.Get(headerAsked) != "" || !web.ShowsWhoAsks(r.Context()) {
		p.own.ServeHTTP(w, r)
		return
	}
	p.proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), placeKey{}, at)))
}

// where is the leader; false: this process leads, or nobody knows.
func (p *passing) where() (place, bool) {
	if p.leader.Leading() {
		return place{}, false
	}
	said := p.leader.Annotations()
	at := place{address: said[v1alpha1.AnnotationWebAddress], certificate: said[v1alpha1.AnnotationWebCertificate]}
	return at, at.address != "" && at.certificate != ""
}

// isLeaders says whether a question is for what the leader alone knows: the fleet, the manager, a box, or a resource.
func isLeaders(r *http.Request) bool {
	if r.Method != http.MethodGet {
		return false
	}
	path, ok := strings.CutPrefix(r.URL.Path, "/api/v1/")
	if !ok {
		return false
	}
	if path == "fleet" || path == "manager" {
		return true
	}
	parts := strings.Split(path, "/")
	return parts[0] == "boxes" && (len(parts) == 2 || len(parts) == 5 && parts[2] == "resources")
}

// rewrite sends a question to the leader. Its header Host stays: it is what the leader checks as well.
func rewrite(r *httputil.ProxyRequest) {
	at, _ := r.In.Context().Value(placeKey{}).(place)
	r.SetURL(&url.URL{Scheme: "https", Host: at.address})
	r.Out.Host = r.In.Host
	r.Out.Header.Set(headerAsked, "true")
}

// dial connects to the leader, and to nobody else: it shows the certificate whose hash is on the Lease.
func (p *passing) dial(ctx context.Context, network, address string) (net.Conn, error) {
	at, _ := ctx.Value(placeKey{}).(place)
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
	return dialer.DialContext(ctx, network, address) //nolint:wrapcheck // instead says what it was for
}

// isAnswer refuses what a leader says that does not know who asks, or is about to end: the follower's own answer is better.
func isAnswer(r *http.Response) error {
	switch code := r.StatusCode; {
	case code == http.StatusUnauthorized, code == http.StatusMisdirectedRequest, code == http.StatusTooManyRequests, code >= http.StatusInternalServerError:
		return fmt.Errorf("it answers %s", r.Status)
	}
	return nil
}

// instead answers where the leader did not.
func (p *passing) instead(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // nobody waits any more
	}
	p.log.V(1).Info("The leader was not asked: this process answers by itself", "path", r.URL.Path, "error", err.Error())
	p.own.ServeHTTP(w, r)
}
