package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"net"
	"sync"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// Place is where a process serves the page, for the other replicas of its installation. The leader writes its own onto the Lease; the others read it
// there. It is safe for concurrent use.
type Place struct {
	mu      sync.Mutex // guards all below
	address string     // host:port; empty: it is not served, or nobody knows how it is reached
	leaf    func() []byte
}

// serves notes that the page is served at an address, by the certificate that leaf gives.
func (p *Place) serves(address string, leaf func() []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.address, p.leaf = address, leaf
}

// Annotations are those of a Lease that say where the page is served: AnnotationWebAddress and AnnotationWebCertificate; nil: it is not.
func (p *Place) Annotations() map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.address == "" {
		return nil
	}
	leaf := p.leaf()
	if leaf == nil {
		return nil
	}
	return map[string]string{v1alpha1.AnnotationWebAddress: p.address, v1alpha1.AnnotationWebCertificate: fingerprint(leaf)}
}

// fingerprint is the SHA-256 of a certificate, in hexadecimal digits.
func fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// advertised is the address at which others reach a listener: by the host that is said, else by the one that it listens at. Empty: it listens at all
// addresses of a machine, and nobody has said which of them others reach.
func advertised(host string, listens net.Addr) string {
	at, port, err := net.SplitHostPort(listens.String())
	if err != nil {
		return ""
	}
	if host == "" {
		if ip := net.ParseIP(at); ip == nil || ip.IsUnspecified() {
			return ""
		}
		host = at
	}
	return net.JoinHostPort(host, port)
}
