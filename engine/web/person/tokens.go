// Package person says who asks the Control Center, and what that person may read: the API server is asked, and its answers are believed for a minute.
package person

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/engine/web/answers"
)

// Person is who asks.
type Person struct {
	// Name of the user, as the API server has it; UID and Groups too.
	Name   string
	UID    string
	Groups []string
	// Extra is what else was said of the user.
	Extra map[string]authorizationv1.ExtraValue
	// Shared says that many are this user: all who have not said who they are.
	Shared bool
}

// Key is one text for each person who may have rights of their own.
func (p Person) Key() string {
	return fmt.Sprintf("%q %q %q %q %t", p.Name, p.UID, p.Groups, p.Extra, p.Shared)
}

// authenticated is the group of all who have said who they are, as the API server has it.
const authenticated = "system:authenticated"

// Authenticated gives groups with that of all who have said who they are: the API server adds it to those of everybody whom it knows itself.
func Authenticated(groups []string) []string {
	if slices.Contains(groups, authenticated) {
		return groups
	}
	return append(slices.Clone(groups), authenticated)
}

// contextKey is that of the person in a context.
type contextKey struct{}

// With gives a context in which a person asks.
func With(ctx context.Context, p Person) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// From gives the person who asks; ok is false where nobody has said who that is.
func From(ctx context.Context) (p Person, ok bool) {
	p, ok = ctx.Value(contextKey{}).(Person)
	return p, ok
}

// Creator sends a review, and fills in its answer. A client.Client is one.
type Creator interface {
	Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error
}

const (
	// life is how long an answer of the API server is believed.
	life = time.Minute
	// refusedLife is how long a refusal is believed: a token that is none, or a right that is missing, costs no request each time.
	refusedLife = 10 * time.Second
	// reviewRate and reviewBurst are how many tokens per second are asked for that nobody has sent before, and how many at once: who guesses tokens
	// must not keep the API server busy.
	reviewRate, reviewBurst = 20, 100
	// reviewTimeout bounds one review.
	reviewTimeout = 5 * time.Second
	// maxTokens and maxRights are how many answers are kept.
	maxTokens, maxRights = 2000, 50_000
	// maxToken is how long a token may be, in bytes. Those of ServiceAccounts have about a thousand.
	maxToken = 16 << 10
)

// Bearer gives the token that a header Authorization has; ok is false where it has none.
func Bearer(header string) (token string, ok bool) {
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return strings.TrimSpace(token), true
}

// Tokens says whose bearer tokens are, by TokenReviews. It is safe for concurrent use.
type Tokens struct {
	client Creator
	known  *answers.Kept[[sha256.Size]byte, *Person]
	// seen are the tokens that the API server has known when it was asked last: who guesses must not keep them out when an answer gets old.
	seen  *lru.Cache
	limit flowcontrol.PassiveRateLimiter
}

// NewTokens gives one that knows no token.
func NewTokens(c Creator, clk clock.PassiveClock) *Tokens {
	return &Tokens{
		client: c, known: answers.New[[sha256.Size]byte, *Person](clk, maxTokens, reviewTimeout), seen: lru.New(maxTokens),
		limit: flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(reviewRate, reviewBurst, clk),
	}
}

// ErrTooMany is the error of a token that is not asked about, because too many are.
var ErrTooMany = errors.New("too many tokens are sent that were not seen before: try again in a moment")

// Of says whose a token is; nil: the API server does not know it. The error says why it could not be asked. Tokens are kept as their hashes.
func (t *Tokens) Of(ctx context.Context, token string) (*Person, error) {
	if token == "" || len(token) > maxToken || strings.ContainsAny(token, " \t\r\n") {
		return nil, nil //nolint:nilnil // nobody has such a token
	}
	hash := sha256.Sum256([]byte(token))
	return t.known.Get(ctx, hash, func(ctx context.Context) (*Person, time.Duration, error) {
		if _, seen := t.seen.Get(hash); !seen && !t.limit.TryAccept() {
			return nil, 0, ErrTooMany
		}
		review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
		if err := t.client.Create(ctx, review); err != nil {
			return nil, 0, fmt.Errorf("asking the API server whose the token is: %w", err)
		}
		if !review.Status.Authenticated {
			t.seen.Remove(hash)
			return nil, refusedLife, nil
		}
		t.seen.Add(hash, nil)
		user := review.Status.User
		p := &Person{Name: user.Username, UID: user.UID, Groups: user.Groups}
		for key, values := range user.Extra {
			if p.Extra == nil {
				p.Extra = map[string]authorizationv1.ExtraValue{}
			}
			p.Extra[key] = authorizationv1.ExtraValue(values)
		}
		return p, life, nil
	})
}
