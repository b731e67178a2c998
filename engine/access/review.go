package access

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/engine/identity"
)

// +kubebuilder:rbac:groups=authorization.k8s.io,resources=selfsubjectaccessreviews;subjectaccessreviews,verbs=create

// review asks the API server once.
func (r *Reviews) review(ctx context.Context, want question) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	obj, status := reviewOf(want)
	if err := r.client.Create(ctx, obj); err != nil {
		return false, fmt.Errorf("asking for the right of %s to %s: %w", want.account, want.right, err)
	}
	return status.Allowed, nil
}

// reviewOf makes the review of a question, and says where its answer will stand. An account is described as the API server knows it from
// the requests that are made as it.
func reviewOf(want question) (client.Object, *authorizationv1.SubjectAccessReviewStatus) {
	about := &authorizationv1.ResourceAttributes{
		Verb: want.right.Verb, Group: want.right.Group, Resource: want.right.Resource, Subresource: want.right.Subresource,
		Namespace: want.right.Namespace, Name: want.right.Name,
	}
	if want.account.IsManager() {
		self := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: about}}
		return self, &self.Status
	}
	other := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		ResourceAttributes: about, User: want.account.User(), Groups: want.account.Groups(), UID: string(want.account.UID),
	}}
	for key, values := range identity.Extra(want.box) {
		if other.Spec.Extra == nil {
			other.Spec.Extra = map[string]authorizationv1.ExtraValue{}
		}
		other.Spec.Extra[key] = values
	}
	return other, &other.Status
}
