package web

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/engine/web/person"
)

// PassedOnHeader is the header of a question that one replica passes on to another: who asks what, sealed.
const PassedOnHeader = "Orkestra-Passed-On" //nolint:gosec // its name is no secret

// sealLife is for how long a seal counts, before and after it was made: the clocks of two nodes differ.
const sealLife = 30 * time.Second

// sealPurpose keeps what is sealed here apart from all else that the key signs.
const sealPurpose = "orkestra: questions that replicas pass on"

// Replicas are those of one installation, which share a key: by it one says to another who asks. What shows that to the replica that was asked, a token, a
// session or the certificate of a proxy, stays with it.
type Replicas struct {
	// Key that they share, and nobody else has. An error says why it can't be had.
	Key func(ctx context.Context) ([]byte, error)
	// Clock tells the time; Log gets what is no answer to anybody.
	Clock clock.PassiveClock
	Log   logr.Logger
}

// passedOn is what is sealed: one question of one person, now.
type passedOn struct {
	Name   string                                `json:"name"`
	UID    string                                `json:"uid,omitempty"`
	Groups []string                              `json:"groups,omitempty"`
	Extra  map[string]authorizationv1.ExtraValue `json:"extra,omitempty"`
	Shared bool                                  `json:"shared,omitempty"`
	Method string                                `json:"method"`
	URI    string                                `json:"uri"`
	Body   []byte                                `json:"body"` // its SHA-256
	At     time.Time                             `json:"at"`
}

// Seal has a request say who asks, in place of what showed it before.
func (p *Replicas) Seal(r *http.Request, who person.Person, body []byte) error {
	key, err := p.Key(r.Context())
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	text, err := json.Marshal(passedOn{
		Name: who.Name, UID: who.UID, Groups: who.Groups, Extra: who.Extra, Shared: who.Shared,
		Method: r.Method, URI: r.URL.RequestURI(), Body: sum[:], At: p.Clock.Now(),
	})
	if err != nil {
		return fmt.Errorf("writing who asks: %w", err)
	}
	r.Header.Del("Authorization")
	r.Header.Del("Cookie")
	r.Header.Set(PassedOnHeader, base64.RawURLEncoding.EncodeToString(text)+"."+base64.RawURLEncoding.EncodeToString(seal(key, text)))
	return nil
}

func seal(key, text []byte) []byte {
	own := hmac.New(sha256.New, key)
	_, _ = own.Write([]byte(sealPurpose)) // it never fails
	mac := hmac.New(sha256.New, own.Sum(nil))
	_, _ = mac.Write(text)
	return mac.Sum(nil)
}

// notSealed is why a question that says to be passed on does not count.
const notSealed = "The header " + PassedOnHeader + " is for replicas of this installation alone, for half a minute, and for one question: leave it out"

// enter gives who asks, as another replica says; nil: none has said anything.
func (p *Replicas) enter(r *http.Request) (*entry, *refusal) {
	given := r.Header.Values(PassedOnHeader)
	if p == nil || len(given) == 0 {
		return nil, nil //nolint:nilnil // nobody has said anything
	}
	no := &refusal{status: http.StatusUnauthorized, why: notSealed}
	text, mac, ok := opened(given)
	if !ok {
		return nil, no
	}
	key, err := p.Key(r.Context())
	if err != nil {
		p.Log.Error(err, "Whether a question comes from another replica is not known")
		return nil, &refusal{status: http.StatusServiceUnavailable, why: notAsked}
	}
	var said passedOn
	if !hmac.Equal(mac, seal(key, text)) || json.Unmarshal(text, &said) != nil {
		return nil, no
	}
	sum, err := sumOf(r)
	age := p.Clock.Now().Sub(said.At)
	if err != nil || said.Method != r.Method || said.URI != r.URL.RequestURI() || !bytes.Equal(said.Body, sum) || age > sealLife || age < -sealLife {
		return nil, no
	}
	return &entry{who: person.Person{Name: said.Name, UID: said.UID, Groups: said.Groups, Extra: said.Extra, Shared: said.Shared}}, nil
}

// opened takes apart what a header holds.
func opened(given []string) (text, mac []byte, ok bool) {
	if len(given) != 1 {
		return nil, nil, false
	}
	first, second, ok := strings.Cut(given[0], ".")
	text, err := base64.RawURLEncoding.DecodeString(first)
	if !ok || err != nil {
		return nil, nil, false
	}
	mac, err = base64.RawURLEncoding.DecodeString(second)
	return text, mac, err == nil
}

// sumOf reads the body of a question, whose length the guard has bounded, and lets it be read again.
func sumOf(r *http.Request) ([]byte, error) {
	var body []byte
	if r.ContentLength != 0 {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, fmt.Errorf("reading the body: %w", err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	sum := sha256.Sum256(body)
	return sum[:], nil
}
