package accounts

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	authenticationv1client "k8s.io/client-go/kubernetes/typed/authentication/v1"
	ctrl "sigs.k8s.io/controller-runtime"
)

// +kubebuilder:rbac:groups=authentication.k8s.io,resources=selfsubjectreviews,verbs=create

// askInterval is the time between two tries to learn the own account.
const askInterval = time.Second

// errNotAsked says that nobody has answered yet.
var errNotAsked = errors.New("which account the manager itself has is not known yet")

// own knows as which user the API server knows this process. Who acts as it has all rights of the manager, so a box must not. It is safe
// for concurrent use.
type own struct {
	reviews authenticationv1client.SelfSubjectReviewInterface

	mu    sync.Mutex
	known string // guarded by mu
	err   error  // why it is not known; guarded by mu
}

// user gives the name of the user.
func (o *own) user() (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.known != "":
		return o.known, nil
	case o.err != nil:
		return "", o.err
	}
	return "", errNotAsked
}

// learn asks the API server until it has answered.
func (o *own) learn(ctx context.Context) {
	ask := func(ctx context.Context) (bool, error) {
		review, err := o.reviews.Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Own account can't be asked for yet")
			err = fmt.Errorf("asking which account the manager itself has: %w", err)
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.err = err
		if err == nil {
			o.known = review.Status.UserInfo.Username
		}
		return err == nil, nil
	}
	// It ends with an error where the process stops.
	_ = wait.PollUntilContextCancel(ctx, askInterval, true, ask)
}
