package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// overdue are the resources of a box whose reconcile is past its deadline and does not end: something in it does not heed its
// context. Each of them keeps its worker and its key, and nothing that it sends is sent any more; but it has given its slot back,
// so that other boxes go on. A box has no more of them than it has workers: then it is stuck.
type overdue struct {
	mu  sync.Mutex
	all map[types.NamespacedName]bool // guarded by mu
}

func (o *overdue) set(key types.NamespacedName, is bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !is {
		delete(o.all, key)
		return
	}
	if o.all == nil {
		o.all = map[types.NamespacedName]bool{}
	}
	o.all[key] = true
}

func (o *overdue) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.all)
}

// maxOverdueNames is how many resources a message names.
const maxOverdueNames = 3

// names gives some of the resources in words, sorted.
func (o *overdue) names() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var names []string
	for key := range o.all {
		names = append(names, strings.TrimPrefix(key.String(), "/"))
	}
	slices.Sort(names)
	if more := len(names) - maxOverdueNames; more > 0 {
		names = append(names[:maxOverdueNames], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// lapses takes the slot from a look when ctx ends at its deadline, until the function that it gives is called.
func (b *box) lapses(ctx context.Context, key types.NamespacedName, place *slot) (ended func()) {
	lapsed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(lapsed)
		place.lapse()
		b.overdue.set(key, true)
		b.engine.config.Changed(b.name)
	})
	return func() {
		if stop() {
			return
		}
		<-lapsed
		place.goOn()
		b.overdue.set(key, false)
		b.engine.config.Changed(b.name)
	}
}

// stuckOn says why nothing of the box is reconciled although it runs; empty: it is.
func (b *box) stuckOn(workers int) string {
	if b.overdue.count() < workers {
		return ""
	}
	return fmt.Sprintf("all %d workers are in reconciles that took longer than %s and do not end: %s; nothing else of this box is reconciled "+
		"until they do, or the manager is restarted", workers, b.engine.config.ReconcileTimeout, b.overdue.names())
}
