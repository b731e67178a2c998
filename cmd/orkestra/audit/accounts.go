package audit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	known "github.com/orkspace/orkestra/controllers/accounts"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/identity"
)

// accounts gives the UIDs of accounts as the API server has them. It implements known.Known.
type accounts struct {
	ctx     context.Context //nolint:containedctx // see judge
	client  client.Client
	allowed []string // namespaces; empty: it is the manager's to say, in the status of the box
	failed  error    // why the last account could not be read
}

// UID implements known.Known.
func (a *accounts) UID(name types.NamespacedName) (types.UID, error) {
	if len(a.allowed) > 0 && !slices.Contains(a.allowed, name.Namespace) {
		return "", known.ErrNotAllowed
	}
	obj := &metav1.PartialObjectMetadata{}
	obj.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceAccount"))
	a.failed = a.client.Get(a.ctx, name, obj)
	switch {
	case apierrors.IsNotFound(a.failed):
		return "", nil
	case a.failed != nil:
		return "", a.failed
	}
	return obj.UID, nil
}

// Namespaces implements known.Known.
func (a *accounts) Namespaces() []string { return a.allowed }

// subject is somebody whose rights are asked for.
type subject struct {
	user, uid string
	groups    []string
	extra     map[string][]string
}

// userOf is a user as the API server would know them: it adds groups to those that are given.
func userOf(user string, groups []string) *subject {
	s := &subject{user: user, groups: groups}
	if account, isAccount := strings.CutPrefix(user, "system:serviceaccount:"); isAccount {
		namespace, name, _ := strings.Cut(account, ":")
		s.groups = append(s.groups, identity.Account{Namespace: namespace, Name: name}.Groups()...)
	}
	if !slices.Contains(s.groups, "system:authenticated") {
		s.groups = append(s.groups, "system:authenticated")
	}
	return s
}

// reviews asks the API server what others may do.
type reviews struct{ client client.Client }

// allowed says whether somebody has a right on the object of this name; empty: on all.
func (r *reviews) allowed(ctx context.Context, who *subject, right access.Right, name string) (bool, error) {
	extra := map[string]authorizationv1.ExtraValue{}
	for key, values := range who.extra {
		extra[key] = values
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: who.user, UID: who.uid, Groups: who.groups, Extra: extra,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: right.Verb, Group: right.Group, Resource: right.Resource, Subresource: right.Subresource, Namespace: right.Namespace, Name: name,
		},
	}}
	if err := r.client.Create(ctx, review); err != nil {
		return false, fmt.Errorf("asking whether %s may %s: %w", who.user, right, err)
	}
	return review.Status.Allowed, nil
}
