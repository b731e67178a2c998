package random

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"net"
	"time"
)

// The sizes of RSA keys are Sprig's.
const (
	bitsOfKey         = 4096
	bitsOfCertificate = 2048
)

// The parts of a certificate, as templates read them. authority stands only on one that another certificate signed.
const (
	certPart      = "Cert"
	keyPart       = "Key"
	authorityPart = "CA"
)

// PrivateKey makes a private key in PEM: rsa (which is also what no kind means), ecdsa or ed25519.
func (d *Drawing) PrivateKey(kind string) (string, error) {
	key, err := d.newKey(kind)
	if err != nil {
		return "", err
	}
	return pemOfKey(key)
}

func (d *Drawing) newKey(kind string) (key crypto.Signer, err error) {
	source := d.Reader
	switch kind {
	case "", "rsa":
		if err := d.Work(workOfKey); err != nil {
			return nil, err
		}
		key, err = rsa.GenerateKey(source, bitsOfKey)
	case "ecdsa":
		key, err = ecdsa.GenerateKey(elliptic.P256(), source)
	case "ed25519":
		_, key, err = ed25519.GenerateKey(source)
	default:
		return nil, badArgument("a key is rsa, ecdsa or ed25519")
	}
	if err != nil {
		return nil, errNoSource
	}
	return key, nil
}

func pemOfKey(key crypto.Signer) (string, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", badArgument("the key can't be written")
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), nil
}

// keyOfPEM reads a private key in any of its usual forms.
func keyOfPEM(text string) (crypto.Signer, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, badArgument("the key is no PEM")
	}
	var key any
	var err error
	switch block.Type {
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	default:
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	signer, ok := key.(crypto.Signer)
	if err != nil || !ok {
		return nil, badArgument("the key can't be read")
	}
	return signer, nil
}

// Certificate describes the certificate to make.
type Certificate struct {
	// Name is the common name.
	Name string
	// IPs and DNS are texts, as templates give them.
	IPs, DNS []any
	// Days is how long it is valid.
	Days int
	// IsCA lets it sign others.
	IsCA bool
	// CA is who signs it: what another certificate was made as; nil: itself.
	CA map[string]any
}

// sign makes the certificate for a key.
func (d *Drawing) sign(c Certificate, key crypto.Signer) (map[string]any, error) {
	if err := d.Work(workOfDraw * workOfDraw); err != nil {
		return nil, err
	}
	template, err := d.template(c)
	if err != nil {
		return nil, err
	}
	parent, signer := template, key
	if c.CA != nil {
		pair, err := pairOf(c.CA)
		if err != nil {
			return nil, err
		}
		var ok bool
		if signer, ok = pair.PrivateKey.(crypto.Signer); !ok {
			return nil, badArgument("the key of the authority can't sign")
		}
		parent = pair.Leaf
	}
	der, err := x509.CreateCertificate(d.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return nil, badArgument("the certificate can't be made of these arguments")
	}
	keyText, err := pemOfKey(key)
	if err != nil {
		return nil, err
	}
	out := map[string]any{certPart: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), keyPart: keyText}
	if c.CA != nil {
		out[authorityPart] = c.CA[certPart]
	}
	return out, nil
}

func (d *Drawing) template(c Certificate) (*x509.Certificate, error) {
	if c.Days < 1 || c.Days > maxValidity {
		return nil, badArgument("DAYS must be from 1 to %d", maxValidity)
	}
	if len(c.IPs)+len(c.DNS) > maxNames {
		return nil, badArgument("a certificate may have at most %d names and addresses", maxNames)
	}
	serial, err := d.bytes(16)
	if err != nil {
		return nil, err
	}
	serial[0] &= 0x7f // positive
	begin := d.Now().UTC()
	t := &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(serial), Subject: pkix.Name{CommonName: c.Name},
		NotBefore: begin, NotAfter: begin.Add(time.Duration(c.Days) * 24 * time.Hour), BasicConstraintsValid: true, IsCA: c.IsCA,
		KeyUsage:    x509.KeyUsageKeyEncipherment | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if c.IsCA {
		t.KeyUsage |= x509.KeyUsageCertSign
	}
	for _, v := range c.IPs {
		text, _ := v.(string) // anything else is no address
		ip := net.ParseIP(text)
		if ip == nil {
			return nil, badArgument("IPS must be a list of IP addresses")
		}
		t.IPAddresses = append(t.IPAddresses, ip)
	}
	for _, v := range c.DNS {
		name, ok := v.(string)
		if !ok || name == "" {
			return nil, badArgument("DNS-NAMES must be a list of names")
		}
		t.DNSNames = append(t.DNSNames, name)
	}
	return t, nil
}

// pairOf reads what a template holds as a certificate with its key.
func pairOf(c map[string]any) (tls.Certificate, error) {
	cert, _ := c[certPart].(string) // what is missing is no PEM
	key, _ := c[keyPart].(string)
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	if err != nil {
		return pair, badArgument("this is no certificate with its key")
	}
	if pair.Leaf == nil {
		return pair, badArgument("the certificate can't be read")
	}
	return pair, nil
}

// Certificate makes a certificate with a key of its own.
func (d *Drawing) Certificate(c Certificate) (map[string]any, error) {
	if err := d.Work(workOfCertificate); err != nil {
		return nil, err
	}
	key, err := rsa.GenerateKey(d.Reader, bitsOfCertificate)
	if err != nil {
		return nil, errNoSource
	}
	return d.sign(c, key)
}

// CertificateOf makes a certificate for a key that is there already, in PEM.
func (d *Drawing) CertificateOf(c Certificate, key string) (map[string]any, error) {
	signer, err := keyOfPEM(key)
	if err != nil {
		return nil, err
	}
	return d.sign(c, signer)
}

// Pair checks a certificate and its key, PEM in base64, and gives them as PEM.
func Pair(cert, key string) (map[string]any, error) {
	certText, certErr := base64.StdEncoding.DecodeString(cert)
	keyText, keyErr := base64.StdEncoding.DecodeString(key)
	if certErr != nil || keyErr != nil {
		return nil, badArgument("CERT and KEY must be base64")
	}
	out := map[string]any{certPart: string(certText), keyPart: string(keyText)}
	_, err := pairOf(out)
	return out, err
}

// TLSData gives the data of a Secret of type kubernetes.io/tls.
func TLSData(c map[string]any) (map[string]any, error) {
	if _, err := pairOf(c); err != nil {
		return nil, err
	}
	out := map[string]any{"tls.crt": c[certPart], "tls.key": c[keyPart]}
	if ca, ok := c[authorityPart].(string); ok {
		out["ca.crt"] = ca
	}
	return out, nil
}
