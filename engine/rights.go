package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// Right is one verb on one resource.
type Right struct {
	// Verb, such as patch.
	Verb string
	// Group of the resource; empty: the core group.
	Group string
	// Resource is a lower-case plural, and Subresource what stands after the slash, if anything.
	Resource, Subresource string
	// Namespace; empty: all.
	Namespace string
}

// String gives the right as `verb resource.group/subresource`.
func (r Right) String() string {
	name := r.Resource
	if r.Group != "" {
		name += "." + r.Group
	}
	if r.Subresource != "" {
		name += "/" + r.Subresource
	}
	return r.Verb + " " + name
}

// key tells rights apart.
func (r Right) key() string { return r.Namespace + " " + r.String() }

// rightOf gives the right that an error says is missing; nil where it does not say that.
func rightOf(err error) *Right {
	m := pipeline.Denial(err)
	if m == nil {
		return nil
	}
	return &Right{Verb: m.Verb, Resource: m.Resource, Subresource: m.Subresource, Group: m.Group, Namespace: m.Namespace}
}

// rights knows what the manager may not do, for all boxes: each missing right is asked for once per permissionInterval,
// however many resources wait for it. It is safe for concurrent use.
type rights struct {
	client dynamic.Interface
	clock  clock.PassiveClock
	asking singleflight.Group // by right: whoever asks for the same one at this moment waits for one answer

	mu     sync.Mutex
	denied map[Right]time.Time // when the API server last said so; guarded by mu
}

func newRights(client dynamic.Interface, clk clock.PassiveClock) *rights {
	return &rights{client: client, clock: clk, denied: map[Right]time.Time{}}
}

// confirm gives the missing right behind an error. A 403 that says so, and that a review does not confirm, is the refusal of
// something else.
func (r *rights) confirm(ctx context.Context, err error) (missing *Right, confirmed error) {
	if err == nil {
		return nil, nil
	}
	step := pipeline.AsStepError(err)
	if step.Class != pipeline.Permission {
		return nil, err
	}
	missing = rightOf(step.Err)
	if missing != nil && !r.granted(ctx, missing) {
		return missing, step
	}
	if missing != nil && slices.Contains([]string{"get", "list", "watch"}, missing.Verb) {
		// Nothing but rights is asked of reads, and this one has been granted meanwhile.
		return nil, &pipeline.StepError{Step: step.Step, Class: pipeline.Transient, Err: step.Err}
	}
	return nil, &pipeline.StepError{Step: step.Step, Class: pipeline.Refused, Reason: v1alpha1.ReasonAdmissionDenied, Err: step.Err}
}

// granted says whether the manager has a right now. While the API server can't be asked, it has not.
func (r *rights) granted(ctx context.Context, want *Right) bool {
	if want == nil {
		return true
	}
	if r.known(want) {
		return false
	}
	allowed, err, _ := r.asking.Do(want.key(), func() (any, error) {
		if r.known(want) {
			return false, nil // it was asked since
		}
		// Others wait for the answer too, whatever becomes of the look that asks.
		allowed, err := r.review(context.WithoutCancel(ctx), want)
		r.answered(want, allowed)
		return allowed, err
	})
	if err != nil {
		log.FromContext(ctx).Error(err, "A missing right could not be reviewed")
	}
	return allowed == true
}

// known says whether the API server has just said that the manager has not got a right.
func (r *rights) known(want *Right) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.denied[*want]
	return ok && r.clock.Since(at) < permissionInterval
}

func (r *rights) answered(want *Right, allowed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if allowed {
		delete(r.denied, *want)
		return
	}
	r.denied[*want] = r.clock.Now()
}

func (r *rights) review(ctx context.Context, want *Right) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	review := &authorizationv1.SelfSubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: authorizationv1.SchemeGroupVersion.String(), Kind: "SelfSubjectAccessReview"},
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: want.Verb, Group: want.Group, Resource: want.Resource, Subresource: want.Subresource, Namespace: want.Namespace,
		}},
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(review)
	if err != nil {
		return false, fmt.Errorf("encoding a review: %w", err)
	}
	kind := authorizationv1.SchemeGroupVersion.WithResource("selfsubjectaccessreviews")
	answer, err := r.client.Resource(kind).Create(ctx, &unstructured.Unstructured{Object: content}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("asking for the right to %s: %w", want, err)
	}
	allowed, _, err := unstructured.NestedBool(answer.Object, "status", "allowed")
	if err != nil {
		return false, fmt.Errorf("reading the answer to a review: %w", err)
	}
	return allowed, nil
}
