package web

import (
	"crypto/x509"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// RereadInterval is how long what a file says is believed before the file is read again: a Secret that is mounted changes without a restart.
const RereadInterval = 10 * time.Second

// Reread holds what a file says. It is safe for concurrent use.
type Reread[T any] struct {
	what  string
	read  func() (T, error)
	clock clock.PassiveClock
	log   logr.Logger

	mu    sync.Mutex
	value T         // guarded by mu
	at    time.Time // when it was read; guarded by mu
}

// NewReread reads a file, and gives what holds it. what names it in the log, as in "the CA of proxies"; read reads it, and its error is given where
// it can't be read now.
func NewReread[T any](what string, read func() (T, error), clk clock.PassiveClock, log logr.Logger) (*Reread[T], error) {
	value, err := read()
	if err != nil {
		return nil, err
	}
	return &Reread[T]{what: what, read: read, clock: clk, log: log, value: value, at: clk.Now()}, nil
}

// Now gives what the file says. One that can't be read leaves what was read before.
func (r *Reread[T]) Now() T {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	if now.Sub(r.at) < RereadInterval {
		return r.value
	}
	r.at = now
	value, err := r.read()
	if err != nil {
		r.log.Error(err, "A file can't be read again: what it said before counts", "what", r.what)
		return r.value
	}
	r.value = value
	return value
}

// ReadCAs reads certificates of CAs, as PEM. of says whose CA they are, for errors, as in "proxies".
func ReadCAs(file, of string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file) //nolint:gosec // the operator names it by a flag
	if err != nil {
		return nil, fmt.Errorf("reading the CA of %s: %w", of, err)
	}
	cas := x509.NewCertPool()
	if !cas.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("reading the CA of %s from %s: wanted certificates as PEM, found none", of, file)
	}
	return cas, nil
}
