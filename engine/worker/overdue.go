package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// overdueGrace is how long a reconcile may take to end once its deadline has passed. What heeds its context ends at once, or nearly so.
const overdueGrace = 2 * time.Second

// Overdue are the resources of a box whose reconcile is past its deadline, and a moment later, and does not end: something in it ignores its context. A
// goroutine can't be killed, so each of them keeps its worker and its key; its requests fail, since their context has ended. But its
// slot is given back, so that other boxes go on. When all workers of a box are in such reconciles, the box is stuck. It is safe for
// concurrent use.
type Overdue struct {
	changed func()

	mu  sync.Mutex
	all map[types.NamespacedName]bool // guarded by mu
}

// NewOverdue gives a set that is empty. changed is told of each change; it must not block.
func NewOverdue(changed func()) *Overdue {
	return &Overdue{changed: changed, all: map[types.NamespacedName]bool{}}
}

// Watch takes the slot from a reconcile when ctx, which has its deadline, ends before the reconcile does. One that has not ended a moment after its
// deadline is overdue; one that is canceled is at once, since who cancels gives it that moment. The caller calls ended when the reconcile has ended.
func (o *Overdue) Watch(ctx context.Context, key types.NamespacedName, slot *Slot) (ended func()) {
	lapsed, over := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(lapsed)
		slot.lapse()
		if errors.Is(ctx.Err(), context.DeadlineExceeded) && closes(over, overdueGrace) {
			return
		}
		o.set(key, true)
	})
	return func() {
		if stop() {
			return // in time: the function above will not run
		}
		close(over)
		<-lapsed // it has begun to run; what it does must not come after what is done here
		slot.resume()
		o.set(key, false)
	}
}

// closes says whether a channel is closed within a time.
func closes(over <-chan struct{}, within time.Duration) bool {
	grace := time.NewTimer(within)
	defer grace.Stop()
	select {
	case <-over:
		return true
	case <-grace.C:
		return false
	}
}

func (o *Overdue) set(key types.NamespacedName, is bool) {
	o.mu.Lock()
	if o.all[key] == is {
		o.mu.Unlock()
		return
	}
	if is {
		o.all[key] = true
	} else {
		delete(o.all, key)
	}
	o.mu.Unlock()
	o.changed()
}

// Count is how many there are.
func (o *Overdue) Count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.all)
}

// Stuck says why nothing of a box is reconciled although it runs: each of its workers is in a reconcile that is past the deadline.
// Empty: it is not stuck.
func (o *Overdue) Stuck(workers int, deadline time.Duration) string {
	if o.Count() < workers {
		return ""
	}
	return fmt.Sprintf("all %d workers are in reconciles that took longer than %s and do not end: %s; nothing else of this box is reconciled "+
		"until they do, or the manager is restarted", workers, deadline, Names(o.Keys()))
}

// Some says which reconciles are past the deadline and do not end while the box has other workers to go on with. Empty: there are none, or the box is
// stuck.
func (o *Overdue) Some(workers int, deadline time.Duration) string {
	n := o.Count()
	if n == 0 || n >= workers {
		return ""
	}
	if n == 1 {
		return fmt.Sprintf("1 of %d workers is in a reconcile past the deadline of %s without an end: %s; it stays as it is, and the worker is kept, until it does, or the manager is restarted",
			workers, deadline, Names(o.Keys()))
	}
	return fmt.Sprintf("%d of %d workers are in reconciles past the deadline of %s without an end: %s; they stay as they are, and the workers are kept, until they do, or the manager is restarted",
		n, workers, deadline, Names(o.Keys()))
}

// Keys gives all of them, sorted by namespace and name.
func (o *Overdue) Keys() []types.NamespacedName {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.SortedFunc(maps.Keys(o.all), func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// maxNames is how many resources a message names.
const maxNames = 3

// Names gives resources in words, the first of them where there are many.
func Names(keys []types.NamespacedName) string {
	names := make([]string, 0, maxNames+1)
	for _, key := range keys[:min(maxNames, len(keys))] {
		names = append(names, strings.TrimPrefix(key.String(), "/"))
	}
	if more := len(keys) - maxNames; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}
