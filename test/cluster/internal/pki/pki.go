// Package pki makes the certificates, keys and kubeconfigs of one local cluster.
// Everything is short-lived and stays in the cluster's own folder; it must not be used for anything else.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// lifetime is long enough for a cluster that somebody leaves running.
const lifetime = 365 * 24 * time.Hour

// Pair is a certificate and its private key, both in PEM.
type Pair struct {
	Cert []byte
	Key  []byte
}

// Authority signs the certificates of one cluster.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pair Pair
	now  time.Time
}

// NewAuthority makes a self-signed authority whose certificates are valid from now.
func NewAuthority(now time.Time) (*Authority, error) {
	template := certificate("orkestra-cluster", nil, now)
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the key of the authority: %w", err)
	}
	a := &Authority{cert: template, key: key, now: now}
	if a.pair, err = a.sign(template, key); err != nil {
		return nil, err
	}
	block, _ := pem.Decode(a.pair.Cert)
	if a.cert, err = x509.ParseCertificate(block.Bytes); err != nil {
		return nil, fmt.Errorf("reading the certificate of the authority: %w", err)
	}
	return a, nil
}

// Pair returns the certificate and key of the authority itself.
func (a *Authority) Pair() Pair {
	return a.pair
}

// Serving makes a server certificate for the given host names and addresses.
func (a *Authority) Serving(name string, hosts ...string) (Pair, error) {
	template := certificate(name, nil, a.now)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return a.issue(template)
}

// Client makes a client certificate; the API server reads user and groups from it.
func (a *Authority) Client(user string, groups ...string) (Pair, error) {
	template := certificate(user, groups, a.now)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(template)
}

func (a *Authority) issue(template *x509.Certificate) (Pair, error) {
	template.KeyUsage = x509.KeyUsageDigitalSignature
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("making the key of %q: %w", template.Subject.CommonName, err)
	}
	return a.sign(template, key)
}

func (a *Authority) sign(template *x509.Certificate, key *ecdsa.PrivateKey) (Pair, error) {
	name := template.Subject.CommonName
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return Pair{}, fmt.Errorf("making the serial number of %q: %w", name, err)
	}
	template.SerialNumber = serial
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("signing the certificate of %q: %w", name, err)
	}
	keyPEM, err := privatePEM(key)
	if err != nil {
		return Pair{}, fmt.Errorf("encoding the key of %q: %w", name, err)
	}
	return Pair{Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), Key: keyPEM}, nil
}

// NewSigningKey makes the key pair that signs and checks service account tokens, private part first, both in PEM.
func NewSigningKey() (private, public []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("making the token key: %w", err)
	}
	if private, err = privatePEM(key); err != nil {
		return nil, nil, fmt.Errorf("encoding the token key: %w", err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, nil, fmt.Errorf("encoding the public token key: %w", err)
	}
	return private, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), nil
}

func privatePEM(key crypto.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

func certificate(name string, groups []string, now time.Time) *x509.Certificate {
	return &x509.Certificate{
		Subject:   pkix.Name{CommonName: name, Organization: groups},
		NotBefore: now.Add(-time.Hour),
		NotAfter:  now.Add(lifetime),
	}
}
