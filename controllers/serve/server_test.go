package serve

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	certutil "k8s.io/client-go/util/cert"

	"github.com/orkspace/orkestra/engine/web"
	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/person"
)

// nothing is a source that is not asked.
type nothing struct{ web.Source }

func (nothing) Subscribe(context.Context, func(api.Change)) {}

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
	_, err := NewServer(Options{CertDir: dir}, nothing{}, nobody{}, logr.Discard())
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
			s, err := NewServer(Options{Address: at, CertDir: tc.dir}, nothing{}, nobody{}, logr.Discard())
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
