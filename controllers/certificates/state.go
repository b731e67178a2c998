package certificates

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/client-go/util/cert"
)

// The keys of the Secret.
const (
	keyBundle              = "ca.crt" // all authorities that are to be trusted
	keyServed, keyOfServed = "tls.crt", "tls.key"
	keyNext, keyOfNext     = "next.crt", "next.key" // what will be served; its authority is trusted before
)

// maxAuthorities is how many authorities are trusted at most: those of the pairs that are served and will be, and former ones that are valid.
const maxAuthorities = 8

// state is what the Secret holds.
type state struct {
	served, next *pair // nil: there is none that can be read
	bundle       []byte
}

func readState(data map[string][]byte) state {
	s := state{bundle: data[keyBundle]}
	if p, err := parsePair(data[keyServed], data[keyOfServed]); err == nil {
		s.served = p
	}
	if p, err := parsePair(data[keyNext], data[keyOfNext]); err == nil {
		s.next = p
	}
	return s
}

func (s state) data() map[string][]byte {
	data := map[string][]byte{keyBundle: s.bundle, keyServed: s.served.certificate, keyOfServed: s.served.key}
	if s.next != nil {
		data[keyNext], data[keyOfNext] = s.next.certificate, s.next.key
	}
	return data
}

// same says whether two states are kept as the same data.
func same(a, b map[string][]byte) bool { return maps.EqualFunc(a, b, bytes.Equal) }

// renewal says when certificates are renewed.
type renewal struct {
	names    []string
	validity time.Duration
}

// begins is when the pair is made that will follow one: a third of the validity before the end.
func (r renewal) begins(p *pair) time.Time { return p.leaf.NotAfter.Add(-r.validity / 3) }

// serves is when a pair is served: its authority was trusted by then for a tenth of the validity, so that every API server has learnt of it.
func (r renewal) serves(p *pair) time.Time { return p.made().Add(r.validity / 10) }

// advance gives what the Secret should hold now, and when to look again. trusted is the bundle of the configuration: a pair is served only
// when its authority is there, but for the first one, and one that replaces what can't be served any more.
func (r renewal) advance(s state, trusted []byte, now time.Time) (state, time.Time, error) {
	var err error
	if !s.next.fits(r.names, now) {
		s.next = nil
	}
	switch {
	case !s.served.fits(r.names, now):
		s.served, s.next = s.next, nil
		if s.served == nil {
			s.served, err = newPair(r.names, now, r.validity)
		}
	case s.next == nil && !now.Before(r.begins(s.served)):
		s.next, err = newPair(r.names, now, r.validity)
	case s.next != nil && !now.Before(r.serves(s.next)) && has(trusted, s.next.authority):
		s.served, s.next = s.next, nil
	}
	if err != nil {
		return state{}, time.Time{}, err
	}
	again := r.begins(s.served)
	if s.next != nil {
		again = s.served.leaf.NotAfter
		if at := r.serves(s.next); now.Before(at) {
			again = at
		}
	}
	if s.bundle, err = s.authorities(now); err != nil {
		return state{}, time.Time{}, err
	}
	return s, again, nil
}

// authorities gives the bundle: those of the pairs, and former ones that are valid, since another process may still serve what they signed.
func (s state) authorities(now time.Time) ([]byte, error) {
	all := []*x509.Certificate{s.served.authority}
	if s.next != nil {
		all = append(all, s.next.authority)
	}
	former, err := cert.ParseCertsPEM(s.bundle)
	if err != nil {
		former = nil // there is none, or somebody has changed it
	}
	for _, c := range former {
		known := slices.ContainsFunc(all, func(o *x509.Certificate) bool { return bytes.Equal(o.Raw, c.Raw) })
		if !known && now.Before(c.NotAfter) && len(all) < maxAuthorities {
			all = append(all, c)
		}
	}
	bundle, err := cert.EncodeCertificates(all...)
	if err != nil {
		return nil, fmt.Errorf("encoding the authorities: %w", err)
	}
	return bundle, nil
}
