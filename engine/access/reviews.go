package access

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// RetryInterval is how long a refusal is believed: what lacks a right asks for it again after that time.
	RetryInterval = 15 * time.Second
	// grantLife is how long a grant is believed.
	grantLife = 10 * time.Minute
	// reviewTimeout bounds one review.
	reviewTimeout = 4 * time.Second
)

// +kubebuilder:rbac:groups=authorization.k8s.io,resources=selfsubjectaccessreviews,verbs=create

// Creator sends a review, and fills in its answer. A client.Client is one.
type Creator interface {
	Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error
}

// Reviews asks the API server by SelfSubjectAccessReviews what the manager may do, and keeps the answers for all boxes. Missing, which
// is asked before a box starts, believes a grant that is kept, and asks again after a refusal. Granted, which is asked after the API
// server has denied a request, does the opposite. A nil *Reviews believes every denial. It is safe for concurrent use.
type Reviews struct {
	client Creator
	clock  clock.PassiveClock
	asking singleflight.Group // by right: boxes that start together, and resources that wait, ask for the same ones

	mu      sync.Mutex
	granted map[Right]time.Time // when the API server last said so; guarded by mu
	refused map[Right]time.Time // when it last said so, or did not answer; guarded by mu
}

// NewReviews gives a store without answers.
func NewReviews(c Creator, clk clock.PassiveClock) *Reviews {
	return &Reviews{client: c, clock: clk, granted: map[Right]time.Time{}, refused: map[Right]time.Time{}}
}

// Missing lists the rights of the rules that the manager does not have, as `verb resource.group`, sorted. An error says that the
// API server could not be asked.
func (r *Reviews) Missing(ctx context.Context, rules []rbacv1.PolicyRule) ([]string, error) {
	var missing []string
	for _, want := range Rights(rules) {
		allowed, err := r.ask(ctx, want, func() (known, allowed bool) { return r.believesGrant(want), true })
		if err != nil {
			return nil, err
		}
		if !allowed {
			r.Lost(want)
			missing = append(missing, want.String())
		}
	}
	slices.Sort(missing)
	return missing, nil
}

// Granted says whether the manager has a right that it lacked. While the API server can't be asked, it has not: what waits for
// the right goes on waiting. It costs one review per right and RetryInterval, however many resources wait for it.
func (r *Reviews) Granted(ctx context.Context, want Right) bool {
	if r == nil {
		return false
	}
	allowed, err := r.ask(ctx, want, func() (known, allowed bool) { return r.believesRefusal(want), false })
	if err != nil {
		log.FromContext(ctx).Error(err, "A missing right could not be reviewed")
	}
	return allowed
}

// Lost notes that a right was found to be missing, in whichever namespace, and says whether it was believed to be there: then the boxes
// that rely on it have to be checked again.
func (r *Reviews) Lost(lost Right) bool {
	lost.Namespace = "" // Missing asks, and so keeps grants, for all namespaces
	r.mu.Lock()
	defer r.mu.Unlock()
	_, believed := r.granted[lost]
	delete(r.granted, lost)
	return believed
}

// ask gives what is known, or else what the API server says now: one answer for all who ask for the same right meanwhile.
func (r *Reviews) ask(ctx context.Context, want Right, remembered func() (known, allowed bool)) (bool, error) {
	if known, allowed := remembered(); known {
		return allowed, nil
	}
	answer, err, _ := r.asking.Do(want.key(), func() (any, error) {
		if known, allowed := remembered(); known {
			return allowed, nil // the call before this one has asked
		}
		// Others wait for this answer, too: it must not fail because the reconcile that happens to ask is canceled.
		allowed, err := r.review(context.WithoutCancel(ctx), want)
		r.note(want, allowed)
		return allowed, err
	})
	return answer == true, err
}

func (r *Reviews) believesGrant(want Right) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.granted[want]
	return ok && r.clock.Since(at) < grantLife
}

func (r *Reviews) believesRefusal(want Right) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.refused[want]
	return ok && r.clock.Since(at) < RetryInterval
}

// note keeps an answer. A refusal does not delete the grant before it: Lost does, and says by that whether somebody relied on it.
func (r *Reviews) note(want Right, allowed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if allowed {
		r.granted[want] = r.clock.Now()
		delete(r.refused, want)
		return
	}
	r.refused[want] = r.clock.Now()
}

func (r *Reviews) review(ctx context.Context, want Right) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: want.Verb, Group: want.Group, Resource: want.Resource, Subresource: want.Subresource, Namespace: want.Namespace,
		},
	}}
	if err := r.client.Create(ctx, review); err != nil {
		return false, fmt.Errorf("asking for the right to %s: %w", want, err)
	}
	return review.Status.Allowed, nil
}
