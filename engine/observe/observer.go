// Package observe reads for boxes the objects that they do not own, and remembers which of their resources have read which objects:
// those are reconciled when one changes.
package observe

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/watch"
)

// Boxes says what boxes serve.
type Boxes interface {
	// KindOf gives the kind that a box serves; an empty one while it does not run.
	KindOf(box string) schema.GroupVersionKind
}

// Sources are what all boxes read from.
type Sources struct {
	// Objects are informers of kinds that boxes do not own.
	Objects *watch.Observed
	// Boxes that run.
	Boxes Boxes
	// Dependencies say how boxes fare.
	Dependencies *Dependencies
	// Rights says what the box may read; those of the manager: everything that its caches may hold.
	Rights access.Holder
	// Mapper resolves kinds.
	Mapper meta.RESTMapper
	// Timeout is how long one resource waits for a kind that is not known yet.
	Timeout time.Duration
}

// Observer reads for one box. Only what is read through a Reading is remembered. It is safe for concurrent use.
type Observer struct {
	box       string
	sources   Sources
	interests interests
	withheld  withheld
}

var _ stage.Observer = (*Observer)(nil)

// New gives the observer of a box.
func New(box string, sources Sources) *Observer { return &Observer{box: box, sources: sources} }

// Observe implements stage.Observer. A kind that was served once and is gone is reported like one that was never installed.
func (o *Observer) Observe(ctx context.Context, kind schema.GroupVersionKind) error {
	ctx, cancel := context.WithTimeout(ctx, o.sources.Timeout)
	defer cancel()
	err := o.sources.Objects.Acquire(ctx, o.box, kind)
	if errors.Is(err, watch.ErrNotServed) {
		return &meta.NoKindMatchError{GroupKind: kind.GroupKind(), SearchedVersions: []string{kind.Version}}
	}
	return err
}

// Get implements stage.Observer.
func (o *Observer) Get(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	return o.sources.Objects.Get(kind, namespace, name)
}

// Select implements stage.Observer.
func (o *Observer) Select(kind schema.GroupVersionKind, namespace string, selector labels.Selector) []*unstructured.Unstructured {
	return o.sources.Objects.Select(kind, namespace, selector)
}

// Box implements stage.Observer.
func (o *Observer) Box(name string) schema.GroupVersionKind { return o.sources.Boxes.KindOf(name) }

// Dependency implements stage.Observer.
func (o *Observer) Dependency(name string) stage.DependencyState {
	return o.sources.Dependencies.Of(name)
}

// Retain releases the informers of all kinds but these, and those that these boxes serve.
func (o *Observer) Retain(kinds []schema.GroupVersionKind, boxes []string) {
	for _, kind := range o.sources.Objects.Acquired(o.box) {
		served := slices.ContainsFunc(boxes, func(box string) bool { return o.Box(box) == kind })
		if !served && !slices.Contains(kinds, kind) {
			o.sources.Objects.Release(o.box, kind)
		}
	}
}

// Release lets go of all kinds.
func (o *Observer) Release() { o.sources.Objects.Release(o.box) }

// Readers are the resources that have read an object that changed, or that its name or labels select now.
func (o *Observer) Readers(kind schema.GroupVersionKind, old, obj *unstructured.Unstructured) []types.NamespacedName {
	return o.interests.of(kind, old, obj)
}

// Forget forgets what a resource has read.
func (o *Observer) Forget(key types.NamespacedName) {
	o.interests.replace(key, nil)
	o.withheld.replace(key, nil)
}

// Reading reads for one cycle of one resource. It notes each interest before it reads, so that a change in between queues the resource.
// It is used by one goroutine.
type Reading struct {
	*Observer

	key     types.NamespacedName
	asked   []interest
	refused []access.Right
}

var _ stage.Observer = (*Reading)(nil)

// For begins a cycle of a resource.
func (o *Observer) For(key types.NamespacedName) *Reading { return &Reading{Observer: o, key: key} }

// Get implements stage.Observer.
func (r *Reading) Get(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	r.note(interest{object: object{kind: kind, namespace: namespace, name: name}})
	return r.Observer.Get(kind, namespace, name)
}

// Select implements stage.Observer.
func (r *Reading) Select(kind schema.GroupVersionKind, namespace string, selector labels.Selector) []*unstructured.Unstructured {
	r.note(interest{object: object{kind: kind, namespace: namespace}, selector: selector})
	return r.Observer.Select(kind, namespace, selector)
}

// Dependency implements stage.Observer.
func (r *Reading) Dependency(name string) stage.DependencyState {
	r.note(interest{object: dependencyOf(name)})
	return r.Observer.Dependency(name)
}

// note adds an interest to those of the former cycle, which are kept until End: until then, this cycle has not read everything.
func (r *Reading) note(in interest) {
	r.asked = append(r.asked, in)
	r.interests.add(r.key, in)
}

// Refused says whether the cycle has asked for something that it may not read.
func (r *Reading) Refused() bool { return len(r.refused) > 0 }

// End replaces what is known of former cycles by what this one has read, and says whether other rights to read are missing by now. A resource
// that is Active does not wait for its dependencies any more, so that a change of their states need not wake it.
func (r *Reading) End(active bool) (changed bool) {
	if active {
		r.asked = slices.DeleteFunc(r.asked, func(in interest) bool { return in.selector == nil && in.object == dependencyOf(in.name) })
	}
	r.interests.replace(r.key, r.asked)
	return r.withheld.replace(r.key, r.refused)
}
