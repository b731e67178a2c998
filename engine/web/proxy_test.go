package web

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/orkspace/orkestra/engine/web/person"
)

// epoch is when certificates of tests begin to count; they do for an hour.
var epoch = time.Unix(1_000_000, 0)

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	return sign(t, nil, &x509.Certificate{Subject: pkix.Name{CommonName: "CA"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
}

// sign makes a certificate that an authority has signed, or itself.
func sign(t *testing.T, by *authority, template *x509.Certificate) *authority {
	t.Helper()
	g := NewWithT(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	if by == nil {
		by = &authority{certificate: template, key: key}
	}
	template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(1), epoch, epoch.Add(time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, by.certificate, key.Public(), by.key)
	g.Expect(err).NotTo(HaveOccurred())
	made, err := x509.ParseCertificate(der)
	g.Expect(err).NotTo(HaveOccurred())
	return &authority{certificate: made, key: key}
}

// proxy makes the certificate of one.
func (a *authority) proxy(t *testing.T, name string, usage x509.ExtKeyUsage) *x509.Certificate {
	t.Helper()
	return sign(t, a, &x509.Certificate{Subject: pkix.Name{CommonName: name}, ExtKeyUsage: []x509.ExtKeyUsage{usage}}).certificate
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

// shows sends requests on a connection whose other end has shown certificates.
func shows(chain ...*x509.Certificate) func(*http.Request) {
	return func(r *http.Request) { r.TLS = &tls.ConnectionState{PeerCertificates: chain} }
}

func TestWhoMaySayWhoAsks(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	between := sign(t, ours, &x509.Certificate{Subject: pkix.Name{CommonName: "between"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	file := filepath.Join(t.TempDir(), "ca.crt")
	NewWithT(t).Expect(os.WriteFile(file, ours.pem(), 0o600)).To(Succeed())
	const client, server = x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth
	front := ours.proxy(t, "front", client)
	ann := []string{"X-Remote-User", "ann"}
	for name, tc := range map[string]struct {
		chain   []*x509.Certificate
		headers []string
		names   []string
		after   time.Duration
		status  int
		why     string
		groups  []string
	}{
		"a proxy":                     {[]*x509.Certificate{front}, ann, nil, 0, http.StatusOK, "", nil},
		"a proxy that says groups":    {[]*x509.Certificate{front}, append([]string{"x-remote-group", "a", "X-Remote-Group", "b, c", "X-Remote-Group", ""}, ann...), nil, 0, http.StatusOK, "", []string{"a", "b, c"}},
		"one of some":                 {[]*x509.Certificate{front}, ann, []string{"other", "front"}, 0, http.StatusOK, "", nil},
		"one between":                 {[]*x509.Certificate{between.proxy(t, "front", client), between.certificate}, ann, nil, 0, http.StatusOK, "", nil},
		"none of some":                {[]*x509.Certificate{front}, ann, []string{"other"}, 0, http.StatusForbidden, `the common name \"front\", which is not among`, nil},
		"another CA":                  {[]*x509.Certificate{theirs.proxy(t, "front", client)}, ann, nil, 0, http.StatusForbidden, "its certificate is not accepted", nil},
		"another CA beside ours":      {[]*x509.Certificate{theirs.proxy(t, "front", client), front}, ann, nil, 0, http.StatusForbidden, "its certificate is not accepted", nil},
		"the certificate of a server": {[]*x509.Certificate{ours.proxy(t, "front", server)}, ann, nil, 0, http.StatusForbidden, "its certificate is not accepted", nil},
		"one that has expired":        {[]*x509.Certificate{front}, ann, nil, 2 * time.Hour, http.StatusForbidden, "has expired", nil},
		"no certificate":              {nil, ann, nil, 0, http.StatusForbidden, "it shows no certificate", nil},
		"groups without certificate":  {nil, []string{"X-Remote-Group", "a"}, nil, 0, http.StatusForbidden, "it shows no certificate", nil},
		"a token beside":              {nil, append([]string{"Authorization", "Bearer t"}, ann...), nil, 0, http.StatusForbidden, "it shows no certificate", nil},
		"a token of the same":         {[]*x509.Certificate{front}, append([]string{"Authorization", "Bearer t"}, ann...), nil, 0, http.StatusBadRequest, "and so does the header Authorization", nil},
		"two users":                   {[]*x509.Certificate{front}, append([]string{"X-Remote-User", "bob"}, ann...), nil, 0, http.StatusBadRequest, "by one header X-Remote-User: found 2", nil},
		"groups of nobody":            {[]*x509.Certificate{front}, []string{"X-Remote-Group", "a"}, nil, 0, http.StatusBadRequest, "found 0", nil},
		"nobody":                      {[]*x509.Certificate{front}, []string{"X-Remote-User", ""}, nil, 0, http.StatusBadRequest, "or an empty one", nil},
		"a proxy that says nothing":   {[]*x509.Certificate{front}, nil, nil, 0, http.StatusUnauthorized, "Nobody has said who asks", nil},
		"a page of another origin":    {[]*x509.Certificate{front}, append([]string{"Sec-Fetch-Site", "cross-site"}, ann...), nil, 0, http.StatusForbidden, "another origin", nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			clk := clocktesting.NewFakePassiveClock(epoch.Add(tc.after))
			proxy, err := NewProxy(ProxyOptions{CAFile: file, Names: tc.names, UserHeader: DefaultUserHeader, GroupHeader: DefaultGroupHeader}, clk, logr.Discard())
			g.Expect(err).NotTo(HaveOccurred())
			guard := NewGuard(Doors{Tokens: known{"t": "ann"}, Proxy: proxy, Clock: clk, Log: logr.Discard()}, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				who, _ := person.From(r.Context())
				g.Expect(who).To(Equal(person.Person{Name: "ann", Groups: append(tc.groups, "system:authenticated")}))
				g.Expect(isStillIn(r)).To(BeTrue())
				clk.SetTime(clk.Now().Add(proxiedLife))
				g.Expect(isStillIn(r)).To(BeFalse(), "the proxy is asked again")
			}))
			r := ask(guard, http.MethodGet, "/api/v1/fleet", at("any.name.example.com"), shows(tc.chain...), with(tc.headers...))
			g.Expect(r.Code).To(Equal(tc.status))
			g.Expect(r.Body.String()).To(ContainSubstring(tc.why))
		})
	}
}

// TestNoProxyIsTrusted: who believes to be somebody is not taken for another, or for everybody.
func TestNoProxyIsTrusted(t *testing.T) {
	for _, header := range []string{"X-Remote-User", "X-Remote-Group"} {
		for _, anonymous := range []*person.Person{nil, {Name: "all"}} {
			g := NewWithT(t)
			r := ask(guardOf(anonymous, serverOf(&canned{})), http.MethodGet, "/api/v1/fleet", at("localhost"), with(header, "ann"))
			g.Expect(r.Code).To(Equal(http.StatusForbidden))
			g.Expect(r.Body.String()).To(ContainSubstring("no proxy is trusted here"))
		}
	}
}

func TestTheCAOfProxiesIsReadAgain(t *testing.T) {
	g, clk, old, next := NewWithT(t), clocktesting.NewFakePassiveClock(epoch), newAuthority(t), newAuthority(t)
	file := filepath.Join(t.TempDir(), "ca.crt")
	options := ProxyOptions{CAFile: file, UserHeader: DefaultUserHeader, GroupHeader: DefaultGroupHeader}
	_, err := NewProxy(options, clk, logr.Discard())
	g.Expect(err).To(MatchError(ContainSubstring("reading the CA of proxies")))
	g.Expect(os.WriteFile(file, []byte("nothing"), 0o600)).To(Succeed())
	_, err = NewProxy(options, clk, logr.Discard())
	g.Expect(err).To(MatchError(ContainSubstring("wanted certificates as PEM, found none")))
	g.Expect(os.WriteFile(file, old.pem(), 0o600)).To(Succeed())
	proxy, err := NewProxy(options, clk, logr.Discard())
	g.Expect(err).NotTo(HaveOccurred())
	believes := func(a *authority) bool {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		g.Expect(err).NotTo(HaveOccurred())
		shows(a.proxy(t, "front", x509.ExtKeyUsageClientAuth))(r)
		return proxy.verify(r) == nil
	}
	g.Expect(believes(old)).To(BeTrue())
	g.Expect(os.WriteFile(file, next.pem(), 0o600)).To(Succeed())
	clk.SetTime(epoch.Add(RereadInterval))
	g.Expect(believes(next)).To(BeTrue())
	g.Expect(believes(old)).To(BeFalse())
	g.Expect(os.Remove(file)).To(Succeed())
	clk.SetTime(epoch.Add(2 * RereadInterval))
	g.Expect(believes(next)).To(BeTrue(), "a file that is being replaced keeps nobody out")
}
