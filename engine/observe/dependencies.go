package observe

import (
	"sync"

	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// Dependencies are how boxes fare, and CRDs that other operators run, by the names of their CRDHealths. The zero value knows none. They
// are safe for concurrent use.
type Dependencies struct {
	mu  sync.RWMutex
	all map[string]stage.DependencyState // guarded by mu
}

// Of says how one fares; the zero value: there is none.
func (d *Dependencies) Of(name string) stage.DependencyState {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.all[name]
}

// Set says how one fares now, and gives whether anything has changed.
func (d *Dependencies) Set(name string, now stage.DependencyState) (changed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all[name] == now {
		return false
	}
	if now == (stage.DependencyState{}) {
		delete(d.all, name)
		return true
	}
	if d.all == nil {
		d.all = map[string]stage.DependencyState{}
	}
	d.all[name] = now
	return true
}
