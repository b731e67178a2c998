package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/watch"
	"github.com/orkspace/orkestra/engine/worker"
)

// A panic on a goroutine that nobody guards ends the process, and with it every box. Each goroutine of the engine runs under
// one of these, or under that of engine/watch or engine/pipeline.

// guard runs f and turns a panic into one that is logged and counted.
func (e *Engine) guard(f func()) { worker.Guard(f, e.panicked) }

// panicked notes a panic in what all boxes share.
func (e *Engine) panicked(p any, stack []byte) {
	e.config.Metrics.Panicked("")
	e.config.Log.Error(fmt.Errorf("panic: %v", p), "Panic was caught", "stack", string(stack))
}

// guard runs f and turns a panic into a logged, counted problem of this box alone.
func (b *box) guard(f func()) {
	worker.Guard(f, func(p any, stack []byte) {
		b.panicked(p, stack)
		b.stuck(fmt.Errorf("panic: %v", p))
	})
}

func (b *box) panicked(p any, stack []byte) {
	b.engine.config.Metrics.Panicked(b.name)
	b.log.Error(fmt.Errorf("panic: %v", p), "Panic was caught", "stack", string(stack))
}

// safely looks at a resource. A panic outside of the stages, which are guarded by themselves, is an error of this resource
// alone, too: it is tried again.
func (b *box) safely(key types.NamespacedName, look func()) {
	worker.Guard(look, func(p any, stack []byte) {
		b.panicked(p, stack)
		b.soon(key, b.afterPanic(key, p))
	})
}

// afterPanic counts a look that panicked, and says when the next one is due.
func (b *box) afterPanic(key types.NamespacedName, p any) time.Duration {
	resync := b.plan.Load().Runtime.Resync
	stored, found := b.resources.Get(key)
	if !found {
		return resync
	}
	b.tracker.Observe(health.Observation{
		Resource: key, Counts: true, Failed: true, Reason: v1alpha1.ReasonReconcileError, Step: stepReconcile, Message: fmt.Sprintf("panic: %v", p), Revision: b.plan.Load().Revision,
	})
	st := b.states.of(key, stored.GetUID())
	st.inputs, st.class = nil, pipeline.Panic
	delay, _ := st.backoff.Next(resync)
	st.wait(b.engine.config.Clock.Now(), delay)
	return delay
}

// named says of a step that the deadline has ended that this is what ended it.
func (b *box) named(ctx context.Context, err error) error {
	if err == nil || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return err
	}
	step := pipeline.AsStepError(err)
	if step.Class != pipeline.Transient {
		return err
	}
	return &pipeline.StepError{Step: step.Step, Class: step.Class, Err: fmt.Errorf(
		"the reconcile took longer than %s and was ended: %w", b.engine.config.ReconcileTimeout, step.Err)}
}

// stepReconcile is the step of what went wrong outside of the stages.
const stepReconcile = "reconcile"

func (e *Engine) watchConfig() watch.Config {
	return watch.Config{
		Client: e.dynamic, Mapper: e.config.Mapper, Log: e.config.Log.WithName("watch"), Clock: e.config.Clock,
		Quiet: e.config.QuietWatch, Ages: e.config.Metrics, Panicked: e.panicked,
	}
}

// watchConfig is that of the box's own resources.
func (b *box) watchConfig() watch.Config {
	config := b.engine.watchConfig()
	config.Log, config.Panicked = b.log.WithName("watch"), b.panicked
	return config
}
