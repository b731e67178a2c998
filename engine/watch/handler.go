package watch

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/orkspace/orkestra/engine/packed"
)

// handler passes the events of an informer to functions, but for updates that change nothing: a relist makes one for every object.
type handler struct {
	add    func(obj *packed.Object, initial bool)
	update func(old, obj *packed.Object)
	remove func(obj *packed.Object)
	// missed is called in place of remove where the delete event was missed, so that obj may be long out of date; nil: remove is called.
	missed func(obj *packed.Object)
}

var _ cache.ResourceEventHandler = handler{}

// OnAdd is called for an object that was not in the store.
func (h handler) OnAdd(item any, initial bool) {
	if obj := objectOf(item); obj != nil {
		h.add(obj, initial)
	}
}

// OnUpdate is called for an object that was in the store, also when it was only listed again.
func (h handler) OnUpdate(oldItem, item any) {
	old, obj := objectOf(oldItem), objectOf(item)
	if old == nil || obj == nil || old.Version() == obj.Version() {
		return
	}
	h.update(old, obj)
}

// OnDelete is called for an object that left the store, or for what the store held if its end was missed.
func (h handler) OnDelete(item any) {
	obj := objectOf(item)
	if obj == nil {
		return
	}
	if _, unseen := item.(cache.DeletedFinalStateUnknown); unseen && h.missed != nil {
		h.missed(obj)
		return
	}
	h.remove(obj)
}

// objectOf gives the object that an event or a store holds; nil if there is none.
func objectOf(item any) *packed.Object {
	if unknown, ok := item.(cache.DeletedFinalStateUnknown); ok {
		item = unknown.Obj
	}
	switch obj := item.(type) {
	case *packed.Object:
		return obj
	case *unstructured.Unstructured:
		return packed.Whole(obj) // its transform has panicked
	default:
		return nil
	}
}
