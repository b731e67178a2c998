package observe

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// Dependencies are the states of boxes, and of CRDs that other operators run, by the names of their CRDHealths. The zero value knows
// none. They are safe for concurrent use.
type Dependencies struct {
	mu  sync.RWMutex
	all map[string]stage.DependencyState // guarded by mu
}

// Of gives the state of one of them; the zero value: there is none of that name.
func (d *Dependencies) Of(name string) stage.DependencyState {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.all[name]
}

// Set sets the state of one of them, and says whether it has changed. The zero value removes it.
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

// Dependencies says which of several dependencies are met, and what the first one lacks that is not.
func (o *Observer) Dependencies(of []stage.Dependency) (all []v1alpha1.DependencyStatus, first string) {
	for _, d := range of {
		unmet := d.Unmet(o.Dependency(d.Name))
		if first == "" {
			first = unmet
		}
		all = append(all, v1alpha1.DependencyStatus{Name: d.Name, Condition: d.Condition, Met: unmet == ""})
	}
	return all, first
}

// Waiting are the resources that have asked for a dependency.
func (o *Observer) Waiting(dependency string) []types.NamespacedName {
	return o.interests.in(dependencyOf(dependency))
}

// dependencyOf is what a resource is interested in that waits for a dependency. Boxes, and CRDs of other operators, have a CRDHealth of
// that name; it is not read here, but names the interest.
func dependencyOf(name string) object {
	return object{kind: v1alpha1.GroupVersion.WithKind("CRDHealth"), name: name}
}
