package signin

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/engine/web"
)

// keySize is how many bytes a key has.
const keySize = 32

// keys seal what browsers keep. All replicas read the same file. It is safe for concurrent use.
type keys struct {
	of  string // for whom they seal: what another provider or client has let in does not count
	all *web.Reread[[][]byte]
}

func newKeys(o Options, clk clock.PassiveClock, log logr.Logger) (*keys, error) {
	all, err := web.NewReread("the keys of sessions", func() ([][]byte, error) { return readKeys(o.SessionKeyFile) }, clk, log)
	if err != nil {
		return nil, err //nolint:wrapcheck // it is that of readKeys
	}
	return &keys{of: o.Issuer + "\n" + o.ClientID, all: all}, nil
}

func readKeys(file string) ([][]byte, error) {
	text, err := os.ReadFile(file) //nolint:gosec // the operator names it by a flag
	if err != nil {
		return nil, fmt.Errorf("reading the keys of sessions: %w", err)
	}
	var all [][]byte
	for n, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		key, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(line)))
		if err != nil || len(key) != keySize {
			return nil, fmt.Errorf("reading the keys of sessions from %s: line %d: wanted %d random bytes as base64, as openssl rand -base64 %d gives them", file, n+1, keySize, keySize)
		}
		all = append(all, key)
	}
	return all, nil
}

// sealer gives what seals for a purpose, so that what was sealed for one does not open for another.
func (k *keys) sealer(key []byte, purpose string) (cipher.AEAD, error) {
	derived, err := hkdf.Key(sha256.New, key, nil, "orkestra\n"+purpose+"\n"+k.of, keySize)
	if err != nil {
		return nil, fmt.Errorf("deriving a key: %w", err)
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, fmt.Errorf("making a cipher: %w", err)
	}
	sealer, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("making a cipher: %w", err)
	}
	return sealer, nil
}

// seal encrypts a value so that only open reads it, and notices each change.
func (k *keys) seal(purpose string, value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("writing what is sealed: %w", err)
	}
	sealer, err := k.sealer(k.all.Now()[0], purpose)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(sealer.Seal(nil, nil, text, nil)), nil
}

// errSealed is the error of what none of the keys has sealed for this purpose.
var errSealed = errors.New("it was not sealed here, or has been changed")

// open reads what was sealed for a purpose.
func (k *keys) open(purpose, sealed string, into any) error {
	text, err := base64.RawURLEncoding.Strict().DecodeString(sealed)
	if err != nil {
		return errSealed
	}
	for _, key := range k.all.Now() {
		opener, err := k.sealer(key, purpose)
		if err != nil {
			return err
		}
		if opened, err := opener.Open(nil, nil, text, nil); err == nil {
			return json.Unmarshal(opened, into) //nolint:wrapcheck // it was written here
		}
	}
	return errSealed
}
