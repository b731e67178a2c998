package random_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/expr/random"
)

// parsed reads a certificate of a pair.
func parsed(g *WithT, pair map[string]any) *x509.Certificate {
	text, ok := pair["Cert"].(string)
	g.Expect(ok).To(BeTrue())
	block, rest := pem.Decode([]byte(text))
	g.Expect(block).NotTo(BeNil())
	g.Expect(rest).To(BeEmpty())
	g.Expect(block.Type).To(Equal("CERTIFICATE"))
	c, err := x509.ParseCertificate(block.Bytes)
	g.Expect(err).NotTo(HaveOccurred())
	return c
}

func TestPrivateKey(t *testing.T) {
	for kind, want := range map[string]any{"ecdsa": &ecdsa.PrivateKey{}, "ed25519": ed25519.PrivateKey{}} {
		g := NewWithT(t)
		text, err := drawing(rand.Reader).PrivateKey(kind)
		g.Expect(err).NotTo(HaveOccurred(), kind)
		block, _ := pem.Decode([]byte(text))
		g.Expect(block.Type).To(Equal("PRIVATE KEY"))
		key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(key).To(BeAssignableToTypeOf(want))
	}
	_, err := drawing(rand.Reader).PrivateKey("dsa")
	NewWithT(t).Expect(err).To(MatchError("a key is rsa, ecdsa or ed25519"))
}

// A certificate is what it was asked to be, from the time of the source on.
func TestCertificateOf(t *testing.T) {
	g := NewWithT(t)
	key, err := drawing(rand.Reader).PrivateKey("ecdsa")
	g.Expect(err).NotTo(HaveOccurred())
	pair, err := drawing(rand.Reader).CertificateOf(random.Certificate{Name: "web", IPs: []any{"10.0.0.1", "::1"}, DNS: []any{"web.svc"}, Days: 30}, key)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(pair).To(HaveLen(2), "nobody else has signed it")
	g.Expect(pair["Key"]).To(Equal(key))
	c := parsed(g, pair)
	g.Expect(c.Subject.CommonName).To(Equal("web"))
	g.Expect(c.DNSNames).To(Equal([]string{"web.svc"}))
	g.Expect(c.IPAddresses).To(HaveLen(2))
	g.Expect(c.NotBefore).To(Equal(begin.UTC()))
	g.Expect(c.NotAfter.Sub(c.NotBefore)).To(Equal(30 * 24 * time.Hour))
	g.Expect(c.IsCA).To(BeFalse())
	g.Expect(c.KeyUsage & x509.KeyUsageCertSign).To(BeZero())
	g.Expect(c.ExtKeyUsage).To(ConsistOf(x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth))
	g.Expect(c.SerialNumber.Sign()).To(Equal(1))
	g.Expect(c.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature)).To(Succeed(), "it signs itself")

	other, err := drawing(rand.Reader).CertificateOf(random.Certificate{Name: "web", Days: 30}, key)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(parsed(g, other).SerialNumber.Cmp(c.SerialNumber)).NotTo(BeZero())
}

// An authority may sign others, and what it has signed carries its certificate.
func TestCertificateOf_authority(t *testing.T) {
	g := NewWithT(t)
	d := drawing(rand.Reader)
	key, err := d.PrivateKey("ed25519")
	g.Expect(err).NotTo(HaveOccurred())
	authority, err := d.CertificateOf(random.Certificate{Name: "ours", Days: 365, IsCA: true}, key)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(parsed(g, authority).IsCA).To(BeTrue())
	g.Expect(parsed(g, authority).KeyUsage & x509.KeyUsageCertSign).NotTo(BeZero())
	own, err := d.PrivateKey("ecdsa")
	g.Expect(err).NotTo(HaveOccurred())
	signed, err := d.CertificateOf(random.Certificate{Name: "web", DNS: []any{"web.svc"}, Days: 30, CA: authority}, own)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(signed["CA"]).To(Equal(authority["Cert"]))
	pool := x509.NewCertPool()
	pool.AddCert(parsed(g, authority))
	_, err = parsed(g, signed).Verify(x509.VerifyOptions{Roots: pool, DNSName: "web.svc", CurrentTime: begin.Add(time.Hour)})
	g.Expect(err).NotTo(HaveOccurred())

	data, err := random.TLSData(signed)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(data).To(Equal(map[string]any{"tls.crt": signed["Cert"], "tls.key": signed["Key"], "ca.crt": authority["Cert"]}))
	data, err = random.TLSData(authority)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(data).NotTo(HaveKey("ca.crt"))
	encode := func(v any) string {
		text, ok := v.(string)
		g.Expect(ok).To(BeTrue())
		return base64.StdEncoding.EncodeToString([]byte(text))
	}
	g.Expect(random.Pair(encode(signed["Cert"]), encode(signed["Key"]))).To(Equal(map[string]any{"Cert": signed["Cert"], "Key": signed["Key"]}))
	_, err = random.Pair(encode(signed["Cert"]), encode(authority["Key"]))
	g.Expect(err).To(MatchError("this is no certificate with its key"), "that is another's key")
}

// Keys are read in each of the forms that are usual.
func TestCertificateOf_formsOfKeys(t *testing.T) {
	g := NewWithT(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	der, err := x509.MarshalECPrivateKey(key)
	g.Expect(err).NotTo(HaveOccurred())
	sec1 := string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
	pair, err := drawing(rand.Reader).CertificateOf(random.Certificate{Name: "x", Days: 1}, sec1)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(parsed(g, pair).PublicKey).To(Equal(&key.PublicKey))
	for text, want := range map[string]string{
		"":      "the key is no PEM",
		"hello": "the key is no PEM",
		"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n":         "the key can't be read",
		"-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n": "the key can't be read",
		"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n":         "the key can't be read",
	} {
		_, err := drawing(rand.Reader).CertificateOf(random.Certificate{Name: "x", Days: 1}, text)
		g.Expect(err).To(MatchError(want), "%q", text)
	}
}

// What can't be is refused in words that show no values.
func TestCertificateOf_refusals(t *testing.T) {
	g := NewWithT(t)
	d := drawing(rand.Reader)
	key, err := d.PrivateKey("ecdsa")
	g.Expect(err).NotTo(HaveOccurred())
	many := make([]any, 101)
	for i := range many {
		many[i] = "web.svc"
	}
	for name, tc := range map[string]struct {
		asked random.Certificate
		want  string
	}{
		"no days":           {random.Certificate{Name: "x"}, "DAYS must be from 1 to 36600"},
		"days before":       {random.Certificate{Name: "x", Days: -1}, "DAYS must be from 1 to 36600"},
		"a thousand years":  {random.Certificate{Name: "x", Days: 365_000}, "DAYS must be from 1 to 36600"},
		"a name as address": {random.Certificate{Name: "x", Days: 1, IPs: []any{"web.svc"}}, "IPS must be a list of IP addresses"},
		"a number":          {random.Certificate{Name: "x", Days: 1, IPs: []any{int64(1)}}, "IPS must be a list of IP addresses"},
		"an empty name":     {random.Certificate{Name: "x", Days: 1, DNS: []any{""}}, "DNS-NAMES must be a list of names"},
		"too many names":    {random.Certificate{Name: "x", Days: 1, DNS: many}, "a certificate may have at most 100 names and addresses"},
		"no authority":      {random.Certificate{Name: "x", Days: 1, CA: map[string]any{}}, "this is no certificate with its key"},
		"half an authority": {random.Certificate{Name: "x", Days: 1, CA: map[string]any{"Key": key}}, "this is no certificate with its key"},
		"a wrong authority": {random.Certificate{Name: "x", Days: 1, CA: map[string]any{"Cert": int64(1), "Key": key}}, "this is no certificate with its key"},
	} {
		_, err := d.CertificateOf(tc.asked, key)
		g.Expect(err).To(MatchError(tc.want), name)
	}
	for name, c := range map[string]map[string]any{"nothing": {}, "texts": {"Cert": "a", "Key": "b"}} {
		_, err := random.TLSData(c)
		g.Expect(err).To(MatchError("this is no certificate with its key"), name)
	}
	_, err = random.Pair("%", "")
	g.Expect(err).To(MatchError("CERT and KEY must be base64"))
	_, err = random.Pair("", strings.Repeat("%", 10))
	g.Expect(err).To(MatchError("CERT and KEY must be base64"))
}
