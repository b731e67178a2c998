package watch

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"github.com/orkspace/orkestra/engine/packed"
)

// wholes are the whole objects behind the heads that informers hold: each is read when its head moves, and shown when it is read. What is
// shown of an object never gets older, and in the end it is what the API server has, whatever comes late:
//
//   - An answer that is older than what the watch has told is dropped, and the object read again. What is shown is older than that.
//   - An answer that is newer than the watch is shown. When the watch comes to it, nothing is read again.
//   - An answer that says that the object is gone, was made again, or is not selected any more, ends what is shown. The watch tells the same
//     soon; where it does not, the object is read again.
//   - An answer about an object that is gone by now, or was made again, is dropped.
//
// One watch of the metadata of all, and a read for each change of one that is selected, was chosen over a watch for each selected object by
// its name: that would be a connection, and a request every few minutes, for each of thousands, and their starts and ends would race with the
// watch of the metadata in the same way.
type wholes struct {
	config    Config
	resource  schema.GroupVersionResource
	selection Selection
	words     *packed.Words
	events    ResourceEvents                           // none is nil
	queue     workqueue.TypedDelayingInterface[string] // made when it starts

	// turn is held while something changes and is told, so that events are told in the order of the changes. Those who are told read what is
	// shown, for which mu is enough.
	turn sync.Mutex

	mu       sync.RWMutex // guards what follows; turn is taken before
	all      map[string]*whole
	byUID    map[types.UID]string
	awaited  int           // those that were there at first and have not been read yet; and one, until the informers have told of all
	filled   chan struct{} // closed when nothing is awaited
	problems problems
	held     held
	cancel   context.CancelFunc // nil until it is started
	halted   bool               // by stop
	stopped  chan struct{}      // closed when nothing is read any more
}

// whole is one object of which a head is known.
type whole struct {
	head     *packed.Object // the newest that the watch has told
	obj      *packed.Object // what is shown; nil: nothing yet, or it does not exist or is not selected
	known    string         // up to which version it is known how the object is; empty: not at all
	open     bool           // its end is to be told, also where it was never shown: a former process may have known it
	initial  bool           // it was there when the watch began
	awaited  bool           // and those who wait for all wait for it
	failures int            // in a row
}

func newWholes(config Config, resource schema.GroupVersionResource, selection Selection, events ResourceEvents) *wholes {
	config = config.withDefaults()
	return &wholes{
		config: config, resource: resource, selection: selection, words: packed.NewWords(), events: events.complete(),
		all: map[string]*whole{}, byUID: map[types.UID]string{}, awaited: 1, filled: make(chan struct{}), stopped: make(chan struct{}),
	}
}

// handler is told of the heads.
func (w *wholes) handler() handler {
	return handler{
		add:    w.saw,
		update: func(_, head *packed.Object) { w.saw(head, false) },
		remove: func(head *packed.Object) { w.ended(head, w.events.Delete) },
		missed: func(head *packed.Object) { w.ended(head, w.events.Missed) },
	}
}

// saw takes what the watch tells of an object that is there.
func (w *wholes) saw(head *packed.Object, initial bool) {
	w.turn.Lock()
	defer w.turn.Unlock()
	key := head.Key()
	var former *unstructured.Unstructured
	w.change(func() {
		one := w.all[key]
		if one != nil && one.head.UID() != head.UID() {
			former = withHead(one.last(), one.head) // a relist shows one that was deleted and made again as an update
			w.forgetLocked(key, one)
			one = nil
		}
		if one == nil {
			one = &whole{open: true, initial: initial, awaited: initial}
			if initial {
				w.awaited++
			}
			w.all[key], w.byUID[head.UID()] = one, key
		}
		one.head, one.failures = head, 0
		w.queue.Add(key) // who takes it from there sees whether there is something to read
	})
	if former != nil {
		w.events.Missed(former)
	}
}

// ended takes that the watch shows an object no more. Most that it tells so nobody knows: they were changed, and are not selected.
func (w *wholes) ended(head *packed.Object, tell func(*unstructured.Unstructured)) {
	w.turn.Lock()
	defer w.turn.Unlock()
	key := head.Key()
	var last *unstructured.Unstructured
	w.change(func() {
		if one := w.all[key]; one != nil {
			last = withHead(one.last(), head)
			w.forgetLocked(key, one)
		}
	})
	if last != nil {
		tell(last)
	}
}

// withHead gives an object as it was when it went: what is shown may be older, and whether it was being deleted, held and marked is read of it.
func withHead(was, latest *packed.Object) *unstructured.Unstructured {
	obj := was.Unpack()
	if obj == nil || was.UID() != latest.UID() || !newer(latest.Version(), was.Version()) {
		return obj
	}
	head := latest.Unpack()
	last := &unstructured.Unstructured{Object: maps.Clone(obj.Object)}
	metadata, _ := obj.Object[fieldMetadata].(map[string]any)
	last.Object[fieldMetadata] = maps.Clone(metadata)
	last.SetResourceVersion(head.GetResourceVersion())
	last.SetDeletionTimestamp(head.GetDeletionTimestamp())
	last.SetFinalizers(head.GetFinalizers())
	last.SetLabels(head.GetLabels())
	return last
}

// change changes what is guarded by mu, and tells those who show what can't be read.
func (w *wholes) change(f func()) {
	if w.changed(f) {
		w.events.Troubled()
	}
}

func (w *wholes) changed(f func()) (troubled bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.problems.first()
	f()
	return w.problems.first() != before
}

func (w *wholes) forgetLocked(key string, one *whole) {
	w.answeredLocked(one)
	w.problems.end(key)
	w.held.change(one.obj, nil)
	delete(w.all, key)
	delete(w.byUID, one.head.UID())
}

func (w *wholes) answeredLocked(one *whole) {
	if one.awaited {
		one.awaited = false
		w.releaseLocked()
	}
}

// releaseLocked ends the wait for one of those that are awaited.
func (w *wholes) releaseLocked() {
	if w.awaited--; w.awaited == 0 {
		close(w.filled)
	}
}

// last is what is told of its end: what is shown, or the head where it was never shown; nil: its end was told.
func (o *whole) last() *packed.Object {
	switch {
	case !o.open:
		return nil
	case o.obj == nil:
		return o.head
	default:
		return o.obj
	}
}

// caughtUp says that no read can tell more than is known.
func (o *whole) caughtUp() bool { return upTo(o.known, o.head.Version()) }

// upTo says that a known version is as new as another, or newer.
func upTo(known, version string) bool {
	return known != "" && (known == version || newer(known, version))
}

// start starts reading, once, and not after stop. What it starts is in the group, and ends with the context, or with stop. begun are closed
// when the informers have told all that was there at first.
func (w *wholes) start(ctx context.Context, group *sync.WaitGroup, begun []<-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.halted || w.cancel != nil {
		return
	}
	ctx, w.cancel = context.WithCancel(ctx)
	w.queue = workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{Clock: w.config.Clock})
	forget := w.config.Gauges.Watch(w.resource.GroupResource().String(), w.held.more)
	context.AfterFunc(ctx, func() {
		forget()
		w.queue.ShutDown()
		close(w.stopped)
	})
	for range maxReads {
		group.Go(func() { w.read(ctx) })
	}
	group.Go(func() {
		for _, one := range begun {
			select {
			case <-one:
			case <-ctx.Done():
				return
			}
		}
		w.change(w.releaseLocked)
	})
}

// stop ends reading. It does not wait.
func (w *wholes) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.cancel != nil:
		w.cancel()
	case !w.halted:
		close(w.stopped)
	}
	w.halted = true
}

// wait returns when all that was there at first has been read, as far as that can be.
func (w *wholes) wait(ctx context.Context) error {
	if closed(w.filled) {
		return nil // though the context may have ended
	}
	select {
	case <-w.filled:
		return nil
	case <-w.stopped:
		return fmt.Errorf("reading selected %s: %w", w.resource.GroupResource(), ErrStopped)
	case <-ctx.Done():
		return fmt.Errorf("reading selected %s: %w", w.resource.GroupResource(), context.Cause(ctx))
	}
}

func (w *wholes) get(key string) *packed.Object {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if one := w.all[key]; one != nil {
		return one.obj
	}
	return nil
}

// withUID gives the object with a UID; its head where it has not been read yet. One whose end was told is not there, though the watch shows it.
func (w *wholes) withUID(uid types.UID) *packed.Object {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if one := w.all[w.byUID[uid]]; one != nil {
		return one.last()
	}
	return nil
}

// keys gives those of the objects that are shown, in no order.
func (w *wholes) keys() (keys []string) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	for key, one := range w.all {
		if one.obj != nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// seen says that what is shown of an object is as new as a version. heads is the informer that holds its head.
func (w *wholes) seen(heads *informer, key, version string) bool {
	newest, stored := heads.seen(), heads.get(key) // in this order: what is stored may be newer
	w.mu.RLock()
	defer w.mu.RUnlock()
	one := w.all[key]
	switch {
	case one != nil && upTo(one.known, version):
		return true
	case newer(version, newest):
		return false
	case stored == nil:
		return one == nil // else its end has not been told yet
	default:
		return one != nil && one.head.UID() == stored.UID() && upTo(one.known, stored.Version())
	}
}

// failing says which object can't be read, and why; empty: all can.
func (w *wholes) failing() string {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.problems.first()
}
