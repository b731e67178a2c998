package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// ReleaseMode says how the resources of a box that is being deleted are let go.
type ReleaseMode int

// The modes of a release.
const (
	// ReleaseMarks takes Orkestra's marks off the resources. Their children stay.
	ReleaseMarks ReleaseMode = iota
	// ReleaseChildren deletes the children of the box first.
	ReleaseChildren
	// DeleteResources deletes the resources and lets each of them finish.
	DeleteResources
)

// releaseSlice is how long one look at a deleted box lets go of its resources, so that a large box does not keep a worker
// from the others.
const releaseSlice = 2 * time.Second

// ErrFilling says that the caches of a box are filling: what it would have to let go is not known yet. Changed tells when
// they are full.
var ErrFilling = errors.New("the caches are filling")

// Narrow says whether a box watches more namespaces than its plan selects, and none of the others has a marked resource any
// more: it need not watch them then.
func (e *Engine) Narrow(name string) bool {
	b := e.box(name)
	if b == nil || !b.running() || !b.wide() {
		return false
	}
	selected := b.plan.Load().Selection.Namespaces()
	for _, key := range b.resources.Keys() {
		if obj, ok := b.resources.Get(key); ok && marked(obj) && !slices.Contains(selected, key.Namespace) {
			return false
		}
	}
	return true
}

// wide says whether the box watches namespaces only to let go of their resources.
func (b *box) wide() bool {
	plan := b.plan.Load()
	selected := plan.Selection.Namespaces()
	return !plan.CleanupOnly && selected != nil && (b.namespaces == nil || len(b.namespaces) > len(selected))
}

// left tells that a resource is no longer held, where somebody may wait for that.
func (b *box) left() {
	if b.wide() {
		b.engine.config.Changed(b.name)
	}
}

// releaseAll lets go of every resource, or of as many as there is time for: those change by it, and whoever asks is told of
// each change. Those that are being deleted finish by themselves. It does not wait for the cache: a CRD that goes at the same
// time would keep it, and its caller, waiting for ever.
func (b *box) releaseAll(ctx context.Context, how ReleaseMode, f Farewell) (left []types.NamespacedName, err error) {
	if !b.resources.HasSynced() || how == ReleaseChildren && !b.inventory.Known() {
		return nil, ErrFilling
	}
	var errs []error
	var spent time.Duration
	for _, key := range b.resources.Keys() {
		obj, ok := b.resources.Get(key)
		if !ok || !marked(obj) && how != DeleteResources {
			continue
		}
		if spent > releaseSlice {
			left = append(left, key)
			continue
		}
		began := b.engine.config.Clock.Now()
		gone, err := b.release(ctx, obj, how, f)
		if err != nil {
			errs = append(errs, err) // its time does not count: it may be slow each time, and must not hold up the others
		} else {
			spent += b.engine.config.Clock.Since(began)
		}
		if !gone {
			left = append(left, key)
		}
	}
	slices.SortFunc(left, func(a, b types.NamespacedName) int { return cmp.Compare(a.String(), b.String()) })
	return left, errors.Join(errs...)
}

func (b *box) release(ctx context.Context, obj *unstructured.Unstructured, how ReleaseMode, f Farewell) (gone bool, err error) {
	switch {
	case obj.GetDeletionTimestamp() != nil:
		return false, nil // its own events bring it to its end
	case how == DeleteResources:
		return false, b.deleteResource(ctx, obj)
	case how == ReleaseChildren:
		if left, err := b.owners.DeleteChildren(ctx, obj); err != nil || left {
			return false, err
		}
	}
	obj, err = b.bid(ctx, obj, f)
	if err == nil {
		err = b.unmark(ctx, obj, b.plan.Load())
	}
	return err == nil, err
}

// unmark takes the marks off a resource. The API server refuses every apply to one that was applied in a version that its CRD
// has lost; then the finalizers alone go, which is what holds it.
func (b *box) unmark(ctx context.Context, obj *unstructured.Unstructured, plan *pipeline.Plan) error {
	finalizers, err := apply.Finalizers(ctx, obj, plan.Finalizers, b.formerFinalizers)
	if err != nil {
		return err
	}
	err = b.writer.Release(ctx, obj, finalizers)
	if !lostVersion(err) {
		return err
	}
	return b.writer.Finish(ctx, obj, finalizers)
}

// formerFinalizers are those that the kept revisions of the box name.
func (b *box) formerFinalizers(ctx context.Context) ([]string, error) {
	return b.engine.config.FinalizersOf(ctx, b.name)
}

// lostVersion says whether the API server refuses a write because the resource was applied in a version that its CRD has lost.
func lostVersion(err error) bool {
	return err != nil && strings.Contains(err.Error(), "request to convert CR to an invalid group/version")
}

// deleteResource deletes a resource, unless it was replaced since it was read.
func (b *box) deleteResource(ctx context.Context, obj *unstructured.Unstructured) error {
	uid := obj.GetUID()
	err := b.engine.dynamic.Resource(b.plan.Load().CRD.Resource).Namespace(obj.GetNamespace()).
		Delete(ctx, obj.GetName(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting %s %q: %w", obj.GetKind(), obj.GetName(), err)
	}
	return nil
}
