package person

import (
	"context"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/engine/web/answers"
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
	known  *answers.Kept[question, bool]
}

// question is what a review asks.
type question struct {
	person string
	right  Right
}

// NewRights gives one that knows no answer.
func NewRights(c Creator, clk clock.PassiveClock) *Rights {
	return &Rights{client: c, known: answers.New[question, bool](clk, maxRights, reviewTimeout)}
}

// May says whether a person has a right. The error says why the API server could not be asked; then the answer is no.
func (r *Rights) May(ctx context.Context, p Person, want Right) (bool, error) {
	return r.known.Get(ctx, question{person: p.Key(), right: want}, func(ctx context.Context) (bool, time.Duration, error) {
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
