package contention

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// Cache reads children from the watch cache.
type Cache interface {
	Get(kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, bool)
}

// throttled writes the children of one resource in one cycle. A child that somebody else keeps changing is not written for a while;
// its outcome says so.
type throttled struct {
	stage.Applier

	cache     Cache
	guard     *Guard
	namespace string // namespace of the resource
	now       time.Time
	resync    time.Duration
}

// Apply implements stage.Applier.
func (a *throttled) Apply(ctx context.Context, owner apply.Owner, child apply.Child) (apply.Outcome, error) {
	name := nameOf(child.Object)
	c := a.guard.of(name)
	if c != nil {
		before := c.throttled()
		live, may := a.mayHold(c, child.Object)
		held := may && c.holds(live, a.now)
		if !before && c.throttled() { // also where the first pause is over already, and nothing is held back yet
			a.guard.began()
			log.FromContext(ctx).Info("Child is corrected less often: somebody else keeps changing it", "message", c.message(name, a.namespace))
		}
		if held {
			return apply.Outcome{Action: apply.None, Object: child.Object, Contention: c.message(name, a.namespace), ReconcileAt: c.next(live)}, nil
		}
	}
	out, err := a.Applier.Apply(ctx, owner, child)
	if err != nil || out.Action != apply.Corrected { // only a correction undoes what somebody else did
		return out, err
	}
	if c == nil {
		c = a.guard.add(name)
	}
	c.corrected(child.Object, out, a.now, a.resync)
	if c.throttled() {
		out.Contention, out.ReconcileAt = c.message(name, a.namespace), c.next(c.version)
	}
	return out, nil
}

// mayHold gives the version of a child in the watch cache. may is false where the child is written in any case: it is gone, or its
// declaration has changed.
func (a *throttled) mayHold(c *contention, declared *unstructured.Unstructured) (live string, may bool) {
	if drift.Hash(declared) != c.content {
		return "", false
	}
	obj, found := a.cache.Get(declared.GroupVersionKind(), declared.GetNamespace(), declared.GetName())
	if found && obj.GetDeletionTimestamp() == nil {
		return obj.GetResourceVersion(), true
	}
	return "", c.lacksLabels()
}
