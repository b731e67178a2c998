package functions_test

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/expr/functions"
	"github.com/orkspace/orkestra/engine/expr/random"
	"github.com/orkspace/orkestra/test/fixtures"
)

var certificateTime = time.Date(2026, 3, 25, 10, 0, 0, 0, time.UTC)

// drawnWith evaluates a template with a source of its own.
func drawnWith(t *testing.T, source []byte, text string) (any, error) {
	t.Helper()
	scope := expr.NewScope(nil).WithRandom(bytes.NewReader(source), func() time.Time { return certificateTime })
	c, err := scope.Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	return c.Eval(t.Context(), fixtures.Sample())
}

// What is drawn comes from the source that was handed in, and from nowhere else.
func TestRandom_source(t *testing.T) {
	g := NewWithT(t)
	zeros := make([]byte, 100)
	for text, want := range map[string]any{
		`{{ randAlphaNum 4 }}`: "aaaa", `{{ randAlpha 4 }}`: "aaaa", `{{ randNumeric 4 }}`: "0000", `{{ randAscii 4 }}`: "    ",
		`{{ randBytes 3 }}`: "AAAA", `{{ randInt 5 9 }}`: int64(5), `{{ uuidv4 }}`: "00000000-0000-4000-8000-000000000000",
		`{{ shuffle "abc" }}`: "bca", `{{ randAlpha 0 }}`: "", `x{{ randAlpha 1 }}`: "xa",
	} {
		g.Expect(drawnWith(t, zeros, text)).To(Equal(want), text)
	}
	_, err := drawnWith(t, nil, `{{ randAlphaNum 4 }}`)
	g.Expect(err).To(MatchError("evaluating {{ randAlphaNum 4 }}: randAlphaNum: cannot work on these arguments"))
	source := iotest.ErrReader(errors.New("no entropy"))
	c, err := expr.NewScope(nil).WithRandom(source, time.Now).Compile(`{{ uuidv4 }}`)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = c.Eval(t.Context(), fixtures.Sample())
	g.Expect(err).To(HaveOccurred())
}

// Every character is drawn, and nothing else.
func TestRandom_characters(t *testing.T) {
	g := NewWithT(t)
	for name, characters := range map[string]string{"randAlphaNum": random.Digits + random.Letters, "randAlpha": random.Letters, "randNumeric": random.Digits, "randAscii": random.ASCII} {
		v, err := evaluate(t, "{{ "+name+" 4096 }}")
		g.Expect(err).NotTo(HaveOccurred())
		text, ok := v.(string)
		g.Expect(ok).To(BeTrue())
		g.Expect(text).To(HaveLen(4096))
		g.Expect(strings.Trim(text, characters)).To(BeEmpty(), name)
		for _, c := range characters {
			g.Expect(strings.ContainsRune(text, c)).To(BeTrue(), "%s never gives %q", name, c)
		}
	}
}

func TestRandom_errors(t *testing.T) {
	for text, want := range map[string]string{
		`{{ randAlphaNum 4097 }}`:                                   "a length must be from 0 to 4096",
		`{{ randAlphaNum -1 }}`:                                     "a length must be from 0 to 4096",
		`{{ randBytes 9999999999 }}`:                                "a length must be from 0 to 4096",
		`{{ shuffle (repeat 5000 "a") }}`:                           "at most 4096 characters",
		`{{ randInt 5 5 }}`:                                         "MIN must be less than MAX",
		`{{ randInt -9223372036854775808 9223372036854775807 }}`:    "MIN must be less than MAX",
		`{{ genPrivateKey "dsa" }}`:                                 "a key is rsa, ecdsa or ed25519",
		`{{ genCA "x" 0 }}`:                                         "DAYS must be from 1 to",
		`{{ genCA "x" 99999999 }}`:                                  "DAYS must be from 1 to",
		`{{ genCAWithKey "x" 1 "no" }}`:                             "the key is no PEM",
		`{{ genSelfSignedCert "x" (list "nowhere") (list) 1 }}`:     "IPS must be a list of IP addresses",
		`{{ genSelfSignedCert "x" (list) (list 1) 1 }}`:             "DNS-NAMES must be a list of names",
		`{{ genSelfSignedCert "x" (list) (until 101) 1 }}`:          "at most 100 names and addresses",
		`{{ genSignedCert "x" (list) (list) 1 (dict "Cert" "a") }}`: "this is no certificate with its key",
		`{{ tlsData (dict) }}`:                                      "this is no certificate with its key",
		`{{ buildCustomCert "%" "%" }}`:                             "CERT and KEY must be base64",
		`{{ derivePassword -1 "pin" "a" "b" "c" }}`:                 "COUNTER must be from 0",
		`{{ decryptAES "a" "YQ==" }}`:                               "the text is not what encryptAES makes",
		`{{ range until 9000 }}{{ $_ := bcrypt "x" }}{{ end }}`:     "over the work limit of a template (",
	} {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			_, err := evaluate(t, text)
			g.Expect(err).To(MatchError(ContainSubstring(want)))
		})
	}
}

// Without a source the functions are refused, wherever in a template they stand, and the message says where they are allowed.
func TestRandom_needsAScope(t *testing.T) {
	g := NewWithT(t)
	refusals := 0
	for _, name := range functions.Names() {
		if !functions.Named(name).Draws() {
			continue
		}
		refusals++
		_, err := expr.NewScope(nil).Compile("x{{ if .spec.tls }}{{ " + name + " 1 }}{{ end }}")
		g.Expect(err).To(MatchError(ContainSubstring("such functions are allowed only under `once: true`")), name)
		_, err = randomScope().WithoutRoots("status").Compile("{{ " + name + " 1 }}")
		if err != nil { // too few arguments
			g.Expect(err.Error()).NotTo(ContainSubstring("once"), name)
		}
	}
	g.Expect(refusals).To(BeNumerically(">", 20))
}

// A certificate begins at the scope's time, lasts as long as asked for, and is signed by whom it says.
func TestRandom_certificates(t *testing.T) {
	g := NewWithT(t)
	v, err := evaluate(t, `{{ genSignedCert "web" (list "10.0.0.1") (list "web.team-a.svc") 30 (genCA "our-ca" 365) | tlsData }}`)
	g.Expect(err).NotTo(HaveOccurred())
	data, ok := v.(map[string]any)
	g.Expect(ok).To(BeTrue())
	g.Expect(slices.Sorted(maps.Keys(data))).To(Equal([]string{"ca.crt", "tls.crt", "tls.key"}))
	cert, ca := parseCertificate(g, data["tls.crt"]), parseCertificate(g, data["ca.crt"])
	pool := x509.NewCertPool()
	pool.AddCert(ca)
	for _, name := range []string{"web.team-a.svc", "10.0.0.1"} {
		_, err = cert.Verify(x509.VerifyOptions{Roots: pool, DNSName: name, CurrentTime: certificateTime.Add(time.Hour)})
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(cert.NotBefore).To(Equal(certificateTime))
	g.Expect(cert.NotAfter).To(Equal(certificateTime.AddDate(0, 0, 30)))
	g.Expect(cert.IsCA).To(BeFalse())
	g.Expect(ca.IsCA).To(BeTrue())
	g.Expect(ca.Subject.CommonName).To(Equal("our-ca"))
	g.Expect(cert.SerialNumber.Cmp(ca.SerialNumber)).NotTo(BeZero())
}

func parseCertificate(g *WithT, text any) *x509.Certificate {
	s, ok := text.(string)
	g.Expect(ok).To(BeTrue())
	block, _ := pem.Decode([]byte(s))
	g.Expect(block).NotTo(BeNil())
	c, err := x509.ParseCertificate(block.Bytes)
	g.Expect(err).NotTo(HaveOccurred())
	return c
}
