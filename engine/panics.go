package engine

import (
	"fmt"

	"github.com/orkspace/orkestra/engine/worker"
)

// A panic on a goroutine that does not recover ends the process, and with it every box. So each goroutine of the engine runs under
// worker.Guard with one of the handlers below; engine/watch and engine/pipeline guard their own.

// panicked handles a panic in what all boxes share: it is logged and counted under no box.
func (e *Engine) panicked(p any, stack []byte) {
	e.config.Metrics.Panicked("")
	e.config.Log.Error(fmt.Errorf("panic: %v", p), "Panic was caught", "stack", string(stack))
}

// guard runs f and turns a panic into a logged, counted problem of this box alone.
func (b *box) guard(f func()) {
	worker.Guard(f, func(p any, stack []byte) {
		b.panicked(p, stack)
		b.reportProblem(fmt.Errorf("panic: %v", p))
	})
}

// panicked handles a panic of this box: it is logged and counted under its name.
func (b *box) panicked(p any, stack []byte) {
	b.engine.config.Metrics.Panicked(b.name)
	b.log.Error(fmt.Errorf("panic: %v", p), "Panic was caught", "stack", string(stack))
}
