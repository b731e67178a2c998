package expr

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

// pemBegin is what the examples show of a certificate.
const pemBegin = "-----BEGIN CERTIFICATE-----"

const argCertificate = "NAME IPS DNS-NAMES DAYS"

// certificateFuncs make keys and certificates. Those of go-sprout begin at the wall clock, these at the time that the scope gives.
func certificateFuncs() []row {
	return []row{
		{"genPrivateKey", "KIND", "A private key in PEM: rsa (4096 bits), ecdsa (P-256) or ed25519.", `genPrivateKey "ed25519" | contains "PRIVATE KEY"`, "true",
			genPrivateKey, drawn, ""},
		{"genCA", "NAME DAYS", "A certificate authority: Cert and Key, in PEM.", `(genCA "ca" 365).Cert | trunc 27`, pemBegin, genCA, drawn, ""},
		{"genCAWithKey", "NAME DAYS KEY", "The same with a key that is there already.",
			`(genCAWithKey "ca" 365 (genPrivateKey "ecdsa")).Cert | trunc 27`, pemBegin, genCAWithKey, drawn, ""},
		{"genSelfSignedCert", argCertificate, "A certificate that signs itself: Cert and Key, in PEM.",
			`(genSelfSignedCert "web" (list) (list "web.team-a.svc") 365).Cert | trunc 27`, pemBegin, genSelfSigned, drawn, ""},
		{"genSelfSignedCertWithKey", argCertificate + " KEY", "The same with a key that is there already.",
			`(genSelfSignedCertWithKey "web" (list) (list) 365 (genPrivateKey "ecdsa")).Cert | trunc 27`, pemBegin, genSelfSignedWithKey, drawn, ""},
		{"genSignedCert", argCertificate + " CA", "A certificate that a certificate authority signs: Cert, Key and the authority's CA, in PEM.",
			`(genSignedCert "web" (list "10.0.0.1") (list) 365 (genCA "ca" 365)).Cert | trunc 27`, pemBegin, genSigned, drawn, ""},
		{"genSignedCertWithKey", argCertificate + " CA KEY", "The same with a key that is there already.",
			`(genSignedCertWithKey "web" (list) (list) 365 (genCAWithKey "ca" 365 (genPrivateKey "ecdsa")) (genPrivateKey "ecdsa")).Cert | trunc 27`, pemBegin,
			genSignedWithKey, drawn, ""},
		{"buildCustomCert", "CERT KEY", "A certificate with its key of PEM in base64: Cert and Key, in PEM.",
			"$c := genSelfSignedCert \"web\" (list) (list) 365 }}{{ (buildCustomCert (b64enc $c.Cert) (b64enc $c.Key)).Cert | trunc 27",
			pemBegin, buildCustomCert, drawn, ""},
		{"tlsData", "CERTIFICATE", "The data of a Secret of type kubernetes.io/tls: tls.crt, tls.key, and ca.crt where another certificate signed it.",
			`genSelfSignedCert "web" (list) (list "web") 365 | tlsData | keys | sortAlpha`, `["tls.crt","tls.key"]`, tlsData, drawn, ""},
	}
}

func genPrivateKey(st *state, kind string) (string, error) {
	key, err := st.newKey(kind)
	if err != nil {
		return "", err
	}
	return pemOfKey(key)
}

func (st *state) newKey(kind string) (key crypto.Signer, err error) {
	source := st.template.random.source
	switch kind {
	case "", "rsa":
		if err := st.do(workOfKey); err != nil {
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

func (st *state) certificateKey() (crypto.Signer, error) {
	if err := st.do(workOfCertificate); err != nil {
		return nil, err
	}
	key, err := rsa.GenerateKey(st.template.random.source, bitsOfCertificate)
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

// certificate is what one is asked to be.
type certificate struct {
	name     string
	ips, dns []any
	days     int
	isCA     bool
	ca       map[string]any // who signs; nil: itself
}

// sign makes the certificate for a key.
func (st *state) sign(c certificate, key crypto.Signer) (map[string]any, error) {
	if err := st.do(workOfDraw * workOfDraw); err != nil {
		return nil, err
	}
	template, err := st.certificateTemplate(c)
	if err != nil {
		return nil, err
	}
	parent, signer := template, key
	if c.ca != nil {
		pair, err := pairOf(c.ca)
		if err != nil {
			return nil, err
		}
		var ok bool
		if signer, ok = pair.PrivateKey.(crypto.Signer); !ok {
			return nil, badArgument("the key of the authority can't sign")
		}
		parent = pair.Leaf
	}
	der, err := x509.CreateCertificate(st.template.random.source, template, parent, key.Public(), signer)
	if err != nil {
		return nil, badArgument("the certificate can't be made of these arguments")
	}
	keyText, err := pemOfKey(key)
	if err != nil {
		return nil, err
	}
	out := map[string]any{certPart: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), keyPart: keyText}
	if c.ca != nil {
		out[authorityPart] = c.ca[certPart]
	}
	return out, nil
}

func (st *state) certificateTemplate(c certificate) (*x509.Certificate, error) {
	if c.days < 1 || c.days > maxValidity {
		return nil, badArgument("DAYS must be from 1 to %d", maxValidity)
	}
	if len(c.ips)+len(c.dns) > maxNames {
		return nil, badArgument("a certificate may have at most %d names and addresses", maxNames)
	}
	serial, err := st.bytes(16)
	if err != nil {
		return nil, err
	}
	serial[0] &= 0x7f // positive
	begin := st.template.random.now().UTC()
	t := &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(serial), Subject: pkix.Name{CommonName: c.name},
		NotBefore: begin, NotAfter: begin.Add(time.Duration(c.days) * 24 * time.Hour), BasicConstraintsValid: true, IsCA: c.isCA,
		KeyUsage:    x509.KeyUsageKeyEncipherment | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if c.isCA {
		t.KeyUsage |= x509.KeyUsageCertSign
	}
	for _, v := range c.ips {
		text, _ := v.(string) // anything else is no address
		ip := net.ParseIP(text)
		if ip == nil {
			return nil, badArgument("IPS must be a list of IP addresses")
		}
		t.IPAddresses = append(t.IPAddresses, ip)
	}
	for _, v := range c.dns {
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

func genCA(st *state, name string, days int) (map[string]any, error) {
	return st.drawAndSign(certificate{name: name, days: days, isCA: true})
}

func genCAWithKey(st *state, name string, days int, key string) (map[string]any, error) {
	return st.readAndSign(certificate{name: name, days: days, isCA: true}, key)
}

func genSelfSigned(st *state, name string, ips, dns []any, days int) (map[string]any, error) {
	return st.drawAndSign(certificate{name: name, ips: ips, dns: dns, days: days})
}

func genSelfSignedWithKey(st *state, name string, ips, dns []any, days int, key string) (map[string]any, error) {
	return st.readAndSign(certificate{name: name, ips: ips, dns: dns, days: days}, key)
}

func genSigned(st *state, name string, ips, dns []any, days int, ca map[string]any) (map[string]any, error) {
	return st.drawAndSign(certificate{name: name, ips: ips, dns: dns, days: days, ca: ca})
}

func genSignedWithKey(st *state, name string, ips, dns []any, days int, ca map[string]any, key string) (map[string]any, error) {
	return st.readAndSign(certificate{name: name, ips: ips, dns: dns, days: days, ca: ca}, key)
}

func (st *state) drawAndSign(c certificate) (map[string]any, error) {
	key, err := st.certificateKey()
	if err != nil {
		return nil, err
	}
	return st.sign(c, key)
}

func (st *state) readAndSign(c certificate, text string) (map[string]any, error) {
	key, err := keyOfPEM(text)
	if err != nil {
		return nil, err
	}
	return st.sign(c, key)
}

func buildCustomCert(cert, key string) (map[string]any, error) {
	certText, certErr := base64.StdEncoding.DecodeString(cert)
	keyText, keyErr := base64.StdEncoding.DecodeString(key)
	if certErr != nil || keyErr != nil {
		return nil, badArgument("CERT and KEY must be base64")
	}
	out := map[string]any{certPart: string(certText), keyPart: string(keyText)}
	_, err := pairOf(out)
	return out, err
}

func tlsData(c map[string]any) (map[string]any, error) {
	if _, err := pairOf(c); err != nil {
		return nil, err
	}
	out := map[string]any{"tls.crt": c[certPart], "tls.key": c[keyPart]}
	if ca, ok := c[authorityPart].(string); ok {
		out["ca.crt"] = ca
	}
	return out, nil
}
