package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/watch"
)

// observer reads for one resource what its box does not own. It notes what it is asked before it answers, so that no change
// in between is missed.
type observer struct {
	*box

	resource types.NamespacedName
	asked    *[]interest
}

var _ pipeline.Observer = observer{}

// interest is something that a resource has read: one object by name, or those that a selector selects.
type interest struct {
	kind            schema.GroupVersionKind
	namespace, name string
	selector        labels.Selector // nil: one object
}

// in says whether a selector selects an object.
func (i *interest) in(obj *unstructured.Unstructured) bool {
	switch {
	case obj == nil:
		return false
	case i.selector == nil:
		return false // found by its name
	default:
		return (i.namespace == "" || obj.GetNamespace() == i.namespace) && i.selector.Matches(labels.Set(obj.GetLabels()))
	}
}

// interests are what the resources of a box have read, so that a change queues them.
type interests struct {
	mu        sync.RWMutex
	all       map[types.NamespacedName][]interest                       // guarded by mu
	named     map[objectName]map[types.NamespacedName]bool              // who has read one object; guarded by mu
	selecting map[schema.GroupVersionKind]map[types.NamespacedName]bool // who has read a list; guarded by mu
}

// objectName names an object that was read.
type objectName struct {
	kind            schema.GroupVersionKind
	namespace, name string
}

// add notes one more interest of a resource.
func (i *interests) add(key types.NamespacedName, in interest) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.note(key, in)
}

// note needs the lock.
func (i *interests) note(key types.NamespacedName, in interest) {
	if i.all == nil {
		i.all = map[types.NamespacedName][]interest{}
		i.named = map[objectName]map[types.NamespacedName]bool{}
		i.selecting = map[schema.GroupVersionKind]map[types.NamespacedName]bool{}
	}
	i.all[key] = append(i.all[key], in)
	if in.selector != nil {
		enter(i.selecting, in.kind, key)
		return
	}
	enter(i.named, objectName{kind: in.kind, namespace: in.namespace, name: in.name}, key)
}

func enter[K comparable](index map[K]map[types.NamespacedName]bool, at K, key types.NamespacedName) {
	if index[at] == nil {
		index[at] = map[types.NamespacedName]bool{}
	}
	index[at][key] = true
}

func leave[K comparable](index map[K]map[types.NamespacedName]bool, at K, key types.NamespacedName) {
	delete(index[at], key)
	if len(index[at]) == 0 {
		delete(index, at)
	}
}

// replace forgets all interests of a resource but these.
func (i *interests) replace(key types.NamespacedName, these []interest) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, in := range i.all[key] {
		leave(i.selecting, in.kind, key)
		leave(i.named, objectName{kind: in.kind, namespace: in.namespace, name: in.name}, key)
	}
	delete(i.all, key)
	for _, in := range these {
		i.note(key, in)
	}
}

// of gives the resources that are interested in an object, as it was or as it is.
func (i *interests) of(kind schema.GroupVersionKind, old, obj *unstructured.Unstructured) []types.NamespacedName {
	i.mu.RLock()
	defer i.mu.RUnlock()
	found := map[types.NamespacedName]bool{}
	for _, o := range []*unstructured.Unstructured{old, obj} {
		if o != nil {
			maps.Copy(found, i.named[objectName{kind: kind, namespace: o.GetNamespace(), name: o.GetName()}])
		}
	}
	for key := range i.selecting[kind] {
		if slices.ContainsFunc(i.all[key], func(in interest) bool { return in.kind == kind && (in.in(old) || in.in(obj)) }) {
			found[key] = true
		}
	}
	return slices.Collect(maps.Keys(found))
}

// Get implements pipeline.Observer.
func (o observer) Get(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	o.note(interest{kind: kind, namespace: namespace, name: name})
	return o.box.Get(kind, namespace, name)
}

// Select implements pipeline.Observer.
func (o observer) Select(kind schema.GroupVersionKind, namespace string, selector labels.Selector) []*unstructured.Unstructured {
	o.note(interest{kind: kind, namespace: namespace, selector: selector})
	return o.box.Select(kind, namespace, selector)
}

func (o observer) note(in interest) {
	*o.asked = append(*o.asked, in)
	o.interests.add(o.resource, in)
}

// Observe implements pipeline.Observer.
func (b *box) Observe(ctx context.Context, kind schema.GroupVersionKind) error {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	err := b.engine.observed.Acquire(ctx, b.name, kind)
	if errors.Is(err, watch.ErrNotServed) {
		return &meta.NoKindMatchError{GroupKind: kind.GroupKind(), SearchedVersions: []string{kind.Version}}
	}
	return err
}

// Get implements pipeline.Observer.
func (b *box) Get(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	return b.engine.observed.Get(kind, namespace, name)
}

// Select implements pipeline.Observer.
func (b *box) Select(kind schema.GroupVersionKind, namespace string, selector labels.Selector) []*unstructured.Unstructured {
	return b.engine.observed.Select(kind, namespace, selector)
}

// Box implements pipeline.Observer.
func (b *box) Box(name string) schema.GroupVersionKind {
	other := b.engine.box(name)
	if other == nil {
		return schema.GroupVersionKind{}
	}
	return other.plan.Load().CRD.Kind
}

// setObserved lets go of the observed kinds that a plan no longer reads.
func (b *box) setObserved(plan *pipeline.Plan) {
	served := b.engine.servedBy(plan.CrossBoxes)
	for _, kind := range b.engine.observed.Acquired(b.name) {
		if !slices.Contains(plan.ObservedKinds, kind) && !slices.Contains(served, kind) {
			b.engine.observed.Release(b.name, kind)
		}
	}
}

// servedBy gives the kinds that boxes serve, of those that run.
func (e *Engine) servedBy(boxes []string) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, name := range boxes {
		if b := e.box(name); b != nil {
			kinds = append(kinds, b.plan.Load().CRD.Kind)
		}
	}
	return kinds
}

// observedChanged queues the resources that have read an object that changed, or that its name or labels select now.
func (e *Engine) observedChanged(kind schema.GroupVersionKind, old, obj *unstructured.Unstructured) {
	e.monitors.Changed(kind, old, obj)
	for _, b := range e.all() {
		for _, key := range b.interests.of(kind, old, obj) {
			b.queue.Enqueue(0, key)
		}
	}
}

// boxChanged queues the resources of the boxes that read those of a box that starts, stops, or serves another kind.
func (e *Engine) boxChanged(name string) {
	for _, b := range e.all() {
		if slices.Contains(b.plan.Load().CrossBoxes, name) {
			b.sweep()
		}
	}
}
