// Package certificates makes, keeps and renews a certificate that only one ValidatingWebhookConfiguration has to trust.
package certificates

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"slices"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// backdated is how much earlier than they are made certificates begin: clocks differ.
const backdated = time.Hour

// pair is a certificate with its key, and with the authority that signed it. The authority has signed nothing else, and its key is thrown
// away: nobody who reads the Secret can sign anything.
type pair struct {
	certificate, key []byte // as PEM; the authority follows the certificate
	leaf, authority  *x509.Certificate
	served           *tls.Certificate
}

// made is when the pair was made.
func (p *pair) made() time.Time { return p.leaf.NotBefore.Add(backdated) }

// newPair makes one for these DNS names and addresses.
func newPair(names []string, now time.Time, validity time.Duration) (*pair, error) {
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	authority, err := template("orkestra-webhook-ca", now, validity)
	if err != nil {
		return nil, err
	}
	authority.IsCA, authority.KeyUsage = true, x509.KeyUsageCertSign
	leaf, err := template("orkestra-webhook", now, validity)
	if err != nil {
		return nil, err
	}
	leaf.KeyUsage, leaf.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, name)
		}
	}
	signedAuthority, err := sign(authority, authority, &authorityKey.PublicKey, authorityKey)
	if err != nil {
		return nil, err
	}
	signedLeaf, err := sign(leaf, signedAuthority, &key.PublicKey, authorityKey)
	if err != nil {
		return nil, err
	}
	certificates, err := cert.EncodeCertificates(signedLeaf, signedAuthority)
	if err != nil {
		return nil, fmt.Errorf("encoding a certificate: %w", err)
	}
	encodedKey, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return nil, fmt.Errorf("encoding a key: %w", err)
	}
	return parsePair(certificates, encodedKey)
}

func template(name string, now time.Time, validity time.Duration) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("drawing a serial number: %w", err)
	}
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: fmt.Sprintf("%s-%x", name, serial)},
		NotBefore: now.Add(-backdated), NotAfter: now.Add(validity), BasicConstraintsValid: true,
	}, nil
}

func sign(template, parent *x509.Certificate, public *ecdsa.PublicKey, private *ecdsa.PrivateKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, private)
	if err != nil {
		return nil, fmt.Errorf("signing a certificate: %w", err)
	}
	signed, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("reading what was signed: %w", err)
	}
	return signed, nil
}

// parsePair reads one as it is kept.
func parsePair(certificate, key []byte) (*pair, error) {
	served, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("reading a certificate and its key: %w", err)
	}
	all, err := cert.ParseCertsPEM(certificate)
	if err != nil {
		return nil, fmt.Errorf("reading a certificate: %w", err)
	}
	if len(all) != 2 || all[0].CheckSignatureFrom(all[1]) != nil {
		return nil, errors.New("a certificate is not followed by the authority that signed it")
	}
	return &pair{certificate: certificate, key: key, leaf: all[0], authority: all[1], served: &served}, nil
}

// fits says whether the pair can be served now under all of the names.
func (p *pair) fits(names []string, now time.Time) bool {
	if p == nil || now.Before(p.leaf.NotBefore) || !now.Before(p.leaf.NotAfter) {
		return false
	}
	return !slices.ContainsFunc(names, func(name string) bool { return p.leaf.VerifyHostname(name) != nil })
}

// has says whether a bundle holds an authority.
func has(bundle []byte, authority *x509.Certificate) bool {
	all, err := cert.ParseCertsPEM(bundle)
	return err == nil && slices.ContainsFunc(all, func(c *x509.Certificate) bool { return bytes.Equal(c.Raw, authority.Raw) })
}
