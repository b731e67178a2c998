package e2e_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/engine/hook/protocol"
)

// hookServer is a webhook that specs answer by.
type hookServer struct {
	*httptest.Server

	mu       sync.Mutex
	answer   http.HandlerFunc // guarded by mu
	requests []heard          // guarded by mu
}

// heard is a request that a webhook got.
type heard struct {
	Path   string
	Header http.Header
	Body   []byte
}

// newHookServer starts a webhook over TLS.
func newHookServer(start func(*httptest.Server)) *hookServer {
	s := &hookServer{}
	s.Server = httptest.NewUnstartedServer(s)
	start(s.Server)
	DeferCleanup(s.Close)
	return s
}

// servesAs starts a server with a certificate for a name.
func servesAs(name string) func(*httptest.Server) {
	return func(s *httptest.Server) {
		GinkgoHelper()
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		Expect(err).NotTo(HaveOccurred())
		leaf := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
		der, err := x509.CreateCertificate(rand.Reader, leaf, leaf, key.Public(), key)
		Expect(err).NotTo(HaveOccurred())
		s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
		s.StartTLS()
	}
}

// pair gives a certificate and its key in PEM.
func pair(of tls.Certificate) (certificate, key []byte) {
	GinkgoHelper()
	private, err := x509.MarshalPKCS8PrivateKey(of.PrivateKey)
	Expect(err).NotTo(HaveOccurred())
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: of.Certificate[0]}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
}

// ServeHTTP implements http.Handler.
func (s *hookServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.requests = append(s.requests, heard{Path: r.URL.Path, Header: r.Header, Body: body})
	answer := s.answer
	s.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(body))
	answer(w, r)
}

// answers has the webhook answer by a function from now on.
func (s *hookServer) answers(f http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = f
}

// heard gives the requests since it was last asked.
func (s *hookServer) heard() []heard {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.requests
	s.requests = nil
	return out
}

// last gives the last request that was not asked for yet, decoded.
func (s *hookServer) last(g Gomega, into any) {
	all := s.heard()
	g.Expect(all).NotTo(BeEmpty())
	g.Expect(json.Unmarshal(all[len(all)-1].Body, into)).To(Succeed())
}

// says has the webhook answer each request in Orkestra's protocol.
func (s *hookServer) says(f func(*protocol.Request) *protocol.Response) {
	s.answers(func(w http.ResponseWriter, r *http.Request) {
		q := &protocol.Request{}
		if err := json.NewDecoder(r.Body).Decode(q); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		a := f(q)
		a.APIVersion, a.Kind = protocol.Version, protocol.KindResponse
		if a.UID == "" {
			a.UID = q.UID
		}
		sends(w, a)
	})
}

// sends answers with JSON.
func sends(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(err)
	}
}

// trusted puts the certificate of the webhook into a Secret of the world.
func (s *hookServer) trusted(ctx context.Context, w *world) {
	GinkgoHelper()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	Expect(kube.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "webhook-ca"}, Data: map[string][]byte{"ca.crt": ca}})).To(Succeed())
}

// hookedBy is the spec of a box with this webhook. more are further fields of it, and rest of the spec.
func (s *hookServer) hookedBy(more, rest string) string {
	return fmt.Sprintf(`{reconciler: {hooks: {resources: [{kind: ConfigMap}], webhook: {url: %q, caBundle: {name: webhook-ca}, retries: 0%s}}}%s}`, s.URL, more, rest)
}

// childMap is a ConfigMap as webhooks answer it.
func childMap(name string, data map[string]any) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": data}
}
