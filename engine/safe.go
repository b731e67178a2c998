package engine

import (
	"fmt"

	"github.com/orkspace/orkestra/engine/watch"
	"github.com/orkspace/orkestra/engine/worker"
)

// A panic on a goroutine that nobody guards ends the process, and with it every box. Each goroutine of the engine runs under
// one of these, or under that of engine/watch or engine/pipeline.

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
