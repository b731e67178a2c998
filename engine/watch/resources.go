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

	"github.com/orkspace/orkestra/engine/packed"
)

const uidIndex = "uid"

// ResourceEvents are called for every change of a resource, one after the other for one resource. They must return quickly (queue, and
// no more), since a slow one delays all others. What they get must not be changed. Each may be nil.
type ResourceEvents struct {
	// Add is called for a resource that appears; initial says that it was there when the informer started.
	Add func(obj *unstructured.Unstructured, initial bool)
	// Update is called for a resource that has another resourceVersion than before.
	Update func(obj *unstructured.Unstructured)
	// Delete is called, with its last state, for a resource that is gone. One that was never read has its metadata alone, and no kind.
	Delete func(obj *unstructured.Unstructured)
	// Missed is called, with the newest state that is known, for a resource that was deleted while the watch was broken: anything may
	// have happened to it after that state. If another one was created under its name meanwhile, Add is called after that. nil: Delete
	// is called.
	Missed func(obj *unstructured.Unstructured)
	// Troubled is called when what Failing says has changed.
	Troubled func()
}

// Resources is the informer of one box's resources: of one kind, in all namespaces or in some. Of the box's own resources it selects
// none, so that one that leaves the selection of its box is seen as it is then; of objects of others it has those only that are
// selected, and one that leaves the selection is deleted for it. What it hands out is shared memory and must not be changed; it has
// no managed fields and not the annotation of kubectl apply. All methods may be called at the same time.
type Resources struct {
	informers map[string]*informer // by namespace; all namespaces are ""
	wholes    *wholes              // those whose heads the informers have; nil: they have whole objects
	running   sync.WaitGroup
}

// NewResources makes an informer of the resources in the namespaces, or in all if none is given. Cluster-scoped resources
// are in none. It does nothing until Start.
func NewResources(config Config, resource schema.GroupVersionResource, namespaces []string, selection Selection, events ResourceEvents) *Resources {
	if len(namespaces) == 0 || slices.Contains(namespaces, "") {
		namespaces = []string{""}
	}
	r := &Resources{informers: map[string]*informer{}}
	handler := events.handler()
	if selection.Annotations != nil {
		r.wholes = newWholes(config, resource, selection, events)
		handler = r.wholes.handler()
	}
	for namespace := range sets.New(namespaces...) {
		r.informers[namespace] = newInformer(config, informerOptions{
			name:      resource.GroupResource().String(),
			resource:  resource,
			namespace: namespace,
			selector:  selection.labels(),
			annotated: selection.Annotations,
			indexers:  cache.Indexers{uidIndex: byUID},
			trim:      trimResource,
			handler:   handler,
		})
	}
	return r
}

// Start starts the informer, once; it lives until the context ends or Stop is called. After Stop it does nothing.
func (r *Resources) Start(ctx context.Context) {
	if r.wholes != nil {
		r.wholes.start(ctx, &r.running, r.begun())
	}
	for _, i := range r.informers {
		i.start(ctx, &r.running)
	}
}

// begun are closed when the informers have told what was there at first.
func (r *Resources) begun() (all []<-chan struct{}) {
	for _, i := range r.informers {
		all = append(all, i.synced)
	}
	return all
}

// WaitForSync returns when all resources are known and their Add calls have returned. The error is the context's, with what
// the API server said if it said something, or ErrStopped.
func (r *Resources) WaitForSync(ctx context.Context) error {
	for _, namespace := range slices.Sorted(maps.Keys(r.informers)) {
		if err := r.informers[namespace].wait(ctx); err != nil {
			return err
		}
	}
	if r.wholes != nil {
		return r.wholes.wait(ctx)
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
	return r.wholes == nil || closed(r.wholes.filled)
}

// Failing says which object can't be read although it is selected, and why; empty: all can. Only objects that are selected by annotations are
// read one by one.
func (r *Resources) Failing() string {
	if r.wholes == nil {
		return ""
	}
	return r.wholes.failing()
}

// Stop returns when the informer, its goroutines and calls of events are gone. It can be repeated, and must not be called by
// an event.
func (r *Resources) Stop() {
	if r.wholes != nil {
		r.wholes.stop()
	}
	stopAll(slices.Collect(maps.Values(r.informers)))
	r.running.Wait()
}

// Get gives the resource with a key.
func (r *Resources) Get(key types.NamespacedName) (*unstructured.Unstructured, bool) {
	i := r.informer(key.Namespace)
	if i == nil {
		return nil, false
	}
	get := i.get
	if r.wholes != nil {
		get = r.wholes.get
	}
	obj := get(cache.NewObjectName(key.Namespace, key.Name).String()).Unpack()
	return obj, obj != nil
}

// Key gives the key of the resource with a UID, also of one that was not read yet.
func (r *Resources) Key(uid types.UID) (key types.NamespacedName, found bool) {
	obj := r.withUID(uid)
	return types.NamespacedName{Namespace: obj.Namespace(), Name: obj.Name()}, obj != nil
}

func (r *Resources) withUID(uid types.UID) *packed.Object {
	if r.wholes != nil {
		return r.wholes.withUID(uid)
	}
	for _, i := range r.informers {
		if objects := i.byIndex(uidIndex, string(uid)); len(objects) > 0 {
			return objects[0]
		}
	}
	return nil
}

// Keys gives the keys of all resources, by namespace and name.
func (r *Resources) Keys() []types.NamespacedName {
	stored := r.stored()
	keys := make([]types.NamespacedName, 0, len(stored))
	for _, key := range stored {
		if name, err := cache.ParseObjectName(key); err == nil { // a store made it
			keys = append(keys, name.AsNamespacedName())
		}
	}
	slices.SortFunc(keys, func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return keys
}

// Unread gives the metadata of those that are selected and have not been read yet, which Keys and Get do not give, in no order.
func (r *Resources) Unread() (heads []*unstructured.Unstructured) {
	if w := r.wholes; w != nil {
		w.mu.RLock()
		defer w.mu.RUnlock()
		for _, one := range w.all {
			if one.obj == nil && one.open {
				heads = append(heads, one.head.Unpack())
			}
		}
	}
	return heads
}

// Len gives the number of resources.
func (r *Resources) Len() int { return len(r.stored()) }

// stored gives the keys of all resources, in no order.
func (r *Resources) stored() (keys []string) {
	if r.wholes != nil {
		return r.wholes.keys()
	}
	for _, i := range r.informers {
		keys = append(keys, i.shared.GetStore().ListKeys()...)
	}
	return keys
}

// Seen says that what Get gives for the key is as new as the resourceVersion, which must be one of this kind. A version that
// cannot be compared, and any version in a namespace that is not watched, is seen: waiting for it would never end.
func (r *Resources) Seen(key types.NamespacedName, resourceVersion string) bool {
	i := r.informer(key.Namespace)
	if i != nil && r.wholes != nil {
		return r.wholes.seen(i, cache.NewObjectName(key.Namespace, key.Name).String(), resourceVersion)
	}
	return i == nil || !newer(resourceVersion, i.seen())
}

func (r *Resources) informer(namespace string) *informer {
	if i := r.informers[""]; i != nil {
		return i
	}
	return r.informers[namespace]
}

// complete gives the events with none that is nil.
func (e ResourceEvents) complete() ResourceEvents {
	if e.Add == nil {
		e.Add = func(*unstructured.Unstructured, bool) {}
	}
	if e.Update == nil {
		e.Update = func(*unstructured.Unstructured) {}
	}
	if e.Delete == nil {
		e.Delete = func(*unstructured.Unstructured) {}
	}
	if e.Missed == nil {
		e.Missed = e.Delete
	}
	if e.Troubled == nil {
		e.Troubled = func() {}
	}
	return e
}

func (e ResourceEvents) handler() handler {
	e = e.complete()
	return handler{
		add: func(obj *packed.Object, initial bool) { e.Add(obj.Unpack(), initial) },
		update: func(old, obj *packed.Object) {
			// A relist shows a resource that was deleted and created again as an update.
			if old.UID() == obj.UID() {
				e.Update(obj.Unpack())
				return
			}
			e.Missed(old.Unpack())
			e.Add(obj.Unpack(), false)
		},
		remove: func(obj *packed.Object) { e.Delete(obj.Unpack()) },
		missed: func(obj *packed.Object) { e.Missed(obj.Unpack()) },
	}
}

func byUID(item any) ([]string, error) {
	return []string{string(objectOf(item).UID())}, nil
}
