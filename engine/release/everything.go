package release

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/cleanup"
	"github.com/orkspace/orkestra/engine/inventory"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/pipeline/patches"
)

// timeSlice is how long one call of All works: the reconciler that calls it has other boxes to serve.
const timeSlice = 2 * time.Second

// ErrFilling says that the caches of a box are filling: what it would have to let go is not known yet. BoxChanged tells when
// they are full.
var ErrFilling = errors.New("the caches are filling")

// Cache reads the resources of a box.
type Cache interface {
	// HasSynced says that all resources are known.
	HasSynced() bool
	// Keys gives the keys of all resources.
	Keys() []types.NamespacedName
	// Unread gives the metadata of resources that are there and have not been read yet. Keys has them when they are.
	Unread() []*unstructured.Unstructured
	// Get gives a resource.
	Get(key types.NamespacedName) (*unstructured.Unstructured, bool)
}

// Everything lets go of all resources of a box.
type Everything struct {
	*Releaser

	// Cache has the resources.
	Cache Cache
	// Finder finds the objects of others that carry marks of the box and that the cache does not have.
	Finder *Finder
	// Inventory of the box.
	Inventory *inventory.Inventory
	// Owners delete children.
	Owners *cleanup.Owners
	// Provided deletes what providers have made for resources.
	Provided Provided
	// Patcher takes back what resources have set of objects of others.
	Patcher apply.Patcher
}

// Provided deletes what providers have made for resources whose box goes.
type Provided interface {
	// TakeBack deletes what was made for a resource, and says whether nothing is left to do.
	TakeBack(ctx context.Context, resource *unstructured.Unstructured) (done bool, err error)
}

// All lets go of every resource, or of as many as there is time for, and gives those that are left, sorted. The caller calls it again
// when BoxChanged tells that something has changed. Resources that are being deleted are left to their own cycles. All does not wait
// for caches that are filling (ErrFilling): those of a CRD that is deleted at the same time would never be full.
func (e *Everything) All(ctx context.Context, how Mode, cause Cause) (left []types.NamespacedName, err error) {
	if !e.Cache.HasSynced() || e.Plan().CRD.OfOthers && !e.Finder.found.Load() || how == Children && !e.Inventory.Known() {
		return nil, ErrFilling
	}
	for _, obj := range e.Cache.Unread() { // before Keys: one that is read now is among those
		if e.Plan().Holds(obj) || e.cleansUp(how) {
			left = append(left, types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()})
		}
	}
	var errs []error
	var spent time.Duration
	for _, key := range e.Cache.Keys() {
		obj, ok := e.Cache.Get(key)
		if !ok || !e.Plan().Holds(obj) && how != Resources && !e.cleansUp(how) {
			continue
		}
		if spent > timeSlice {
			left = append(left, key)
			continue
		}
		began := e.Clock.Now()
		gone, err := e.one(ctx, obj, how, cause)
		if err != nil {
			errs = append(errs, err) // its time does not count: it may be slow each time, and must not hold up the others
		} else {
			spent += e.Clock.Since(began)
		}
		if !gone {
			left = append(left, key)
		}
	}
	left = append(left, e.Owners.Held(false)...) // they have left the selection, and cycles let them go
	slices.SortFunc(left, func(a, b types.NamespacedName) int { return cmp.Compare(a.String(), b.String()) })
	return slices.Compact(left), errors.Join(errs...)
}

// one says whether a resource is let go.
func (e *Everything) one(ctx context.Context, obj *unstructured.Unstructured, how Mode, cause Cause) (gone bool, err error) {
	switch {
	case obj.GetDeletionTimestamp() != nil:
		return false, nil // its own cycles run the stage deletion
	case how == Resources:
		return false, e.Client.DeleteResource(ctx, obj)
	case how == Children:
		if done, err := e.Provided.TakeBack(ctx, obj); err != nil || !done {
			return false, err
		}
		left, err := e.Owners.DeleteChildren(ctx, obj)
		if _, refused := errors.AsType[*apply.RefusedError](err); refused && obj.GetAnnotations()[v1alpha1.AnnotationSkipCleanup] == v1alpha1.True {
			err = nil // what could not be let go stays as it is
		}
		if err != nil || left {
			return false, err
		}
		kept, err := patches.Undo(ctx, e.Patcher, &e.Plan().Plan, obj)
		if err != nil && obj.GetAnnotations()[v1alpha1.AnnotationSkipCleanup] != v1alpha1.True {
			return false, err
		}
		for _, message := range kept {
			log.FromContext(ctx).Info("A patch can't be taken back", "resource", obj.GetName(), "reason", message)
		}
		cause.patchesUndone = true
	}
	if !e.Plan().Holds(obj) {
		return true, nil // nothing is marked
	}
	_, err = e.Release(ctx, obj, cause)
	return err == nil, err
}

// cleansUp says whether children of objects of others are deleted: nothing on these says whether they have any.
func (e *Everything) cleansUp(how Mode) bool { return how == Children && e.Plan().CRD.OfOthers }

// Wide says whether a box watches namespaces only to let go of their resources: more than its plan selects. nil are all.
func Wide(plan *pipeline.Plan, watched []string) bool {
	selected := plan.Selection.Namespaces()
	return !plan.CleanupOnly && selected != nil && (watched == nil || len(watched) > len(selected))
}

// Narrow says whether such a box need not watch the others any more: none of them has a held resource.
func Narrow(plan *pipeline.Plan, watched []string, cache Cache) bool {
	if !Wide(plan, watched) {
		return false
	}
	selected := plan.Selection.Namespaces()
	held := func(obj *unstructured.Unstructured) bool {
		return plan.Holds(obj) && !slices.Contains(selected, obj.GetNamespace())
	}
	return !slices.ContainsFunc(cache.Unread(), held) && !slices.ContainsFunc(cache.Keys(), func(key types.NamespacedName) bool {
		obj, ok := cache.Get(key)
		return ok && held(obj)
	})
}
