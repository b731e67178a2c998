// Package watch holds the informers of Orkestra: the shared ones of child kinds and the one of each box's resources. It
// starts them, stops them, and waits for all that they run. It reads only: it never writes to the cluster, knows no box but
// by name, and decides nothing.
package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// ErrStopped is returned by whoever waits for an informer that is stopped meanwhile, or was before.
var ErrStopped = errors.New("the informer is stopped")

// ErrNotServed is returned by whoever waits for an informer of a kind that the API server does not know, though it did once:
// its CRD is gone. Nothing is there to be read; the informer goes on asking, and follows the kind when it comes back.
var ErrNotServed = errors.New("the API server does not serve the kind")

const (
	ownerIndex = "owner"
	boxIndex   = "box"
)

// Config is what informers need.
type Config struct {
	// Client lists and watches. Its rate limit holds back the start of informers.
	Client dynamic.Interface
	// Mapper finds the resource of a child kind. Children need it, Resources do not.
	Mapper meta.RESTMapper
	// Log gets what goes wrong with watches, at V(1).
	Log logr.Logger
}

// Children are the informers of child kinds, over all namespaces, of objects with the label v1alpha1.LabelOwnerUID. Boxes
// share them: one is started when the first box acquires its kind and stopped when no box is left. What they hand out is
// shared memory and must not be changed; its managed fields are reduced to what OursByFields needs, and the annotation of
// kubectl apply is missing. All methods may be called at the same time.
type Children struct {
	config Config
	notify func(owner types.UID, box string, child schema.GroupVersionKind)

	running   chan struct{}  // closed by Run
	informers sync.WaitGroup // those that were started

	mu     sync.RWMutex // guards what follows; never held while something is waited for
	begin  func(*informer)
	closed bool
	kinds  map[schema.GroupVersionKind]*kind
}

// kind is a child kind that is watched.
type kind struct {
	*overlay

	users sets.Set[string] // guarded by the lock of Children
}

// NewChildren makes Children that watch nothing yet. For each child that appears, changes or goes, notify is called with
// what its labels say; with the former owner too if they changed. It is called once per informer at a time, must only
// queue, and must not call Release.
func NewChildren(config Config, notify func(owner types.UID, box string, child schema.GroupVersionKind)) *Children {
	return &Children{
		config:  config,
		notify:  notify,
		running: make(chan struct{}),
		kinds:   map[schema.GroupVersionKind]*kind{},
	}
}

// Run lets informers live until the context ends; it returns when they are gone. It can be called once, and returns an error
// if it was called before.
func (c *Children) Run(ctx context.Context) error {
	c.mu.Lock()
	if c.begin != nil {
		c.mu.Unlock()
		return errors.New("running child informers: they have been run before")
	}
	c.begin = func(i *informer) { i.start(ctx, &c.informers) }
	close(c.running)
	c.mu.Unlock()

	<-ctx.Done()
	c.mu.Lock()
	c.closed = true
	c.kinds = nil
	c.mu.Unlock()
	c.informers.Wait() // those that a Release stops, too
	return nil
}

// Acquire makes the user, a box, one of those who use the kinds, and returns when they are synced. It can be repeated, and
// costs nothing then. It waits for Run.
//
// The error names every kind that is not there: meta.IsNoMatchError holds for an error in its chain if the kind is not
// installed, and it is ErrNotServed if it no longer is; one that may not be read gives the API server's 403; a kind that has not synced when the context ends gives the context's error and, where there is one, the API
// server's. The user keeps what it has acquired, so that the next call finds it further on, until Release. After Run the
// error is ErrStopped.
func (c *Children) Acquire(ctx context.Context, user string, gvks ...schema.GroupVersionKind) error {
	if err := c.awaitRun(ctx); err != nil {
		return err
	}
	var failure error
	wanted := make([]*kind, 0, len(gvks))
	gvks = slices.SortedFunc(maps.Keys(sets.New(gvks...)), compareKinds)
	for _, gvk := range gvks {
		k, err := c.claim(user, gvk)
		if err != nil {
			failure = joined(failure, err)
			continue
		}
		wanted = append(wanted, k)
	}
	for _, k := range wanted {
		failure = joined(failure, k.store.wait(ctx))
	}
	return failure
}

func (c *Children) awaitRun(ctx context.Context) error {
	select {
	case <-c.running:
		return nil // though the context may have ended
	default:
	}
	select {
	case <-c.running:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("acquiring kinds before child informers run: %w", context.Cause(ctx))
	}
}

// claim makes the user one of a kind's, and starts its informer for the first.
func (c *Children) claim(user string, gvk schema.GroupVersionKind) (*kind, error) {
	if k := c.join(user, gvk); k != nil {
		return k, nil
	}
	mapping, err := c.config.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version) // may ask the API server
	if err != nil {
		return nil, fmt.Errorf("finding kind %q: %w", gvk, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, fmt.Errorf("watching kind %q: %w", gvk, ErrStopped)
	}
	k := c.kinds[gvk]
	if k == nil {
		k = c.newKind(gvk, mapping.Resource)
		c.kinds[gvk] = k
		c.begin(k.store)
	}
	k.users.Insert(user)
	return k, nil
}

func (c *Children) join(user string, gvk schema.GroupVersionKind) *kind {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.kinds[gvk]
	if k != nil {
		k.users.Insert(user)
	}
	return k
}

func (c *Children) newKind(gvk schema.GroupVersionKind, resource schema.GroupVersionResource) *kind {
	k := &kind{users: sets.New[string]()}
	k.overlay = newOverlay(newInformer(c.config, informerOptions{
		name:      gvk.String(),
		resource:  resource,
		selector:  v1alpha1.LabelOwnerUID,
		indexers:  cache.Indexers{ownerIndex: byLabel(v1alpha1.LabelOwnerUID), boxIndex: byLabel(v1alpha1.LabelBox)},
		transform: transform(trimChild),
		handler: handler{
			add:    func(obj *unstructured.Unstructured, _ bool) { c.changed(k, gvk, nil, obj) },
			update: func(old, obj *unstructured.Unstructured) { c.changed(k, gvk, old, obj) },
			remove: func(obj *unstructured.Unstructured) { c.changed(k, gvk, obj, nil) },
		},
	}))
	return k
}

// changed tells whose child has changed. Old or obj may be nil.
func (c *Children) changed(k *kind, gvk schema.GroupVersionKind, old, obj *unstructured.Unstructured) {
	var last, next [2]string // owner and box
	if old != nil {
		k.entry(keyOf(old)) // forgets it if it is superseded
		last = [2]string{labelOf(old, v1alpha1.LabelOwnerUID), labelOf(old, v1alpha1.LabelBox)}
	}
	if obj != nil {
		k.entry(keyOf(obj))
		next = [2]string{labelOf(obj, v1alpha1.LabelOwnerUID), labelOf(obj, v1alpha1.LabelBox)}
	}
	if next[0] != "" {
		c.notify(types.UID(next[0]), next[1], gvk)
	}
	if last[0] != "" && last != next {
		c.notify(types.UID(last[0]), last[1], gvk)
	}
}

// Release ends what the user has acquired of the kinds, or of all kinds if none is given. It returns when the informers that
// nobody uses any more are gone. An Acquire of the user that is still waiting fails; it must not begin while Release runs.
func (c *Children) Release(user string, gvks ...schema.GroupVersionKind) {
	stopAll(c.leave(user, gvks))
}

// leave gives the informers that nobody uses any more.
func (c *Children) leave(user string, gvks []schema.GroupVersionKind) []*informer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(gvks) == 0 {
		gvks = slices.Collect(maps.Keys(c.kinds))
	}
	var unused []*informer
	for _, gvk := range gvks {
		k := c.kinds[gvk]
		if k == nil || !k.users.Has(user) {
			continue
		}
		k.users.Delete(user)
		if k.users.Len() == 0 {
			delete(c.kinds, gvk)
			unused = append(unused, k.store)
		}
	}
	return unused
}

// Acquired gives the kinds that the user has acquired, synced or not, in order.
func (c *Children) Acquired(user string) []schema.GroupVersionKind {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var gvks []schema.GroupVersionKind
	for gvk, k := range c.kinds {
		if k.users.Has(user) {
			gvks = append(gvks, gvk)
		}
	}
	slices.SortFunc(gvks, compareKinds)
	return gvks
}

// Settled says whether the user has acquired a kind, and all that there is of it is known: the kind is synced, or not served.
func (c *Children) Settled(user string, gvk schema.GroupVersionKind) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	k := c.kinds[gvk]
	return k != nil && k.users.Has(user) && (k.store.hasSynced() || errors.Is(k.store.refused(), ErrNotServed))
}

func compareKinds(a, b schema.GroupVersionKind) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Version, b.Version))
}

// joined puts two errors, which may be nil, on one line.
func joined(a, b error) error {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	default:
		return fmt.Errorf("%w; %w", a, b)
	}
}
