// Package random makes random texts, numbers, keys and certificates from the source of randomness that templates get where something is
// made only once. It charges the evaluation that asks for them.
package random

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"
	"time"

	"github.com/orkspace/orkestra/engine/expr/budget"
)

// Source gives the randomness and the time. It is shared by all templates of a scope.
type Source struct {
	// Reader gives the randomness. It must be safe for concurrent use.
	Reader io.Reader
	// Now is the time at which certificates begin.
	Now func() time.Time
}

// Drawing makes random values for one evaluation.
type Drawing struct {
	*budget.Budget
	*Source
}

// ArgumentError says what is wrong with what was asked for. Its text holds no values, so that everybody may read it.
type ArgumentError string

// Error gives the text.
func (e ArgumentError) Error() string { return string(e) }

func badArgument(format string, args ...any) error {
	return ArgumentError(fmt.Sprintf(format, args...))
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
)

// The characters that texts are drawn from.
const (
	Digits  = "0123456789"
	Letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// ASCII are the characters from blank to tilde.
var ASCII = func() string {
	var b strings.Builder
	for c := byte(' '); c <= '~'; c++ {
		b.WriteByte(c)
	}
	return b.String()
}()

var errNoSource = errors.New("the source of randomness fails")

// below gives a number from 0 up to n, each as likely as the others.
func (d *Drawing) below(n int64) (int64, error) {
	v, err := rand.Int(d.Reader, big.NewInt(n))
	if err != nil {
		return 0, errNoSource
	}
	return v.Int64(), nil
}

func (d *Drawing) bytes(n int) ([]byte, error) {
	if n < 0 || n > maxDrawn {
		return nil, badArgument("a length must be from 0 to %d", maxDrawn)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(d.Reader, b); err != nil {
		return nil, errNoSource
	}
	return b, nil
}

// Text draws a text of these characters.
func (d *Drawing) Text(characters string, length int) (string, error) {
	if length < 0 || length > maxDrawn {
		return "", badArgument("a length must be from 0 to %d", maxDrawn)
	}
	if err := d.Work(budget.Times(workOfDraw, length)); err != nil {
		return "", err
	}
	text := make([]byte, length)
	for i := range text {
		n, err := d.below(int64(len(characters)))
		if err != nil {
			return "", err
		}
		text[i] = characters[n]
	}
	return string(text), nil
}

// Base64 draws so many bytes, and gives them in base64.
func (d *Drawing) Base64(length int) (string, error) {
	b, err := d.bytes(length)
	return base64.StdEncoding.EncodeToString(b), err
}

// Int draws a number from low up to high, which is not reached itself.
func (d *Drawing) Int(low, high int64) (int64, error) {
	width := high - low
	if high <= low || width <= 0 {
		return 0, badArgument("MIN must be less than MAX")
	}
	n, err := d.below(width)
	return low + n, err
}

// Shuffle puts the characters of a text into random order.
func (d *Drawing) Shuffle(text string) (string, error) {
	if err := d.Work(budget.Times(workOfDraw, min(len(text), maxDrawn))); err != nil {
		return "", err
	}
	runes := []rune(text)
	if len(runes) > maxDrawn {
		return "", badArgument("a text to shuffle may have at most %d characters", maxDrawn)
	}
	for i := len(runes) - 1; i > 0; i-- {
		j, err := d.below(int64(i) + 1)
		if err != nil {
			return "", err
		}
		runes[i], runes[j] = runes[j], runes[i]
	}
	return string(runes), nil
}

// UUID draws a UUID of version 4.
func (d *Drawing) UUID() (string, error) {
	const version, variant = 0x40, 0x80
	b, err := d.bytes(16)
	if err != nil {
		return "", err
	}
	b[6] = b[6]&0x0f | version
	b[8] = b[8]&0x3f | variant
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), nil
}
