package functions

import (
	"encoding/base64"

	sproutcrypto "github.com/go-sprout/sprout/registry/crypto"

	"github.com/orkspace/orkestra/engine/expr/budget"
	"github.com/orkspace/orkestra/engine/expr/random"
)

const (
	// argLength is how much is drawn.
	argLength      = "LENGTH"
	argCertificate = "NAME IPS DNS-NAMES DAYS"
	// pemBegin is what the examples show of a certificate.
	pemBegin = "-----BEGIN CERTIFICATE-----"
	// workOfHash is what the hash of a password costs.
	workOfHash = 10_000_000
)

// randomFuncs are allowed only in scopes that have a source of randomness.
func randomFuncs() []row {
	text := func(characters string) func(d *random.Drawing, length int) (string, error) {
		return func(d *random.Drawing, length int) (string, error) { return d.Text(characters, length) }
	}
	return []row{
		{"randAlphaNum", argLength, "A text of random letters and digits.", `randAlphaNum 24 | len`, "24", text(random.Letters + random.Digits), drawn, ""},
		{"randAlpha", argLength, "A text of random letters.", `randAlpha 24 | len`, "24", text(random.Letters), drawn, ""},
		{"randNumeric", argLength, "A text of random digits.", `randNumeric 6 | len`, "6", text(random.Digits), drawn, ""},
		{"randAscii", argLength, "A text of random characters, from blank to tilde.", `randAscii 24 | len`, "24", text(random.ASCII), drawn, ""},
		{"randBytes", argLength, "So many random bytes, in base64.", `randBytes 32 | b64dec | len`, "32", (*random.Drawing).Base64, drawn, ""},
		{"randInt", "MIN MAX", "A random whole number from MIN up to MAX, which is not reached itself.", `randInt 5 6`, "5", (*random.Drawing).Int, drawn, ""},
		{"shuffle", argText, "The characters of TEXT in random order.", `shuffle "aaa"`, "aaa", (*random.Drawing).Shuffle, drawn, ""},
		{"uuidv4", "", "A random UUID.", `uuidv4 | len`, "36", (*random.Drawing).UUID, drawn, ""},
	}
}

// certificateFuncs make keys and certificates. Those of go-sprout begin at the wall clock, these at the time that the scope gives.
func certificateFuncs() []row {
	type object = map[string]any
	return []row{
		{"genPrivateKey", "KIND", "A private key in PEM: rsa (4096 bits), ecdsa (P-256) or ed25519.", `genPrivateKey "ed25519" | contains "PRIVATE KEY"`, "true",
			(*random.Drawing).PrivateKey, drawn, ""},
		{"genCA", "NAME DAYS", "A certificate authority: Cert and Key, in PEM.", `(genCA "ca" 365).Cert | trunc 27`, pemBegin,
			func(d *random.Drawing, name string, days int) (object, error) {
				return d.Certificate(random.Certificate{Name: name, Days: days, IsCA: true})
			}, drawn, ""},
		{"genCAWithKey", "NAME DAYS KEY", "The same with a key that is there already.",
			`(genCAWithKey "ca" 365 (genPrivateKey "ecdsa")).Cert | trunc 27`, pemBegin,
			func(d *random.Drawing, name string, days int, key string) (object, error) {
				return d.CertificateOf(random.Certificate{Name: name, Days: days, IsCA: true}, key)
			}, drawn, ""},
		{"genSelfSignedCert", argCertificate, "A certificate that signs itself: Cert and Key, in PEM.",
			`(genSelfSignedCert "web" (list) (list "web.team-a.svc") 365).Cert | trunc 27`, pemBegin,
			func(d *random.Drawing, name string, ips, dns []any, days int) (object, error) {
				return d.Certificate(random.Certificate{Name: name, IPs: ips, DNS: dns, Days: days})
			}, drawn, ""},
		{"genSelfSignedCertWithKey", argCertificate + " KEY", "The same with a key that is there already.",
			`(genSelfSignedCertWithKey "web" (list) (list) 365 (genPrivateKey "ecdsa")).Cert | trunc 27`, pemBegin,
			func(d *random.Drawing, name string, ips, dns []any, days int, key string) (object, error) {
				return d.CertificateOf(random.Certificate{Name: name, IPs: ips, DNS: dns, Days: days}, key)
			}, drawn, ""},
		{"genSignedCert", argCertificate + " CA", "A certificate that a certificate authority signs: Cert, Key and the authority's CA, in PEM.",
			`(genSignedCert "web" (list "10.0.0.1") (list) 365 (genCA "ca" 365)).Cert | trunc 27`, pemBegin,
			func(d *random.Drawing, name string, ips, dns []any, days int, ca object) (object, error) {
				return d.Certificate(random.Certificate{Name: name, IPs: ips, DNS: dns, Days: days, CA: ca})
			}, drawn, ""},
		{"genSignedCertWithKey", argCertificate + " CA KEY", "The same with a key that is there already.",
			`(genSignedCertWithKey "web" (list) (list) 365 (genCAWithKey "ca" 365 (genPrivateKey "ecdsa")) (genPrivateKey "ecdsa")).Cert | trunc 27`, pemBegin,
			func(d *random.Drawing, name string, ips, dns []any, days int, ca object, key string) (object, error) {
				return d.CertificateOf(random.Certificate{Name: name, IPs: ips, DNS: dns, Days: days, CA: ca}, key)
			}, drawn, ""},
		{"buildCustomCert", "CERT KEY", "A certificate with its key of PEM in base64: Cert and Key, in PEM.",
			"$c := genSelfSignedCert \"web\" (list) (list) 365 }}{{ (buildCustomCert (b64enc $c.Cert) (b64enc $c.Key)).Cert | trunc 27",
			pemBegin, random.Pair, drawn, ""},
		{"tlsData", "CERTIFICATE", "The data of a Secret of type kubernetes.io/tls: tls.crt, tls.key, and ca.crt where another certificate signed it.",
			`genSelfSignedCert "web" (list) (list "web") 365 | tlsData | keys | sortAlpha`, `["tls.crt","tls.key"]`, random.TLSData, drawn, ""},
	}
}

// hashFuncs make what passwords are stored as. They are go-sprout's, which draws from the system's source of randomness.
func hashFuncs() []row {
	s := sproutcrypto.NewRegistry()
	return []row{
		{"bcrypt", argText, "TEXT as bcrypt stores passwords.", `bcrypt "secret" | trunc 7`, "$2a$10$",
			func(limits *budget.Budget, text string) (string, error) {
				return hashed(limits, func() (string, error) { return s.Bcrypt(text) })
			}, drawn, ""},
		{"htpasswd", "USER PASSWORD", "A line for a file of users and passwords.", `htpasswd "me" "secret" | trunc 6`, "me:$2a",
			func(limits *budget.Budget, user, password string) (string, error) {
				return hashed(limits, func() (string, error) { return s.Htpasswd(user, password) })
			}, drawn, ""},
		{"derivePassword", "COUNTER KIND PASSWORD USER SITE", "A password for a site, made of a master password. KIND is long, medium, short, basic, pin or maximum.",
			`derivePassword 1 "pin" "secret" "me" "example.com" | len`, "4", derivePassword, drawn, ""},
		{"encryptAES", "PASSWORD TEXT", "TEXT encrypted with AES-256-CBC, in base64.", `encryptAES "secret" "hello" | decryptAES "secret"`, "hello", s.EncryptAES, drawn, ""},
		{"decryptAES", "PASSWORD TEXT", "What encryptAES made TEXT of.", `encryptAES "secret" "hello" | decryptAES "secret"`, "hello", decryptAES, drawn, ""},
	}
}

// hashed counts the hash of a password, and makes it.
func hashed(limits *budget.Budget, hash func() (string, error)) (string, error) {
	if err := limits.Work(workOfHash); err != nil {
		return "", err
	}
	return hash()
}

// derivePassword counts half of the memory of an evaluation. scrypt takes more, but frees it at once; the other half is left for the rest
// of the template.
func derivePassword(limits *budget.Budget, counter int64, kind, password, user, site string) (string, error) {
	if counter < 0 || counter > 1<<32-1 {
		return "", badArgument("COUNTER must be from 0 to 4294967295")
	}
	if err := limits.Allocate(budget.MaxMemory / 2); err != nil {
		return "", err
	}
	return hashed(limits, func() (string, error) {
		return sproutcrypto.NewRegistry().DerivePassword(uint32(counter), kind, password, user, site) //nolint:gosec // bounded at the top
	})
}

// decryptAES checks the length first: go-sprout panics on texts that are too short.
func decryptAES(password, text string) (string, error) {
	const block = 16
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(raw)%block != 0 || len(raw) == block {
		return "", badArgument("the text is not what encryptAES makes")
	}
	return sproutcrypto.NewRegistry().DecryptAES(password, text)
}
