package contention

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// throttledPatcher sets the patches of one resource in one cycle. One that somebody else keeps undoing is not set for a while; its outcome says so.
type throttledPatcher struct {
	stage.Patcher

	guard     *Guard
	namespace string // namespace of the resource
	now       time.Time
	resync    time.Duration
}

// Patcher gives what sets the patches of a resource in one cycle. Taking them back is not throttled.
func (g *Guard) Patcher(patcher stage.Patcher, resource *unstructured.Unstructured, now time.Time, resync time.Duration) stage.Patcher {
	return &throttledPatcher{Patcher: patcher, guard: g, namespace: resource.GetNamespace(), now: now, resync: resync}
}

// Patch implements stage.Patcher. A patch that sets again what it has set before undoes what somebody else did.
func (p *throttledPatcher) Patch(ctx context.Context, patch apply.Patch, live *unstructured.Unstructured) (apply.Outcome, error) {
	name := nameOf(patch.Object)
	name.patch = patch.Manager
	c := p.guard.of(name)
	again := c != nil && c.content == drift.Hash(patch.Object)
	if again {
		before, version := c.throttled(), live.GetResourceVersion()
		held := c.holds(version, p.now)
		if !before && c.throttled() {
			p.guard.began()
			log.FromContext(ctx).Info("Patch is set less often: somebody else keeps undoing it", "message", c.message(name, p.namespace))
		}
		if held {
			return apply.Outcome{Action: apply.None, Object: live, Contention: c.message(name, p.namespace), ReconcileAt: c.next(version)}, nil
		}
	}
	out, err := p.Patcher.Patch(ctx, patch, live)
	if err != nil || out.Action == apply.None {
		return out, err
	}
	if !again {
		c = p.guard.add(name)
	} else {
		out.Action = apply.Corrected
	}
	c.corrected(patch.Object, out, p.now, p.resync)
	if c.throttled() {
		out.Contention, out.ReconcileAt = c.message(name, p.namespace), c.next(c.version)
	}
	return out, nil
}
