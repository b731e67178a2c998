package observe

// Who has read what: an index in both directions, so that a change finds the resources that have read it without a walk over all.

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// interest is something that a resource has read: one object by name, or those that a selector selects.
type interest struct {
	object

	selector labels.Selector // nil: one object
}

// object names an object that was read.
type object struct {
	kind            schema.GroupVersionKind
	namespace, name string
}

// selects says whether a selector selects an object.
func (i *interest) selects(obj *unstructured.Unstructured) bool {
	if obj == nil || i.selector == nil { // what has no selector is found by its name
		return false
	}
	return (i.namespace == "" || obj.GetNamespace() == i.namespace) && i.selector.Matches(labels.Set(obj.GetLabels()))
}

// readers are the keys of the resources that have read something.
type readers map[types.NamespacedName]bool

// interests are what the resources of a box have read, so that a change has them reconciled. The zero value has none.
type interests struct {
	mu        sync.RWMutex
	all       map[types.NamespacedName][]interest // guarded by mu
	named     map[object]readers                  // who has read one object; guarded by mu
	selecting map[schema.GroupVersionKind]readers // who has read a list; guarded by mu
}

// add notes one more interest of a resource.
func (i *interests) add(key types.NamespacedName, in interest) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.addLocked(key, in)
}

func (i *interests) addLocked(key types.NamespacedName, in interest) {
	if i.all == nil {
		i.all = map[types.NamespacedName][]interest{}
		i.named = map[object]readers{}
		i.selecting = map[schema.GroupVersionKind]readers{}
	}
	i.all[key] = append(i.all[key], in)
	if in.selector != nil {
		enter(i.selecting, in.kind, key)
		return
	}
	enter(i.named, in.object, key)
}

// replace forgets all interests of a resource but these.
func (i *interests) replace(key types.NamespacedName, these []interest) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, in := range i.all[key] {
		leave(i.selecting, in.kind, key)
		leave(i.named, in.object, key)
	}
	delete(i.all, key)
	for _, in := range these {
		i.addLocked(key, in)
	}
}

// of gives the resources that are interested in an object, as it was (an object that leaves a selection is a change) or as it is.
func (i *interests) of(kind schema.GroupVersionKind, old, obj *unstructured.Unstructured) []types.NamespacedName {
	i.mu.RLock()
	defer i.mu.RUnlock()
	found := readers{}
	for _, o := range []*unstructured.Unstructured{old, obj} {
		if o != nil {
			maps.Copy(found, i.named[object{kind: kind, namespace: o.GetNamespace(), name: o.GetName()}])
		}
	}
	for key := range i.selecting[kind] {
		if slices.ContainsFunc(i.all[key], func(in interest) bool { return in.kind == kind && (in.selects(old) || in.selects(obj)) }) {
			found[key] = true
		}
	}
	return slices.Collect(maps.Keys(found))
}

// in gives the resources that have read one object by its name.
func (i *interests) in(one object) []types.NamespacedName {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return slices.Collect(maps.Keys(i.named[one]))
}

func enter[K comparable](index map[K]readers, at K, key types.NamespacedName) {
	if index[at] == nil {
		index[at] = readers{}
	}
	index[at][key] = true
}

func leave[K comparable](index map[K]readers, at K, key types.NamespacedName) {
	delete(index[at], key)
	if len(index[at]) == 0 {
		delete(index, at)
	}
}
