package release

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// How long the list of Find may take, and how long after one that failed the next is sent.
const (
	listTimeout  = 30 * time.Second
	listInterval = 5 * time.Second
)

// Marker lists the objects of others with the label of a box. apply.Marker does.
type Marker interface {
	// ServedBy gives their metadata, of some namespaces, or, where these are nil, of all.
	ServedBy(ctx context.Context, box string, kind schema.GroupVersionKind, resource schema.GroupVersionResource, namespaces []string) ([]*unstructured.Unstructured, error)
}

// Finder knows whether the objects of others are found that carry marks of the box and that its watch does not show.
type Finder struct {
	// Namespaces that the box watches; nil: all.
	Namespaces []string
	// Marker asks the API server.
	Marker Marker
	// Lives says whether the watch shows an object.
	Lives func(uid types.UID) bool
	// Changed is called when it is known.
	Changed func()

	found atomic.Bool
}

// Find finds the objects of others that carry marks of the box and have left its selection while nobody looked: the watch does not show them, and
// what was made for them need not tell, since it may be gone. It is one request in the life of a sub-controller, which the API server answers by
// the label of the box. It is sent again only where it fails. enqueue has a cycle let go of each. Of resources of a box's own it does nothing.
func (e *Everything) Find(ctx context.Context, logger logr.Logger, enqueue func(after time.Duration, keys ...types.NamespacedName)) {
	crd := e.Plan().CRD
	if !crd.OfOthers {
		return
	}
	for {
		listing, cancel := context.WithTimeout(ctx, listTimeout)
		marked, err := e.Finder.Marker.ServedBy(listing, e.Box, crd.Kind, crd.Resource, e.Finder.Namespaces)
		cancel()
		if err == nil {
			for _, obj := range marked {
				if !e.Finder.Lives(obj.GetUID()) {
					e.Owners.Left(obj)
				}
			}
			e.Finder.found.Store(true)
			enqueue(0, e.Owners.Held(false)...)
			e.Finder.Changed()
			return
		}
		if ctx.Err() == nil {
			logger.Error(err, "Objects that have left the selection are not known yet")
		}
		retry := time.NewTimer(listInterval)
		select {
		case <-ctx.Done():
			retry.Stop()
			return
		case <-retry.C:
		}
	}
}
