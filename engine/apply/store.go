package apply

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// Cache is the watch cache of children, which is told of our own writes so that the next read sees them.
type Cache interface {
	// Get reads a child.
	Get(kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, bool)
	// Wrote tells of the answer to a write.
	Wrote(kind schema.GroupVersionKind, obj *unstructured.Unstructured)
	// Gone tells of an object that our delete removed at once.
	Gone(kind schema.GroupVersionKind, obj *unstructured.Unstructured)
}

// store is where children are: the API server, and the cache that is told of what it answers.
type store struct {
	client *Client
	cache  Cache
}

// create makes a child by a POST, which can't change what is there already.
func (s store) create(ctx context.Context, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	answer, err := s.client.create(ctx, obj)
	if err != nil {
		return nil, err
	}
	s.cache.Wrote(obj.GroupVersionKind(), answer)
	return answer, nil
}

// patch sends a JSON merge patch of a child.
func (s store) patch(ctx context.Context, child *unstructured.Unstructured, patch []byte) (*unstructured.Unstructured, error) {
	answer, err := s.client.mergePatch(ctx, targetOf(child), v1alpha1.FieldManager, patch)
	if err != nil {
		return nil, err
	}
	s.cache.Wrote(child.GroupVersionKind(), answer)
	return answer, nil
}

// delete deletes a child, unless it has changed since it was read. One that is gone is no error.
func (s store) delete(ctx context.Context, child *unstructured.Unstructured, propagation metav1.DeletionPropagation) error {
	gone, err := s.client.delete(ctx, child, propagation)
	switch {
	case IsGone(err, child), err == nil && gone:
		s.cache.Gone(child.GroupVersionKind(), child)
		return nil
	case s.refresh(ctx, child, err):
		return nil
	case err != nil:
		return fmt.Errorf("deleting %s %q: %w", child.GetKind(), child.GetName(), err)
	default:
		return nil
	}
}

// refresh handles a conflict: the child has changed since it was read, so it is read again and given to the cache. The watch event would
// bring it too, but may be late where watches break, and until then each retry would get the same conflict. It says whether the child
// is gone; where it can't be read, the cache stays as it is, and other errors than conflicts do nothing.
func (s store) refresh(ctx context.Context, child *unstructured.Unstructured, err error) (gone bool) {
	if !apierrors.IsConflict(err) {
		return false
	}
	// The whole object is read, not its metadata: the cache ignores a later event with the same resourceVersion, so what is missing now
	// would stay missing.
	live, err := s.client.get(ctx, targetOf(child))
	switch {
	case IsGone(err, child):
		gone = true
	case err == nil:
		s.cache.Wrote(child.GroupVersionKind(), live)
		gone = live.GetUID() != child.GetUID()
	}
	if gone {
		s.cache.Gone(child.GroupVersionKind(), child)
	}
	return gone
}

// IsGone says whether an error means that the object that a request was about does not exist. A 404 alone does not: it is also
// the answer where the API server does not serve the kind, or not in this version, while the object is there; and where the
// namespace is missing. Only one that names the object speaks of it.
func IsGone(err error, obj *unstructured.Unstructured) bool {
	var answer apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &answer) {
		return false
	}
	details := answer.Status().Details
	if details == nil || details.Name != obj.GetName() {
		return false
	}
	return details.Kind != "namespaces" || obj.GetKind() == "Namespace"
}
