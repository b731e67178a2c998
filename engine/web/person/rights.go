package person

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/utils/clock"
)

// Right is what somebody wants to do.
type Right struct {
	// Verb is get, list or watch; Group and Resource say of which objects.
	Verb, Group, Resource string
	// Subresource of them; empty: they themselves.
	Subresource string
	// Namespace of the objects; empty: all, or of a kind that has none.
	Namespace string
	// Name of the object; empty: of all.
	Name string
	// Path is a nonResourceURL, such as /metrics; then the right is of no objects.
	Path string
}

// String says what it is, as part of a sentence.
func (r Right) String() string {
	if r.Path != "" {
		return r.Verb + " " + r.Path
	}
	if r.Subresource != "" {
		return r.Verb + " " + r.Resource + "/" + r.Subresource
	}
	return r.Verb + " " + r.Resource
}

// Rights says what people may do, by SubjectAccessReviews. It is safe for concurrent use.
type Rights struct {
	client Creator
	known  *answers[question, bool]
}

// question is what a review asks.
type question struct {
	person string
	right  Right
}

// NewRights gives one that knows no answer.
func NewRights(c Creator, clk clock.PassiveClock) *Rights {
	return &Rights{client: c, known: newAnswers[question, bool](clk, maxRights)}
}

// May says whether a person has a right. The error says why the API server could not be asked; then the answer is no.
func (r *Rights) May(ctx context.Context, p Person, want Right) (bool, error) {
	return r.known.get(ctx, question{person: p.Key(), right: want}, func(ctx context.Context) (bool, time.Duration, error) {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: p.Name, UID: p.UID, Groups: p.Groups, Extra: p.Extra,
		}}
		if want.Path != "" {
			review.Spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Verb: want.Verb, Path: want.Path}
		} else {
			review.Spec.ResourceAttributes = &authorizationv1.ResourceAttributes{
				Verb: want.Verb, Group: want.Group, Version: "*", Resource: want.Resource, Subresource: want.Subresource, Namespace: want.Namespace, Name: want.Name,
			}
		}
		if err := r.client.Create(ctx, review); err != nil {
			return false, 0, fmt.Errorf("asking the API server whether %q may %s: %w", p.Name, want, err)
		}
		if !review.Status.Allowed {
			return false, refusedLife, nil // who was just given a right need not wait long for it
		}
		return true, life, nil
	})
}

// answers keeps those of the API server for some time.
type answers[K comparable, V any] struct {
	clock  clock.PassiveClock
	most   int
	asking singleflight.Group // by question: many pages ask the same at once

	mu  sync.Mutex
	all map[K]answer[V] // guarded by mu
}

// answer is believed until a time.
type answer[V any] struct {
	value V
	until time.Time
}

func newAnswers[K comparable, V any](clk clock.PassiveClock, most int) *answers[K, V] {
	return &answers[K, V]{clock: clk, most: most, all: map[K]answer[V]{}}
}

// get gives the answer that is known, or else what ask says now, and for how long that is believed. An error is not kept.
func (a *answers[K, V]) get(ctx context.Context, of K, ask func(context.Context) (V, time.Duration, error)) (V, error) {
	if value, known := a.recall(of); known {
		return value, nil
	}
	shared, err, _ := a.asking.Do(fmt.Sprintf("%#v", of), func() (any, error) {
		if value, known := a.recall(of); known {
			return value, nil // the call before this one has asked
		}
		// Others wait for this answer, too: it must not fail because the page that happens to ask is closed.
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewTimeout)
		defer cancel()
		value, lives, err := ask(bounded)
		if err == nil {
			a.note(of, value, lives)
		}
		return value, err
	})
	value, _ := shared.(V) // ask has given it
	return value, err      //nolint:wrapcheck // ask has said what it did
}

func (a *answers[K, V]) recall(of K) (value V, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	one, found := a.all[of]
	return one.value, found && a.clock.Now().Before(one.until)
}

// note keeps an answer. Where there are too many, those that nobody believes any more go, and if they are too many still, all: each is asked for anew.
func (a *answers[K, V]) note(of K, value V, lives time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.all) >= a.most {
		now := a.clock.Now()
		for key, one := range a.all {
			if !now.Before(one.until) {
				delete(a.all, key)
			}
		}
		if len(a.all) >= a.most {
			clear(a.all)
		}
	}
	a.all[of] = answer[V]{value: value, until: a.clock.Now().Add(lives)}
}
