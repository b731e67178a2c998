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
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

const (
	// keySize is how many bytes a key has.
	keySize = 32
	// keysLife is how long the file of the keys is believed before it is read again.
	keysLife = 10 * time.Second
)

// keys seal what browsers keep. All replicas read the same file. It is safe for concurrent use.
type keys struct {
	file  string
	of    string // for whom they seal: what another provider or client has let in does not count
	clock clock.PassiveClock
	log   logr.Logger

	mu   sync.Mutex
	all  [][]byte  // guarded by mu
	read time.Time // when they were read; guarded by mu
}

func newKeys(o Options, clk clock.PassiveClock, log logr.Logger) (*keys, error) {
	all, err := readKeys(o.SessionKeyFile)
	if err != nil {
		return nil, err
	}
	return &keys{file: o.SessionKeyFile, of: o.Issuer + "\n" + o.ClientID, clock: clk, log: log, all: all, read: clk.Now()}, nil
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

// now gives the keys that count. A file that can't be read leaves those that were read before.
func (k *keys) now() [][]byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := k.clock.Now(); now.Sub(k.read) >= keysLife {
		k.read = now
		if all, err := readKeys(k.file); err != nil {
			k.log.Error(err, "The keys of sessions stay as they were read")
		} else {
			k.all = all
		}
	}
	return k.all
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
	sealer, err := k.sealer(k.now()[0], purpose)
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
	for _, key := range k.now() {
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
