package pki_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/orkspace/orkestra/test/cluster/internal/pki"
)

func TestCertificates(t *testing.T) {
	now := time.Now()
	authority := must(t)(pki.NewAuthority(now))
	other := must(t)(pki.NewAuthority(now))
	serving := mustPair(t)(authority.Serving("server", "127.0.0.1", "localhost"))
	client := mustPair(t)(authority.Client("somebody", "system:masters"))
	tests := map[string]struct {
		pair  pki.Pair
		root  *pki.Authority
		usage x509.ExtKeyUsage
		host  string
		valid bool
	}{
		"serving by address":    {serving, authority, x509.ExtKeyUsageServerAuth, "127.0.0.1", true},
		"serving by name":       {serving, authority, x509.ExtKeyUsageServerAuth, "localhost", true},
		"serving another name":  {serving, authority, x509.ExtKeyUsageServerAuth, "example.com", false},
		"serving as a client":   {serving, authority, x509.ExtKeyUsageClientAuth, "", false},
		"client":                {client, authority, x509.ExtKeyUsageClientAuth, "", true},
		"client as a server":    {client, authority, x509.ExtKeyUsageServerAuth, "", false},
		"client of another one": {client, other, x509.ExtKeyUsageClientAuth, "", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := tls.X509KeyPair(test.pair.Cert, test.pair.Key); err != nil {
				t.Fatalf("certificate and key do not match: %v", err)
			}
			roots := x509.NewCertPool()
			roots.AppendCertsFromPEM(test.root.Pair().Cert)
			_, err := parse(t, test.pair).Verify(x509.VerifyOptions{
				Roots: roots, KeyUsages: []x509.ExtKeyUsage{test.usage}, DNSName: test.host, CurrentTime: now,
			})
			if (err == nil) != test.valid {
				t.Errorf("got %v, want valid %t", err, test.valid)
			}
		})
	}
	subject := parse(t, client).Subject
	if subject.CommonName != "somebody" || len(subject.Organization) != 1 || subject.Organization[0] != "system:masters" {
		t.Errorf("got user %q in groups %q", subject.CommonName, subject.Organization)
	}
}

func TestSigningKey(t *testing.T) {
	private, public, err := pki.NewSigningKey()
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"PRIVATE KEY": private, "PUBLIC KEY": public} {
		if block, _ := pem.Decode(data); block == nil || block.Type != name {
			t.Errorf("got %v, want a block of type %s", block, name)
		}
	}
}

func TestKubeconfig(t *testing.T) {
	authority := must(t)(pki.NewAuthority(time.Now()))
	client := mustPair(t)(authority.Client("somebody"))
	data, err := authority.Kubeconfig("https://127.0.0.1:1", client)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(data)
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "https://127.0.0.1:1" || string(config.CertData) != string(client.Cert) ||
		string(config.KeyData) != string(client.Key) || string(config.CAData) != string(authority.Pair().Cert) {
		t.Errorf("got another configuration: %v", config)
	}
}

func parse(t *testing.T, pair pki.Pair) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(pair.Cert)
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

func must(t *testing.T) func(*pki.Authority, error) *pki.Authority {
	return func(a *pki.Authority, err error) *pki.Authority {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
}

func mustPair(t *testing.T) func(pki.Pair, error) pki.Pair {
	return func(p pki.Pair, err error) pki.Pair {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
}
