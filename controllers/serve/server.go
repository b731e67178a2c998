package serve

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"

	"github.com/go-logr/logr"
	"golang.org/x/net/netutil"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"

	"github.com/orkspace/orkestra/engine/web"
	"github.com/orkspace/orkestra/engine/web/person"
	"github.com/orkspace/orkestra/engine/web/signin"
	"github.com/orkspace/orkestra/engine/web/ui"
)

// Options say where the page is served, and to whom.
type Options struct {
	// Address to listen at, as host:port.
	Address string
	// CertDir has tls.crt and tls.key; they are read again when they change. Empty: the process signs a certificate of its own.
	CertDir string
	// Anonymous is as whom those count who do not say who they are. nil: they are refused.
	Anonymous *person.Person
	// Hosts are the names, without ports, at which browsers reach the page. Addresses and localhost need no name.
	Hosts []string
	// Proxy says which proxies may say who asks. nil: none.
	Proxy *web.ProxyOptions
	// SignIn says by which provider people sign in. nil: they can't.
	SignIn *signin.Options
	// Tools are what language models may use. nil: nothing.
	Tools *web.Tools
	// AdvertiseHost is the name or address at which other replicas reach this process. Empty: that of Address, and none where it is all addresses.
	AdvertiseHost string
	// Place is told where that is. nil: nobody wants to know.
	Place *Place
	// Leader is asked what this process does not know while another one leads. nil: there is no other one.
	Leader *Leader
}

// Server serves the page. It implements manager.Runnable.
type Server struct {
	options Options
	tls     *tls.Config
	watcher *certwatcher.CertWatcher // nil: the certificate stays
	pages   *web.Server
	passing *passing // nil: there is no other replica
	guard   http.Handler
	log     logr.Logger
	most    int // connections at the same time
}

// maxConnections may be open at the same time.
const maxConnections = 2000

// NewServer makes one, and reads its certificate.
func NewServer(o Options, source web.Source, actor web.Actor, tokens web.Tokens, clk clock.PassiveClock, log logr.Logger) (*Server, error) {
	s := &Server{
		options: o, log: log, most: maxConnections, pages: web.New(web.Config{Source: source, Actor: actor, Tools: o.Tools, Files: ui.Files(), Clock: clk, Log: log}),
		// One protocol, as for metrics: resets and floods of HTTP/2 have exhausted servers.
		tls: &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}},
	}
	doors := web.Doors{Tokens: tokens, Anonymous: o.Anonymous, Hosts: o.Hosts, Clock: clk, Log: log}
	if o.Proxy != nil {
		var err error
		if doors.Proxy, err = web.NewProxy(*o.Proxy, clk, log); err != nil {
			return nil, err //nolint:wrapcheck // it says what it has read
		}
		s.askForCertificates(doors.Proxy)
	}
	if o.SignIn != nil {
		signs, err := signin.New(*o.SignIn, clk, log)
		if err != nil {
			return nil, err //nolint:wrapcheck // it says what it has read
		}
		doors.SignIn = signs
	}
	if l := o.Leader; l != nil {
		doors.Replicas = &web.Replicas{Key: l.Key, Clock: clk, Log: log}
	}
	s.guard = web.NewGuard(doors, s.answers(doors.Replicas, clk))
	return s, s.certify()
}

// answers are the pages of this process, with the leader's in front of them where there is another one.
func (s *Server) answers(sealed *web.Replicas, clk clock.PassiveClock) http.Handler {
	if s.options.Leader == nil {
		return s.pages
	}
	s.passing = newPassing(*s.options.Leader, s.pages, sealed, clk, s.log)
	return s.passing
}

// certify has the server show the certificate that is given, or one that it signs itself.
func (s *Server) certify() error {
	if s.options.CertDir == "" {
		certificate, key, err := certutil.GenerateSelfSignedCertKey("localhost", []net.IP{{127, 0, 0, 1}}, nil)
		if err != nil {
			return fmt.Errorf("signing a certificate for the page: %w", err)
		}
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			return fmt.Errorf("reading the certificate of the page: %w", err)
		}
		s.tls.Certificates = []tls.Certificate{pair}
		return nil
	}
	dir := s.options.CertDir
	watcher, err := certwatcher.New(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	if err != nil {
		return fmt.Errorf("reading the certificate of the page from %s: wanted tls.crt and tls.key there: %w", dir, err)
	}
	s.watcher, s.tls.GetCertificate = watcher, watcher.GetCertificate
	return nil
}

// leaf is the certificate that the server shows now; nil: none can be had.
func (s *Server) leaf() []byte {
	if s.watcher == nil {
		return s.tls.Certificates[0].Certificate[0]
	}
	now, err := s.watcher.GetCertificate(nil)
	if err != nil || len(now.Certificate) == 0 {
		return nil
	}
	return now.Certificate[0]
}

// askForCertificates asks who connects for a certificate of one of the CAs of proxies, which browsers do not have. Who has none is no proxy.
func (s *Server) askForCertificates(proxy *web.Proxy) {
	s.tls.ClientAuth = tls.RequestClientCert
	s.tls.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		now := s.tls.Clone()
		now.GetConfigForClient, now.ClientCAs = nil, proxy.CAs()
		return now, nil
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: followers serve, too.
func (*Server) NeedLeaderElection() bool { return false }

// Start serves until the context ends.
func (s *Server) Start(ctx context.Context) error {
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", s.options.Address)
	if err != nil {
		return fmt.Errorf("listening for the page at %s: %w", s.options.Address, err)
	}
	s.log.Info("Serving the Control Center", "address", listener.Addr().String())
	if s.options.Place != nil {
		s.options.Place.serves(advertised(s.options.AdvertiseHost, listener.Addr()), s.leaf)
	}
	if s.passing != nil {
		defer s.passing.close()
	}
	said := slog.NewLogLogger(logr.ToSlogHandler(s.log.V(1)), slog.LevelInfo)
	//nolint:wrapcheck // it says what it did
	return web.Serve(ctx, tls.NewListener(netutil.LimitListener(listener, s.most), s.tls), s.guard, said, func(ctx context.Context) {
		s.pages.Run(ctx)
		s.follow(ctx)
	})
}

// follow reads the certificate again when it changes, until the context ends.
func (s *Server) follow(ctx context.Context) {
	if s.watcher == nil {
		return
	}
	if err := s.watcher.Start(ctx); err != nil {
		s.log.Error(err, "The certificate of the page is not followed: it stays as it was read")
	}
}
