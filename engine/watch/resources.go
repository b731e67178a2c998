package watch

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"
)

const uidIndex = "uid"

// ResourceEvents are called for every change of a resource, one after the other for one resource. They must return quickly (queue, and
// no more), since a slow one delays all others. What they get must not be changed. Each may be nil.
type ResourceEvents struct {
	// Add is called for a resource that appears; initial says that it was there when the informer started.
	Add func(obj *unstructured.Unstructured, initial bool)
	// Update is called for a resource that has another resourceVersion than before.
	Update func(old, obj *unstructured.Unstructured)
	// Delete is called, with its last state, for a resource that is gone.
	Delete func(obj *unstructured.Unstructured)
	// Missed is called, with the newest state that is known, for a resource that was deleted while the watch was broken: anything may
	// have happened to it after that state. If another one was created under its name meanwhile, Add is called after that. nil: Delete
	// is called.
	Missed func(obj *unstructured.Unstructured)
}

// Resources is the informer of one box's resources: of one kind, in all namespaces or in some. Of the box's own resources it selects no
// labels, so that one that leaves the selection of its box is seen as it is then; of objects of others it has those only that the API server
// selects, and one that leaves the selection is deleted for it. What it hands out is shared memory and must not be changed; it has
// no managed fields and not the annotation of kubectl apply. All methods may be called at the same time.
type Resources struct {
	informers map[string]*informer // by namespace; all namespaces are ""
	running   sync.WaitGroup
}

// NewResources makes an informer of the resources in the namespaces, or in all if none is given. Cluster-scoped resources
// are in none. The selector is one of labels, which the API server evaluates; empty: all are there. It does nothing until Start.
func NewResources(config Config, resource schema.GroupVersionResource, namespaces []string, selector string, events ResourceEvents) *Resources {
	if len(namespaces) == 0 || slices.Contains(namespaces, "") {
		namespaces = []string{""}
	}
	r := &Resources{informers: map[string]*informer{}}
	for namespace := range sets.New(namespaces...) {
		r.informers[namespace] = newInformer(config, informerOptions{
			name:      resource.GroupResource().String(),
			resource:  resource,
			namespace: namespace,
			selector:  selector,
			indexers:  cache.Indexers{uidIndex: byUID},
			transform: transform(trimResource),
			handler:   events.handler(),
		})
	}
	return r
}

// Start starts the informer, once; it lives until the context ends or Stop is called. After Stop it does nothing.
func (r *Resources) Start(ctx context.Context) {
	for _, i := range r.informers {
		i.start(ctx, &r.running)
	}
}

// WaitForSync returns when all resources are known and their Add calls have returned. The error is the context's, with what
// the API server said if it said something, or ErrStopped.
func (r *Resources) WaitForSync(ctx context.Context) error {
	for _, namespace := range slices.Sorted(maps.Keys(r.informers)) {
		if err := r.informers[namespace].wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// HasSynced says that WaitForSync would return at once.
func (r *Resources) HasSynced() bool {
	for _, i := range r.informers {
		if !i.hasSynced() {
			return false
		}
	}
	return true
}

// Stop returns when the informer, its goroutines and calls of events are gone. It can be repeated, and must not be called by
// an event.
func (r *Resources) Stop() {
	stopAll(slices.Collect(maps.Values(r.informers)))
	r.running.Wait()
}

// Get gives the resource with a key.
func (r *Resources) Get(key types.NamespacedName) (*unstructured.Unstructured, bool) {
	i := r.informer(key.Namespace)
	if i == nil {
		return nil, false
	}
	obj := i.get(cache.NewObjectName(key.Namespace, key.Name).String())
	return obj, obj != nil
}

// ByUID gives the resource with a UID.
func (r *Resources) ByUID(uid types.UID) (*unstructured.Unstructured, bool) {
	for _, i := range r.informers {
		if objects := i.byIndex(uidIndex, string(uid)); len(objects) > 0 {
			return objects[0], true
		}
	}
	return nil, false
}

// Keys gives the keys of all resources, by namespace and name.
func (r *Resources) Keys() []types.NamespacedName {
	keys := make([]types.NamespacedName, 0, r.Len())
	for _, i := range r.informers {
		for _, key := range i.shared.GetStore().ListKeys() {
			if name, err := cache.ParseObjectName(key); err == nil { // the store made it
				keys = append(keys, name.AsNamespacedName())
			}
		}
	}
	slices.SortFunc(keys, func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return keys
}

// Len gives the number of resources.
func (r *Resources) Len() int {
	n := 0
	for _, i := range r.informers {
		n += len(i.shared.GetStore().ListKeys())
	}
	return n
}

// Seen says that what Get gives for the key is as new as the resourceVersion, which must be one of this kind. A version that
// cannot be compared, and any version in a namespace that is not watched, is seen: waiting for it would never end.
func (r *Resources) Seen(key types.NamespacedName, resourceVersion string) bool {
	i := r.informer(key.Namespace)
	return i == nil || !newer(resourceVersion, i.seen())
}

func (r *Resources) informer(namespace string) *informer {
	if i := r.informers[""]; i != nil {
		return i
	}
	return r.informers[namespace]
}

func (e ResourceEvents) handler() handler {
	add, update, remove, missed := e.Add, e.Update, e.Delete, e.Missed
	if add == nil {
		add = func(*unstructured.Unstructured, bool) {}
	}
	if update == nil {
		update = func(_, _ *unstructured.Unstructured) {}
	}
	if remove == nil {
		remove = func(*unstructured.Unstructured) {}
	}
	if missed == nil {
		missed = remove
	}
	return handler{
		add: add,
		update: func(old, obj *unstructured.Unstructured) {
			// A relist shows a resource that was deleted and created again as an update.
			if old.GetUID() == obj.GetUID() {
				update(old, obj)
				return
			}
			missed(old)
			add(obj, false)
		},
		remove: remove,
		missed: missed,
	}
}

func byUID(item any) ([]string, error) {
	obj := objectOf(item)
	if obj == nil {
		return nil, nil
	}
	return []string{string(obj.GetUID())}, nil
}
