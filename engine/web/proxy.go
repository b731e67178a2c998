package web

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/engine/web/person"
)

// The headers by which the API server is told by a proxy who asks.
const (
	DefaultUserHeader  = "X-Remote-User"
	DefaultGroupHeader = "X-Remote-Group"
)

// proxiedLife is how long a stream lasts of which a proxy has said who listens: it knows when somebody is not signed in any more, and is asked
// again with the next stream.
const proxiedLife = 15 * time.Minute

// ProxyOptions say which proxies may say who asks, and how they do.
type ProxyOptions struct {
	// CAFile has the certificates, as PEM, of the CAs that sign those of the proxies. It is read again when it changes.
	CAFile string
	// Names are the common names of their certificates; empty: each that a CA has signed.
	Names []string
	// UserHeader has the name of the user, and GroupHeader a group of theirs; it comes once for each group.
	UserHeader, GroupHeader string
}

// Proxy believes proxies who asks, if they show a certificate. It is safe for concurrent use.
type Proxy struct {
	ProxyOptions

	clock clock.PassiveClock
	cas   *Reread[*x509.CertPool]
}

// NewProxy makes one, and reads the certificates of its CAs.
func NewProxy(o ProxyOptions, clk clock.PassiveClock, log logr.Logger) (*Proxy, error) {
	cas, err := NewReread("the CA of proxies", func() (*x509.CertPool, error) { return ReadCAs(o.CAFile, "proxies") }, clk, log)
	if err != nil {
		return nil, err
	}
	return &Proxy{ProxyOptions: o, clock: clk, cas: cas}, nil
}

// CAs are those whose certificates count now.
func (p *Proxy) CAs() *x509.CertPool { return p.cas.Now() }

// enter gives who asks, as a proxy says; nil: none has said anything. What somebody else says is refused, and not passed over: who believes to be
// one person must not be taken for another.
func (p *Proxy) enter(r *http.Request) (*entry, *refusal) {
	userHeader, groupHeader := DefaultUserHeader, DefaultGroupHeader
	if p != nil {
		userHeader, groupHeader = p.UserHeader, p.GroupHeader
	}
	users, groups := r.Header.Values(userHeader), r.Header.Values(groupHeader)
	if len(users) == 0 && len(groups) == 0 {
		return nil, nil //nolint:nilnil // nobody has said anything
	}
	if p == nil {
		return nil, &refusal{status: http.StatusForbidden, why: fmt.Sprintf("The request has the header %s or %s, and no proxy is trusted here: leave them out, or name in the chart's web.proxy whose they are", userHeader, groupHeader)}
	}
	if err := p.verify(r); err != nil {
		return nil, &refusal{status: http.StatusForbidden, why: fmt.Sprintf("The request has the header %s or %s, and does not come from a proxy that is trusted here: %v", userHeader, groupHeader, err)}
	}
	if len(users) != 1 || users[0] == "" {
		return nil, &refusal{status: http.StatusBadRequest, why: fmt.Sprintf("The proxy has to say who asks by one header %s: found %d, or an empty one", userHeader, len(users))}
	}
	if r.Header.Get("Authorization") != "" {
		return nil, &refusal{status: http.StatusBadRequest, why: "The proxy says who asks, and so does the header Authorization: have the proxy take it out"}
	}
	until := p.clock.Now().Add(proxiedLife)
	groups = slices.DeleteFunc(slices.Clone(groups), func(group string) bool { return group == "" })
	return &entry{
		who: person.Person{Name: users[0], Groups: person.Authenticated(groups)}, byItself: true, byProxy: true,
		still: func(context.Context) bool { return p.clock.Now().Before(until) },
	}, nil
}

// verify checks the certificate of who has sent a request.
func (p *Proxy) verify(r *http.Request) error {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return errors.New("it shows no certificate")
	}
	chain := r.TLS.PeerCertificates
	between := x509.NewCertPool()
	for _, one := range chain[1:] {
		between.AddCert(one)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{
		Roots: p.CAs(), Intermediates: between, CurrentTime: p.clock.Now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return fmt.Errorf("its certificate is not accepted: %w", err)
	}
	if name := chain[0].Subject.CommonName; len(p.Names) > 0 && !slices.Contains(p.Names, name) {
		return fmt.Errorf("its certificate has the common name %q, which is not among those that are allowed", name)
	}
	return nil
}
