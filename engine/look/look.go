// Package look shows what the informers of running boxes hold to those who only look: nothing that is asked here causes a request.
package look

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/watch"
)

// Box is one that runs.
type Box struct {
	// Plan is the one that it runs now.
	Plan func() *pipeline.Plan
	// Resources are those of the box.
	Resources *watch.Resources
}

// Caches are those of all boxes that run. It is safe for concurrent use. What it hands out is shared memory and must not be changed.
type Caches struct {
	children *watch.Children
	observed []*watch.Observed

	mu      sync.RWMutex
	boxes   map[string]*Box                                 // guarded by mu
	changed func(box string, resource types.NamespacedName) // guarded by mu; nil: nobody listens
}

// New gives what shows these informers, without a box.
func New(children *watch.Children, observed ...*watch.Observed) *Caches {
	return &Caches{children: children, observed: observed, boxes: map[string]*Box{}}
}

// Add shows a box that begins to run. One of this name that was there before is not shown any more.
func (c *Caches) Add(name string, box *Box) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.boxes[name] = box
}

// Drop ends that a box is shown.
func (c *Caches) Drop(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.boxes, name)
}

// Box gives a box; nil: it does not run here.
func (c *Caches) Box(name string) *Box {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.boxes[name]
}

// Follow has somebody told of each resource that changes, goes, or has a child that does, in place of who was told before. Informers call it, so it
// must return quickly. What has changed is in the caches when it is called.
func (c *Caches) Follow(changed func(box string, resource types.NamespacedName)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed = changed
}

// Changed tells that a resource of a box, or a child of it, has changed.
func (c *Caches) Changed(box string, resource types.NamespacedName) {
	c.mu.RLock()
	changed := c.changed
	c.mu.RUnlock()
	if changed != nil {
		changed(box, resource)
	}
}

// Events tells of the changes of a box's resources, behind what the box itself does with them.
func (c *Caches) Events(box string, of watch.ResourceEvents) watch.ResourceEvents {
	told := func(next func(*unstructured.Unstructured)) func(*unstructured.Unstructured) {
		return func(obj *unstructured.Unstructured) {
			next(obj)
			c.Changed(box, client.ObjectKeyFromObject(obj))
		}
	}
	add := of.Add
	of.Add = func(obj *unstructured.Unstructured, initial bool) {
		add(obj, initial)
		c.Changed(box, client.ObjectKeyFromObject(obj))
	}
	of.Update, of.Delete, of.Missed = told(of.Update), told(of.Delete), told(of.Missed)
	return of
}

// Object gives an object of a kind that boxes watch. known is false where it is not there and no box watches all objects of the kind: then nobody
// knows whether there is one.
func (c *Caches) Object(kind schema.GroupVersionKind, namespace, name string) (obj *unstructured.Unstructured, known bool) {
	for _, box := range c.of(kind) {
		if obj, found := box.Resources.Get(types.NamespacedName{Namespace: namespace, Name: name}); found {
			return obj, true
		}
		known = known || box.Resources.HasSynced()
	}
	if obj, found := c.children.Get(kind, namespace, name); found {
		return obj, true
	}
	for _, pool := range c.observed {
		if obj := pool.Get(kind, namespace, name); obj != nil {
			return obj, true
		}
		known = known || c.complete(pool, kind)
	}
	return nil, known
}

// Objects gives those of a namespace, or of all where it is empty, that the labels select, of a kind that boxes read without owning it. known is
// false where no box does.
func (c *Caches) Objects(kind schema.GroupVersionKind, namespace string, selector labels.Selector) (objects []*unstructured.Unstructured, known bool) {
	for _, pool := range c.observed {
		if c.complete(pool, kind) {
			return pool.Select(kind, namespace, selector), true
		}
	}
	return nil, false
}

// Children gives those of an owner, of one kind, by namespace and name. known is false where no box watches all children of the kind.
func (c *Caches) Children(kind schema.GroupVersionKind, owner types.UID) (children []*unstructured.Unstructured, known bool) {
	return c.children.Owned(kind, owner), c.complete(c.children, kind)
}

// of gives the boxes whose resources are of a kind.
func (c *Caches) of(kind schema.GroupVersionKind) (all []*Box) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, box := range c.boxes {
		if box.Plan().CRD.Kind == kind {
			all = append(all, box)
		}
	}
	return all
}

// pool says whether a box has acquired a kind, and all objects of it are known.
type pool interface {
	Complete(box string, kind schema.GroupVersionKind) bool
}

func (c *Caches) complete(p pool, kind schema.GroupVersionKind) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for name := range c.boxes {
		if p.Complete(name, kind) {
			return true
		}
	}
	return false
}
