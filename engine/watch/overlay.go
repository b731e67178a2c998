package watch

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/orkspace/orkestra/engine/packed"
)

// overlay holds the answers to our own writes, over a store whose watch does not show them yet: without it, the next cycle would read
// the state before its own last write. An entry counts until the store has caught up with it, and is then forgotten. Readers ask the
// overlay before the store: the other way round, the store could catch up in between, and the reader would see neither.
type overlay struct {
	store *informer

	mu      sync.Mutex       // guards entries; the store's lock may be taken while it is held
	entries map[string]entry // by the store's keys

	// lost are objects that we created and that were deleted before the store had seen them, because the watch was dropped in between
	// and the relist shows neither. The store has no event for them, so sweep reports them. Guarded by mu.
	lost []*packed.Object

	// filled has a value when something was put since sweep has last looked, so that there is nothing to wake up for where nobody writes.
	filled chan struct{}
}

// entry is the answer to a write.
type entry struct {
	obj     *packed.Object
	version string
	gone    bool // the object was deleted; version is then the newest that is known of it
}

func newOverlay(store *informer) *overlay {
	return &overlay{store: store, entries: map[string]entry{}, filled: make(chan struct{}, 1)}
}

func (o *overlay) informer() *informer { return o.store }

// wrote keeps the answer to a write. It takes the object over.
func (o *overlay) wrote(obj *packed.Object) {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := obj.Key()
	next := entry{obj: obj, version: obj.Version()}
	last, found := o.entries[key]
	if found && (!newer(next.version, last.version) || last.gone && last.obj.UID() == obj.UID()) {
		return // an older answer that came late, or one to a write before the object was deleted
	}
	o.putLocked(key, next)
}

// gone keeps that an object was deleted. It takes the object over.
func (o *overlay) gone(obj *packed.Object) {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := obj.Key()
	next := entry{obj: obj, version: obj.Version(), gone: true}
	if last, found := o.entries[key]; found && newer(last.version, next.version) {
		if last.obj.UID() != obj.UID() {
			return // another object has the name by now
		}
		next.version = last.version
	}
	o.putLocked(key, next)
}

// putLocked lays an entry over the store.
func (o *overlay) putLocked(key string, e entry) {
	select {
	case o.filled <- struct{}{}:
	default: // it has one
	}
	if o.superseded(key, e) {
		o.forgetLocked(key, e)
		return
	}
	o.entries[key] = e
}

// get gives the newest that is known of an object; nil if there is none.
func (o *overlay) get(key string) *packed.Object {
	e, found := o.entry(key)
	stored := o.store.get(key)
	if !found {
		return stored
	}
	return e.over(stored)
}

// selected gives the objects that have the value in an index of the store, in no order. The label is the one that the
// index is made from.
func (o *overlay) selected(index, label, value string) []*packed.Object {
	if value == "" {
		return nil
	}
	entries := o.all()
	objects := o.store.byIndex(index, value)
	if len(entries) == 0 {
		return objects
	}
	stored := make(map[string]*packed.Object, len(entries))
	kept := objects[:0]
	for _, obj := range objects {
		key := obj.Key()
		if _, found := entries[key]; found {
			stored[key] = obj
			continue
		}
		kept = append(kept, obj)
	}
	for key, e := range entries {
		if obj := e.over(stored[key]); obj != nil && obj.Label(label) == value {
			kept = append(kept, obj)
		}
	}
	return kept
}

// entry gives the entry of a key, unless the store has caught up with it.
func (o *overlay) entry(key string) (entry, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	e, found := o.entries[key]
	if found && o.superseded(key, e) {
		o.forgetLocked(key, e)
		return entry{}, false
	}
	return e, found
}

// all gives the entries that the store has not caught up with.
func (o *overlay) all() map[string]entry {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.entries) == 0 {
		return nil
	}
	left := make(map[string]entry, len(o.entries))
	for key, e := range o.entries {
		if o.superseded(key, e) {
			o.forgetLocked(key, e)
			continue
		}
		left[key] = e
	}
	return left
}

// forgetLocked drops an entry that is superseded.
func (o *overlay) forgetLocked(key string, e entry) {
	delete(o.entries, key)
	if stored := o.store.get(key); !e.gone && (stored == nil || stored.UID() != e.obj.UID()) {
		o.lost = append(o.lost, e.obj)
	}
}

// superseded says that the store has caught up with an entry. Our delete was not answered with the version of the deletion itself, so
// the store has caught up with it when it is past the last version of the object and no longer holds that version, or an older one.
func (o *overlay) superseded(key string, e entry) bool {
	if newer(e.version, o.store.seen()) {
		return false
	}
	if !e.gone {
		return true
	}
	stored := o.store.get(key)
	return stored == nil || newer(stored.Version(), e.version)
}

// over gives the newer of the entry and a stored object, which may be nil. UIDs do not matter: the resourceVersions of all objects of a
// kind have one order.
func (e entry) over(stored *packed.Object) *packed.Object {
	switch {
	case stored != nil && newer(stored.Version(), e.version):
		return stored
	case e.gone:
		return nil
	default:
		return e.obj
	}
}

// newer says that resourceVersion a is later than b. Having none ("" or "0") is older than any; versions that can't be compared are not
// newer than each other.
func newer(a, b string) bool {
	if b == "" || b == "0" {
		return a != "" && a != "0"
	}
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order > 0
}

// sweepInterval is how long an object that we wrote, and that was gone before the store had seen it, may go unnoticed.
const sweepInterval = time.Second

// sweep forgets superseded entries also where nobody reads them and no event comes, until the context ends. It calls tell for each lost
// object, in place of the delete event that does not come.
func (o *overlay) sweep(ctx context.Context, tell func(lost *packed.Object)) {
	var due <-chan time.Time // nil: there is nothing to sweep
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.filled:
			if due == nil {
				due = o.store.watchdog.clock.After(sweepInterval)
			}
		case <-due:
			due = nil
			if len(o.all()) > 0 {
				due = o.store.watchdog.clock.After(sweepInterval)
			}
			for _, obj := range o.takeLost() {
				tell(obj)
			}
		}
	}
}

func (o *overlay) takeLost() []*packed.Object {
	o.mu.Lock()
	defer o.mu.Unlock()
	lost := o.lost
	o.lost = nil
	return lost
}
