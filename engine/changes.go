package engine

// Which resources are reconciled when something changes that their box reads and does not own.

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/engine/pipeline"
)

// SetDependency says what state a box, or a CRD of another operator, is in now; the zero value: it does not exist. Resources that wait
// for it are reconciled.
func (e *Engine) SetDependency(name string, now pipeline.DependencyState) {
	if !e.dependencies.Set(name, now) {
		return
	}
	for _, b := range e.all() {
		if slices.ContainsFunc(b.plan.Load().DependsOn, func(d pipeline.Dependency) bool { return d.Name == name }) {
			b.wake(name)
		}
	}
}

// wake queues the resources that wait for a dependency. They stand behind fresh events: there may be thousands.
func (b *box) wake(dependency string) {
	b.queue.EnqueueLow(0, b.observer.Waiting(dependency)...)
	b.engine.config.Notifier.BoxChanged(b.name)
}

// RightsChanged has the resources reconciled that lack a right, since it may have been granted. They stand behind fresh events.
func (e *Engine) RightsChanged() {
	for _, b := range e.all() {
		b.queue.EnqueueLow(0, b.cycles.RightsChanged()...)
	}
}

// kindsOf says which kinds boxes serve.
type kindsOf struct{ engine *Engine }

// KindOf implements observe.Boxes.
func (k kindsOf) KindOf(box string) schema.GroupVersionKind {
	b := k.engine.box(box)
	if b == nil {
		return schema.GroupVersionKind{}
	}
	return b.plan.Load().CRD.Kind
}

// kindsChanged has all resources of the boxes reconciled that make or read kinds of a group, of which one was installed or went: a kind is
// no object whose version they could have noted.
func (e *Engine) kindsChanged(group string) {
	of := func(kind schema.GroupVersionKind) bool { return kind.Group == group }
	for _, b := range e.all() {
		if plan := b.plan.Load(); slices.ContainsFunc(plan.ChildKinds, of) || slices.ContainsFunc(plan.CodeKinds(), of) || slices.ContainsFunc(plan.ObservedKinds, of) {
			anew := *plan // reconciles by another plan look at everything
			if b.plan.CompareAndSwap(plan, &anew) {
				b.sweep()
			}
		}
	}
}

// observedChanged queues the resources that have read an object that changed, or whose selectors match it now.
func (e *Engine) observedChanged(kind schema.GroupVersionKind, old, obj *unstructured.Unstructured) {
	e.monitors.Changed(kind, old, obj)
	for _, b := range e.all() {
		b.queue.Enqueue(0, b.observer.Readers(kind, old, obj)...)
	}
}

// boxChanged queues the resources of the boxes that read those of a box that starts, stops, or serves another kind.
func (e *Engine) boxChanged(name string) {
	for _, b := range e.all() {
		if slices.Contains(b.plan.Load().CrossBoxes, name) {
			b.sweep()
		}
	}
}
