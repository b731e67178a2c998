package serve

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/engine/web"
	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/person"
	"github.com/orkspace/orkestra/engine/web/signin"
)

// nothing is a source that is not asked.
type nothing struct{ web.Source }

func (nothing) Subscribe(context.Context, func(api.Change)) {}

func (nothing) Manager(context.Context) (*api.Manager, error) { return &api.Manager{}, nil }

// nobody knows no token.
type nobody struct{}

func (nobody) Of(context.Context, string) (*person.Person, error) {
	return nil, nil //nolint:nilnil // nobody has it
}

// address is one that is free.
func address(t *testing.T) string {
	t.Helper()
	var listen net.ListenConfig
	l, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	defer func() { NewWithT(t).Expect(l.Close()).To(Succeed()) }()
	return l.Addr().String()
}

func TestCertificates(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	_, err := NewServer(Options{CertDir: dir}, nothing{}, nil, nobody{}, clock.RealClock{}, logr.Discard())
	g.Expect(err).To(MatchError(ContainSubstring("wanted tls.crt and tls.key there")))
	certificate, key, err := certutil.GenerateSelfSignedCertKey("page.example.com", nil, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(filepath.Join(dir, "tls.crt"), certificate, 0o600)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(dir, "tls.key"), key, 0o600)).To(Succeed())
	own := x509.NewCertPool()
	own.AppendCertsFromPEM(certificate)
	for name, tc := range map[string]struct {
		dir   string
		trust *tls.Config
	}{
		"of its own": {"", &tls.Config{InsecureSkipVerify: true}},
		"from files": {dir, &tls.Config{RootCAs: own, ServerName: "page.example.com", MinVersion: tls.VersionTLS12}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			at := address(t)
			s, err := NewServer(Options{Address: at, CertDir: tc.dir}, nothing{}, nil, nobody{}, clock.RealClock{}, logr.Discard())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(s.NeedLeaderElection()).To(BeFalse())
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- s.Start(ctx) }()
			transport := &http.Transport{TLSClientConfig: tc.trust}
			defer transport.CloseIdleConnections()
			g.Eventually(func(g Gomega) {
				request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+at+"/", nil)
				g.Expect(err).NotTo(HaveOccurred())
				r, err := transport.RoundTrip(request)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(r.Body.Close()).To(Succeed())
				g.Expect(r.StatusCode).To(Equal(http.StatusUnauthorized), "the page is not for everybody")
				g.Expect(r.ProtoMajor).To(Equal(1))
			}).Should(Succeed())
			stop()
			g.Eventually(ended).Should(Receive(BeNil()))
		})
	}
}

// serving starts a server with a certificate of its own, and gives where it is.
func serving(t *testing.T, o Options, change func(*Server)) (at string) {
	t.Helper()
	g := NewWithT(t)
	o.Address = address(t)
	s, err := NewServer(o, nothing{}, nil, nobody{}, clock.RealClock{}, logr.Discard())
	g.Expect(err).NotTo(HaveOccurred())
	change(s)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		NewWithT(t).Eventually(ended, "10s").Should(Receive(BeNil()))
	})
	return o.Address
}

// connect opens a connection, when the server is there.
func connect(t *testing.T, at string) *tls.Conn {
	t.Helper()
	var conn net.Conn
	NewWithT(t).Eventually(func() (err error) {
		conn, err = (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(t.Context(), "tcp", at)
		return err
	}, "10s").Should(Succeed())
	t.Cleanup(func() { _ = conn.Close() })
	return conn.(*tls.Conn)
}

// TestABodyThatNeverComes holds up nothing: no question has one, and the answer does not wait for it.
func TestABodyThatNeverComes(t *testing.T) {
	g, conn := NewWithT(t), connect(t, serving(t, Options{}, func(*Server) {}))
	_, err := conn.Write([]byte("GET /api/v1/fleet HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(conn.SetReadDeadline(time.Now().Add(10 * time.Second))).To(Succeed())
	reader := bufio.NewReader(conn)
	answer, err := http.ReadResponse(reader, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer.StatusCode).To(Equal(http.StatusRequestEntityTooLarge))
	g.Expect(answer.Close).To(BeTrue())
	_, err = io.Copy(io.Discard, answer.Body)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer.Body.Close()).To(Succeed())
	_, err = reader.ReadByte()
	g.Expect(err).To(MatchError(io.EOF), "and the connection ends")
}

// TestConnectionsAreBounded: who opens more than the process can hold waits, and comes in when another one goes.
func TestConnectionsAreBounded(t *testing.T) {
	g := NewWithT(t)
	at := serving(t, Options{}, func(s *Server) { s.most = 1 })
	first := connect(t, at)
	second, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", at) // the kernel takes it, and nobody speaks TLS there
	g.Expect(err).NotTo(HaveOccurred())
	spoken := make(chan error, 1)
	go func() {
		spoken <- tls.Client(second, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(t.Context())
	}()
	g.Consistently(spoken).ShouldNot(Receive())
	g.Expect(first.Close()).To(Succeed())
	g.Eventually(spoken, "10s").Should(Receive(BeNil()))
	g.Expect(second.Close()).To(Succeed())
}

// proxyOf makes the certificate of a proxy that is its own CA, and a file with that CA.
func proxyOf(t *testing.T) (file string, front tls.Certificate) {
	t.Helper()
	g := NewWithT(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "front"}, NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, // it is its own CA
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	g.Expect(err).NotTo(HaveOccurred())
	file = filepath.Join(t.TempDir(), "ca.crt")
	g.Expect(os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600)).To(Succeed())
	return file, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// TestProxiesShowCertificates: who connects is asked for a certificate of the CA that is given, and who has none is no proxy.
func TestProxiesShowCertificates(t *testing.T) {
	g := NewWithT(t)
	file, front := proxyOf(t)
	_, err := NewServer(Options{Proxy: &web.ProxyOptions{CAFile: file + ".not"}}, nothing{}, nil, nobody{}, clock.RealClock{}, logr.Discard())
	g.Expect(err).To(MatchError(ContainSubstring("reading the CA of proxies")))

	at := serving(t, Options{Proxy: &web.ProxyOptions{CAFile: file, Names: []string{"front"}, UserHeader: "X-User", GroupHeader: "X-Group"}}, func(*Server) {})
	connect(t, at)
	status := func(shows bool) (code int, asked [][]byte) {
		transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, GetClientCertificate: func(r *tls.CertificateRequestInfo) (*tls.Certificate, error) {
			asked = r.AcceptableCAs
			if !shows {
				return &tls.Certificate{}, nil
			}
			return &front, nil
		}}}
		defer transport.CloseIdleConnections()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+at+"/", nil)
		g.Expect(err).NotTo(HaveOccurred())
		request.Header.Set("X-User", "ann")
		r, err := transport.RoundTrip(request)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(r.Body.Close()).To(Succeed())
		return r.StatusCode, asked
	}
	code, asked := status(true)
	g.Expect(code).To(Equal(http.StatusOK))
	g.Expect(asked).To(HaveLen(1), "browsers ask people for a certificate only if they have one of these CAs")
	code, _ = status(false)
	g.Expect(code).To(Equal(http.StatusForbidden))
}

// TestPeopleSignIn: where there is a provider, the page is for everybody, since it has the button, and the API says where to sign in.
func TestPeopleSignIn(t *testing.T) {
	g, key := NewWithT(t), filepath.Join(t.TempDir(), "key")
	options := Options{SignIn: &signin.Options{Issuer: "https://login.example.com", ClientID: "page", SessionKeyFile: key, SessionLife: time.Hour}}
	_, err := NewServer(options, nothing{}, nil, nobody{}, clock.RealClock{}, logr.Discard())
	g.Expect(err).To(MatchError(ContainSubstring("reading the keys of sessions")))
	g.Expect(os.WriteFile(key, []byte(base64.StdEncoding.EncodeToString(make([]byte, 32))), 0o600)).To(Succeed())
	at := serving(t, options, func(*Server) {})
	connect(t, at)
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	for path, want := range map[string]int{"/": http.StatusOK, "/api/v1/session": http.StatusUnauthorized, "/auth/nothing": http.StatusNotFound} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+at+path, nil)
		g.Expect(err).NotTo(HaveOccurred())
		r, err := transport.RoundTrip(request)
		g.Expect(err).NotTo(HaveOccurred())
		text, err := io.ReadAll(r.Body)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(r.Body.Close()).To(Succeed())
		g.Expect(r.StatusCode).To(Equal(want), path)
		if want == http.StatusUnauthorized {
			g.Expect(string(text)).To(ContainSubstring(`"signIn":"/auth/login"`))
		}
	}
}
