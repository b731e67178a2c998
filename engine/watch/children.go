// Package watch holds the informers of Orkestra: the one of each box's resources, and those that boxes share, of child kinds and of
// kinds that they only read. It starts them, stops them, and waits for all that they run. It reads only: it never writes to the
// cluster, knows no box but by name, and decides nothing.
package watch

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/packed"
)

// ErrStopped is the error of waiting for an informer that is stopped meanwhile, or was before.
var ErrStopped = errors.New("the informer is stopped")

// ErrNotServed is the error of waiting for an informer of a kind that the API server no longer serves: its CRD is gone. So there are no
// objects of it. The informer goes on asking, and follows the kind when it comes back.
var ErrNotServed = errors.New("the API server does not serve the kind")

const (
	ownerIndex = "owner"
	boxIndex   = "box"
)

// Config is what informers need.
type Config struct {
	// Client lists and watches. Its rate limit holds back the start of informers.
	Client dynamic.Interface
	// Metadata lists and watches where objects are selected by their annotations. Others do not need it.
	Metadata metadata.Interface
	// Mapper finds the resource of a child kind. Children need it, Resources do not.
	Mapper meta.RESTMapper
	// Writable keeps all of an object but its managed fields: somebody may change what is read, and write it back. Without it, the annotation
	// of kubectl apply is left out, and so are the Secrets of Helm's releases.
	Writable bool
	// Log gets the errors of watches, at V(1), and which of them were quiet for too long.
	Log logr.Logger
	// Clock tells the time. Default: the real one.
	Clock clock.WithTicker
	// Quiet is how long a watch may be without any event, not even a bookmark, until all is listed again. Default: DefaultQuiet.
	Quiet time.Duration
	// Gauges are told of every watch. nil: nobody is.
	Gauges Gauges
	// Panicked is told of panics that were caught. Default: they are logged.
	Panicked func(p any, stack []byte)
}

func (c Config) withDefaults() Config {
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Quiet <= 0 {
		c.Quiet = DefaultQuiet
	}
	if c.Gauges == nil {
		c.Gauges = noGauges{}
	}
	if c.Panicked == nil {
		c.Panicked = c.logPanic
	}
	return c
}

// Children are the informers of child kinds, over all namespaces, of objects with the label v1alpha1.LabelOwnerUID. Boxes
// share them: one is started when the first box acquires its kind and stopped when no box is left. What they hand out is
// shared memory and must not be changed; its managed fields are reduced to those of others and what OursByFields needs, and
// the annotation of kubectl apply is missing. All methods may be called at the same time.
type Children struct {
	*pool[*overlay]

	notify func(owner types.UID, box string, child schema.GroupVersionKind)
}

// NewChildren makes Children that watch nothing yet. For each child that appears, changes or goes, notify is called with
// what its labels say; with the former owner too if they changed. It is called once per informer at a time, must only
// queue, and must not call Release.
func NewChildren(config Config, notify func(owner types.UID, box string, child schema.GroupVersionKind)) *Children {
	c := &Children{notify: notify}
	c.pool = newPool(config, c.newKind)
	return c
}

func (c *Children) newKind(gvk schema.GroupVersionKind, resource schema.GroupVersionResource) *overlay {
	var k *overlay
	k = newOverlay(newInformer(c.config, informerOptions{
		name:     gvk.String(),
		resource: resource,
		kind:     gvk,
		selector: v1alpha1.LabelOwnerUID,
		indexers: cache.Indexers{ownerIndex: byLabel(v1alpha1.LabelOwnerUID), boxIndex: byLabel(v1alpha1.LabelBox)},
		trim:     trimChild,
		handler: handler{
			add:    func(obj *packed.Object, _ bool) { c.changed(k, gvk, nil, obj) },
			update: func(old, obj *packed.Object) { c.changed(k, gvk, old, obj) },
			remove: func(obj *packed.Object) { c.changed(k, gvk, obj, nil) },
		},
		beside: func(ctx context.Context) {
			k.sweep(ctx, func(lost *packed.Object) { c.changed(k, gvk, lost, nil) })
		},
	}))
	return k
}

// changed calls notify for the owner of a child that has changed, and for its former owner if that is another one. old is nil for a new
// child, obj for one that is gone.
func (c *Children) changed(k *overlay, gvk schema.GroupVersionKind, old, obj *packed.Object) {
	var last, next [2]string // owner and box
	if old != nil {
		k.entry(old.Key()) // forgets it if it is superseded
		last = [2]string{old.Label(v1alpha1.LabelOwnerUID), old.Label(v1alpha1.LabelBox)}
	}
	if obj != nil {
		k.entry(obj.Key())
		next = [2]string{obj.Label(v1alpha1.LabelOwnerUID), obj.Label(v1alpha1.LabelBox)}
	}
	if next[0] != "" {
		c.notify(types.UID(next[0]), next[1], gvk)
	}
	if last[0] != "" && last != next {
		c.notify(types.UID(last[0]), last[1], gvk)
	}
}
