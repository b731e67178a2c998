// Package inventory is what a box has made: the kinds of children that it watches, and the children of each resource, as the
// watch caches show them.
package inventory

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/rollback"
	"github.com/orkspace/orkestra/engine/watch"
)

// Schemas learn how the objects of a kind are made up.
type Schemas interface {
	// Learn reads the schema of a kind that Kubernetes itself does not have.
	Learn(ctx context.Context, kind schema.GroupVersionKind) error
	// Knows says that nothing is left to be learned of a kind.
	Knows(kind schema.GroupVersionKind) bool
}

// Inventory is that of one box. It is safe for concurrent use.
type Inventory struct {
	box      string
	plan     func() *pipeline.Plan
	children *watch.Children
	schemas  Schemas
	timeout  time.Duration
	kinds    atomic.Pointer[[]schema.GroupVersionKind]
}

var _ pipeline.Inventory = (*Inventory)(nil)

// New gives the inventory of a box, which has no kinds yet: see Set. plan gives the plan that the box runs; timeout is how
// long one cycle waits for a kind that is not known yet.
func New(box string, plan func() *pipeline.Plan, children *watch.Children, schemas Schemas, timeout time.Duration) *Inventory {
	i := &Inventory{box: box, plan: plan, children: children, schemas: schemas, timeout: timeout}
	i.kinds.Store(&[]schema.GroupVersionKind{})
	return i
}

// Set says which kinds of children the box watches: those of its plan, and those that it has made children of before (managed), whose
// leftover children have to be found to be pruned. It releases the informers that are no longer needed.
func (i *Inventory) Set(plan *pipeline.Plan, managed []schema.GroupVersionKind) {
	kinds := slices.Clone(plan.ChildKinds)
	for _, k := range managed {
		if !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	i.kinds.Store(&kinds)
	for _, k := range i.children.Acquired(i.box) {
		if !slices.Contains(watched(plan, kinds), k) {
			i.children.Release(i.box, k)
		}
	}
}

// watched are the kinds of which a plan needs an informer: those of children, and that of snapshots.
func watched(plan *pipeline.Plan, children []schema.GroupVersionKind) []schema.GroupVersionKind {
	if plan.Rollback == nil || slices.Contains(children, rollback.Kind) {
		return children
	}
	return append(slices.Clone(children), rollback.Kind)
}

// Counts says whether an object of that kind may be a child. ControllerRevisions may be watched for snapshots alone, which are no
// children: their changes wake nobody.
func (i *Inventory) Counts(kind schema.GroupVersionKind) bool {
	return kind != rollback.Kind || slices.Contains(i.Kinds(), kind)
}

// Kinds implements pipeline.Inventory.
func (i *Inventory) Kinds() []schema.GroupVersionKind { return *i.kinds.Load() }

// Owned implements pipeline.Inventory. Labels alone prove nothing: an object with our label that Orkestra never applied is a copy that
// somebody made of a child, and one in a place where the box makes none was forged. Neither counts as a child, so that neither is ever
// deleted.
func (i *Inventory) Owned(kind schema.GroupVersionKind, resource *unstructured.Unstructured) []*unstructured.Unstructured {
	plan := i.plan()
	return slices.DeleteFunc(i.WrittenFor(kind, resource.GetUID()), func(child *unstructured.Unstructured) bool {
		return !plan.MayHaveMade(resource, child)
	})
}

// Versions implements stage.Reader: those that Owned gives, without unpacking them. Most looks at a resource find that nothing has changed.
func (i *Inventory) Versions(kind schema.GroupVersionKind, resource *unstructured.Unstructured) iter.Seq2[types.UID, string] {
	return func(yield func(types.UID, string) bool) {
		plan := i.plan()
		for _, child := range i.children.Heads(kind, resource.GetUID()) {
			uid, version, namespace := child.Head()
			if !child.ManagedBy(v1alpha1.FieldManager) || kind == rollback.Kind && rollback.Is(child.Unpack()) || !plan.MayHaveMadeIn(resource, namespace) {
				continue
			}
			if !yield(uid, version) {
				return
			}
		}
	}
}

// WrittenFor gives all objects that are labeled as children of a resource and were applied by Orkestra, in any namespace. Snapshots
// are not among them.
func (i *Inventory) WrittenFor(kind schema.GroupVersionKind, resource types.UID) []*unstructured.Unstructured {
	return slices.DeleteFunc(i.children.Owned(kind, resource), func(child *unstructured.Unstructured) bool {
		return !watch.OursByFields(child) || rollback.Is(child)
	})
}

// Made goes over the children of a kind that the box has, in no order.
func (i *Inventory) Made(kind schema.GroupVersionKind) iter.Seq[*unstructured.Unstructured] {
	return i.children.MadeBy(kind, i.box)
}

// Unused gives the watched kinds that need not be watched any more: the plan does not make them, the box has no child of them, and no
// resource has one that a former box of another name has made.
func (i *Inventory) Unused(resources *watch.Resources) []schema.GroupVersionKind {
	plan := i.plan()
	has := func(kind schema.GroupVersionKind) bool {
		return slices.ContainsFunc(resources.Keys(), func(key types.NamespacedName) bool {
			obj, ok := resources.Get(key)
			return ok && len(i.Owned(kind, obj)) > 0
		})
	}
	return slices.DeleteFunc(slices.Clone(i.Kinds()), func(kind schema.GroupVersionKind) bool {
		return slices.Contains(plan.ChildKinds, kind) || i.children.OfBox(kind, i.box) > 0 || has(kind)
	})
}

// Known says that all children of all kinds are known.
func (i *Inventory) Known() bool {
	return !slices.ContainsFunc(i.Kinds(), func(kind schema.GroupVersionKind) bool { return !i.children.Complete(i.box, kind) })
}

// Fill begins to watch all kinds, and waits for each. A kind that is not served is no error here: Refill asks for it again.
func (i *Inventory) Fill(ctx context.Context) {
	for _, kind := range watched(i.plan(), i.Kinds()) {
		if err := i.acquire(ctx, kind); err != nil {
			log.FromContext(ctx).V(1).Info(notWatched, "gvk", kind.String(), "reason", err.Error())
		}
	}
}

const notWatched = "Kind can't be watched yet"

// Refill asks again for kinds that were not served before. It costs nothing where all are known. It fails where the API server can't
// say whether there is such a kind, or which children there are: nothing may be decided without knowing them, since a plan would
// create what exists already, and leave behind what should be deleted.
func (i *Inventory) Refill(ctx context.Context) error {
	for _, kind := range watched(i.plan(), i.Kinds()) {
		if i.children.Complete(i.box, kind) && i.schemas.Knows(kind) {
			continue
		}
		bounded, cancel := context.WithTimeout(ctx, i.timeout)
		err := i.acquire(bounded, kind)
		cancel()
		switch {
		case err == nil:
		case meta.IsNoMatchError(err), errors.Is(err, watch.ErrNotServed):
			// A kind that is not installed has no children. The stage that makes some fails, and tells the user.
			log.FromContext(ctx).V(1).Info(notWatched, "gvk", kind.String(), "reason", err.Error())
		default:
			return err
		}
	}
	return nil
}

// Add has kinds watched besides those of the plan that runs, until Set, and says whether there were new ones. A rollback makes
// children of kinds that the current plan may not know.
func (i *Inventory) Add(kinds []schema.GroupVersionKind) bool {
	known := i.Kinds()
	missing := slices.DeleteFunc(slices.Clone(kinds), func(k schema.GroupVersionKind) bool { return slices.Contains(known, k) })
	if len(missing) == 0 {
		return false
	}
	all := slices.Concat(known, missing)
	i.kinds.Store(&all)
	return true
}

// acquire has a kind watched for the box, and learns its schema, by which its lists are compared.
func (i *Inventory) acquire(ctx context.Context, kind schema.GroupVersionKind) error {
	if err := i.children.Acquire(ctx, i.box, kind); err != nil {
		return err
	}
	return i.schemas.Learn(ctx, kind)
}

// Release lets go of everything: the box ends.
func (i *Inventory) Release() { i.children.Release(i.box) }
