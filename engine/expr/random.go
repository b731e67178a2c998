package expr

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"
	"time"
)

// random is what the random functions draw from. It is shared by the templates of a scope.
type random struct {
	source io.Reader
	now    func() time.Time
}

// The limits of what is drawn at once.
const (
	maxDrawn    = 4096      // characters or bytes
	maxValidity = 100 * 366 // days
	maxNames    = 100       // of a certificate
)

// What drawing costs, measured in the work of other functions.
const (
	workOfDraw        = 200
	workOfKey         = 15_000_000 // RSA, 4096 bits
	workOfCertificate = 5_000_000  // RSA, 2048 bits
	workOfHash        = 10_000_000 // of a password
)

// argLength is how much is drawn.
const argLength = "LENGTH"

// The characters that texts are drawn from.
const (
	digits  = "0123456789"
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// ascii are the characters from blank to tilde.
var ascii = func() string {
	var b strings.Builder
	for c := byte(' '); c <= '~'; c++ {
		b.WriteByte(c)
	}
	return b.String()
}()

var errNoSource = errors.New("the source of randomness fails")

// randomFuncs are allowed only in scopes that have a source of randomness.
func randomFuncs() []row {
	return []row{
		{"randAlphaNum", argLength, "A text of random letters and digits.", `randAlphaNum 24 | len`, "24", drawer(letters + digits), drawn, ""},
		{"randAlpha", argLength, "A text of random letters.", `randAlpha 24 | len`, "24", drawer(letters), drawn, ""},
		{"randNumeric", argLength, "A text of random digits.", `randNumeric 6 | len`, "6", drawer(digits), drawn, ""},
		{"randAscii", argLength, "A text of random characters, from blank to tilde.", `randAscii 24 | len`, "24", drawer(ascii), drawn, ""},
		{"randBytes", argLength, "So many random bytes, in base64.", `randBytes 32 | b64dec | len`, "32", randBytes, drawn, ""},
		{"randInt", "MIN MAX", "A random whole number from MIN up to MAX, which is not reached itself.", `randInt 5 6`, "5", randInt, drawn, ""},
		{"shuffle", argText, "The characters of TEXT in random order.", `shuffle "aaa"`, "aaa", shuffle, drawn, ""},
		{"uuidv4", "", "A random UUID.", `uuidv4 | len`, "36", uuid, drawn, ""},
	}
}

// below gives a number from 0 up to n, each as likely as the others.
func (st *state) below(n int64) (int64, error) {
	v, err := rand.Int(st.template.random.source, big.NewInt(n))
	if err != nil {
		return 0, errNoSource
	}
	return v.Int64(), nil
}

func (st *state) bytes(n int) ([]byte, error) {
	if n < 0 || n > maxDrawn {
		return nil, badArgument("a length must be from 0 to %d", maxDrawn)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(st.template.random.source, b); err != nil {
		return nil, errNoSource
	}
	return b, nil
}

// drawer makes a function that draws a text of these characters.
func drawer(characters string) func(st *state, length int) (string, error) {
	return func(st *state, length int) (string, error) {
		if length < 0 || length > maxDrawn {
			return "", badArgument("a length must be from 0 to %d", maxDrawn)
		}
		if err := st.do(times(workOfDraw, length)); err != nil {
			return "", err
		}
		text := make([]byte, length)
		for i := range text {
			n, err := st.below(int64(len(characters)))
			if err != nil {
				return "", err
			}
			text[i] = characters[n]
		}
		return string(text), nil
	}
}

func randBytes(st *state, length int) (string, error) {
	b, err := st.bytes(length)
	return base64.StdEncoding.EncodeToString(b), err
}

func randInt(st *state, low, high int64) (int64, error) {
	width := high - low
	if high <= low || width <= 0 {
		return 0, badArgument("MIN must be less than MAX")
	}
	n, err := st.below(width)
	return low + n, err
}

func shuffle(st *state, text string) (string, error) {
	if err := st.do(times(workOfDraw, min(len(text), maxDrawn))); err != nil {
		return "", err
	}
	runes := []rune(text)
	if len(runes) > maxDrawn {
		return "", badArgument("a text to shuffle may have at most %d characters", maxDrawn)
	}
	for i := len(runes) - 1; i > 0; i-- {
		j, err := st.below(int64(i) + 1)
		if err != nil {
			return "", err
		}
		runes[i], runes[j] = runes[j], runes[i]
	}
	return string(runes), nil
}

func uuid(st *state) (string, error) {
	const version, variant = 0x40, 0x80
	b, err := st.bytes(16)
	if err != nil {
		return "", err
	}
	b[6] = b[6]&0x0f | version
	b[8] = b[8]&0x3f | variant
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), nil
}
