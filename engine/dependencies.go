package engine

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// dependencies are the states of boxes, and of CRDs that other operators run, by the names of their CRDHealths. The zero value knows none.
type dependencies struct {
	mu  sync.RWMutex
	all map[string]pipeline.DependencyState // guarded by mu
}

func (s *dependencies) of(name string) pipeline.DependencyState {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.all[name]
}

// set says whether anything has changed.
func (s *dependencies) set(name string, now pipeline.DependencyState) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[name] == now {
		return false
	}
	if now == (pipeline.DependencyState{}) {
		delete(s.all, name)
		return true
	}
	if s.all == nil {
		s.all = map[string]pipeline.DependencyState{}
	}
	s.all[name] = now
	return true
}

// SetDependency tells the state of a box now, or of a CRD that another operator runs; the zero value: there is neither. What waits for
// it is looked at.
func (e *Engine) SetDependency(name string, now pipeline.DependencyState) {
	if !e.dependencies.set(name, now) {
		return
	}
	for _, b := range e.all() {
		if slices.ContainsFunc(b.plan.Load().DependsOn, func(d pipeline.Dependency) bool { return d.Name == name }) {
			b.wake(name)
		}
	}
}

// wake queues the resources that wait for a dependency. They stand behind fresh events: there may be thousands.
func (b *box) wake(name string) {
	for _, key := range b.interests.reading(dependencyOf(name)) {
		b.queue.EnqueueLow(0, key)
	}
	b.engine.config.Changed(b.name)
}

// dependencyOf is the interest in the state of a box.
func dependencyOf(name string) interest {
	return interest{kind: v1alpha1.GroupVersion.WithKind("CRDHealth"), name: name}
}

// reading gives the resources that have read one object by its name.
func (i *interests) reading(in interest) []types.NamespacedName {
	i.mu.RLock()
	defer i.mu.RUnlock()
	var keys []types.NamespacedName
	for key := range i.named[objectName{kind: in.kind, namespace: in.namespace, name: in.name}] {
		keys = append(keys, key)
	}
	return keys
}

// stillAsked are the interests of a resource after a cycle: one that is Active waits for no dependency any more.
func stillAsked(run *pipeline.Run, asked []interest) []interest {
	if !run.Active() {
		return asked
	}
	return slices.DeleteFunc(asked, func(in interest) bool { return in.selector == nil && in == dependencyOf(in.name) })
}

// Dependency implements pipeline.Observer.
func (b *box) Dependency(name string) pipeline.DependencyState { return b.engine.dependencies.of(name) }

// Dependency implements pipeline.Observer.
func (o observer) Dependency(name string) pipeline.DependencyState {
	o.note(dependencyOf(name))
	return o.box.Dependency(name)
}

// dependencies says which dependencies of a plan are met, and what the first one lacks that is not.
func (b *box) dependencies(plan *pipeline.Plan) (all []v1alpha1.DependencyStatus, first string) {
	for _, d := range plan.DependsOn {
		unmet := d.Unmet(b.Dependency(d.Name))
		if first == "" {
			first = unmet
		}
		all = append(all, v1alpha1.DependencyStatus{Name: d.Name, Condition: d.Condition, Met: unmet == ""})
	}
	return all, first
}
