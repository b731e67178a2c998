package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
)

// pool shares informers of kinds: one is started when the first user acquires its kind and stopped when no user is left.
type pool[T watched] struct {
	config Config
	make   func(gvk schema.GroupVersionKind, resource schema.GroupVersionResource) T // makes what is held of one kind

	running   chan struct{}  // closed by Run
	informers sync.WaitGroup // those that were started

	mu     sync.RWMutex // guards what follows; never held while something is waited for
	begin  func(*informer)
	closed bool
	kinds  map[schema.GroupVersionKind]*shared[T]
}

// watched is what a pool holds of one kind.
type watched interface{ informer() *informer }

// shared is a kind that is watched.
type shared[T watched] struct {
	watched T
	users   sets.Set[string] // guarded by the lock of the pool
}

func newPool[T watched](config Config, maker func(schema.GroupVersionKind, schema.GroupVersionResource) T) *pool[T] {
	return &pool[T]{config: config, make: maker, running: make(chan struct{}), kinds: map[schema.GroupVersionKind]*shared[T]{}}
}

// kind gives what is known of a kind; ok is false where nobody has acquired it.
func (p *pool[T]) kind(gvk schema.GroupVersionKind) (k T, ok bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if k := p.kinds[gvk]; k != nil {
		return k.watched, true
	}
	return k, false
}

// Run lets informers live until the context ends; it returns when they are gone. It can be called once, and returns an error
// if it was called before.
func (p *pool[T]) Run(ctx context.Context) error {
	p.mu.Lock()
	if p.begin != nil {
		p.mu.Unlock()
		return errors.New("running child informers: they have been run before")
	}
	p.begin = func(i *informer) { i.start(ctx, &p.informers) }
	close(p.running)
	p.mu.Unlock()

	<-ctx.Done()
	p.mu.Lock()
	p.closed = true
	p.kinds = nil
	p.mu.Unlock()
	p.informers.Wait() // those that a Release stops, too
	return nil
}

// Acquire makes the user, a box, one of those who use the kinds, and returns when they are synced. It can be repeated, and
// costs nothing then. It waits for Run.
//
// The error names every kind that is not there. If the kind is not installed, meta.IsNoMatchError holds for an error in its chain; if it
// no longer is, it is ErrNotServed; if it may not be read, it is the API server's 403; and if it has not synced when the context ends,
// it is the context's error and the API server's last one. The user keeps what it has acquired until Release, so that the informer goes
// on and the next call may succeed. After Run the error is ErrStopped.
func (p *pool[T]) Acquire(ctx context.Context, user string, gvks ...schema.GroupVersionKind) error {
	if err := p.awaitRun(ctx); err != nil {
		return err
	}
	var failure error
	wanted := make([]*shared[T], 0, len(gvks))
	gvks = slices.SortedFunc(maps.Keys(sets.New(gvks...)), compareKinds)
	for _, gvk := range gvks {
		k, err := p.claim(user, gvk)
		if err != nil {
			failure = joined(failure, err)
			continue
		}
		wanted = append(wanted, k)
	}
	for _, k := range wanted {
		failure = joined(failure, k.watched.informer().wait(ctx))
	}
	return failure
}

func (p *pool[T]) awaitRun(ctx context.Context) error {
	select {
	case <-p.running:
		return nil // though the context may have ended
	default:
	}
	select {
	case <-p.running:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("acquiring kinds before child informers run: %w", context.Cause(ctx))
	}
}

// claim makes the user one of a kind's, and starts its informer for the first.
func (p *pool[T]) claim(user string, gvk schema.GroupVersionKind) (*shared[T], error) {
	if k := p.join(user, gvk); k != nil {
		return k, nil
	}
	mapping, err := p.config.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version) // may ask the API server, so outside of the lock
	if err != nil {
		return nil, fmt.Errorf("finding kind %q: %w", gvk, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, fmt.Errorf("watching kind %q: %w", gvk, ErrStopped)
	}
	k := p.kinds[gvk]
	if k == nil {
		k = &shared[T]{watched: p.make(gvk, mapping.Resource), users: sets.New[string]()}
		p.kinds[gvk] = k
		p.begin(k.watched.informer())
	}
	k.users.Insert(user)
	return k, nil
}

// join makes the user one of a kind's that is watched already; nil: it is not.
func (p *pool[T]) join(user string, gvk schema.GroupVersionKind) *shared[T] {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.kinds[gvk]
	if k != nil {
		k.users.Insert(user)
	}
	return k
}

// Release ends what the user has acquired of the kinds, or of all kinds if none is given. It returns when the informers that
// nobody uses any more are gone. An Acquire of the user that is still waiting fails; it must not begin while Release runs.
func (p *pool[T]) Release(user string, gvks ...schema.GroupVersionKind) {
	stopAll(p.leave(user, gvks))
}

// leave takes the user off the kinds, and gives the informers that nobody uses any more.
func (p *pool[T]) leave(user string, gvks []schema.GroupVersionKind) []*informer {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(gvks) == 0 {
		gvks = slices.Collect(maps.Keys(p.kinds))
	}
	var unused []*informer
	for _, gvk := range gvks {
		k := p.kinds[gvk]
		if k == nil || !k.users.Has(user) {
			continue
		}
		k.users.Delete(user)
		if k.users.Len() == 0 {
			delete(p.kinds, gvk)
			unused = append(unused, k.watched.informer())
		}
	}
	return unused
}

// Acquired gives the kinds that the user has acquired, synced or not, in order.
func (p *pool[T]) Acquired(user string) []schema.GroupVersionKind {
	p.mu.RLock()
	defer p.mu.RUnlock()
	var gvks []schema.GroupVersionKind
	for gvk, k := range p.kinds {
		if k.users.Has(user) {
			gvks = append(gvks, gvk)
		}
	}
	slices.SortFunc(gvks, compareKinds)
	return gvks
}

// Complete says whether the user has acquired a kind and all objects of it are known: its informer has synced, or the kind is not served,
// so that there are none.
func (p *pool[T]) Complete(user string, gvk schema.GroupVersionKind) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	k := p.kinds[gvk]
	return k != nil && k.users.Has(user) && (k.watched.informer().hasSynced() || errors.Is(k.watched.informer().access.refused(), ErrNotServed))
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
