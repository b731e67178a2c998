package apply

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// stale reads a child again of which a write was refused because it has changed since it was read, so that the cache shows what it is
// now. Its event would too, but may be long in coming where watches break, and until then the same write would be refused again and
// again. It says whether the child is gone; where it can't be read, the cache stays as it is.
func (w *Writer) stale(ctx context.Context, child *unstructured.Unstructured, err error) (gone bool) {
	if !apierrors.IsConflict(err) {
		return false
	}
	// The whole object: its event may bring the same version, and then nobody looks again at what metadata alone did not show.
	live, err := w.client.get(ctx, targetOf(child))
	switch {
	case IsGone(err, child):
		gone = true
	case err == nil:
		w.cache.Wrote(child.GroupVersionKind(), live)
		gone = live.GetUID() != child.GetUID()
	}
	if gone {
		w.cache.Gone(child.GroupVersionKind(), child)
	}
	return gone
}
