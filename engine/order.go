package engine

// Leadership, and the order in which boxes start and stop: after, and before, those that they depend on.

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/engine/worker"
)

// leadership says whether this process leads, and since when. It is safe for concurrent use.
type leadership struct {
	clock   clock.PassiveClock
	once    sync.Once
	leading chan struct{} // closed when this process leads
	led     time.Time     // when it began to; set before leading is closed
}

// startLeading notes that this process leads. It is called once.
func (l *leadership) startLeading() {
	l.led = l.clock.Now()
	close(l.leading)
}

// Leading says whether this process leads.
func (l *leadership) Leading() bool {
	select {
	case <-l.leading:
		return true
	default:
		return false
	}
}

// settleTime is how long a process that begins to lead may take until its boxes run.
const settleTime = 10 * time.Second

// Settling is how long boxes that ran under the former leader may still be starting. Until then, the status that was last written of
// them stays as it is: a restart of the manager should not show every box as Starting. 0: that time is over.
func (l *leadership) Settling() time.Duration {
	if !l.Leading() {
		return settleTime
	}
	return max(0, settleTime-max(0, l.clock.Since(l.led)))
}

// Waves puts names in an order in which they can be started: what a name depends on stands in an earlier wave, or is none of the
// names. Inside a wave names are sorted. A cycle of dependencies has no such order: it is entered at its first name.
func Waves(names []string, dependsOn func(name string) []string) [][]string {
	const underWay = -1 // its depth is being computed: meeting it again means a cycle, whose last edge is ignored
	depths := map[string]int{}
	for _, name := range names {
		depths[name] = 0
	}
	var depth func(name string) int
	depth = func(name string) int {
		if depths[name] != 0 {
			return max(0, depths[name])
		}
		depths[name] = underWay
		deepest := 0
		for _, other := range dependsOn(name) {
			if _, among := depths[other]; among && other != name {
				deepest = max(deepest, depth(other))
			}
		}
		depths[name] = deepest + 1
		return depths[name]
	}
	var waves [][]string
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		at := depth(name)
		for len(waves) < at {
			waves = append(waves, nil)
		}
		waves[at-1] = append(waves[at-1], name)
	}
	return waves
}

// inWaves gives boxes in the order in which they are started.
func inWaves(boxes map[string]*box) [][]*box {
	dependsOn := func(name string) []string {
		var names []string
		for _, d := range boxes[name].plan.Load().DependsOn {
			names = append(names, d.Name)
		}
		return names
	}
	var waves [][]*box
	for _, names := range Waves(slices.Collect(maps.Keys(boxes)), dependsOn) {
		wave := make([]*box, 0, len(names))
		for _, name := range names {
			wave = append(wave, boxes[name])
		}
		waves = append(waves, wave)
	}
	return waves
}

// Lead starts the workers of all boxes, now and in future. Call it once this process leads. Boxes whose caches are full already are
// started after those that they depend on; the others as soon as their caches are full.
func (e *Engine) Lead() {
	e.once.Do(func() {
		e.mu.Lock()
		e.startLeading()
		ready := maps.Clone(e.boxes)
		maps.DeleteFunc(ready, func(_ string, b *box) bool { return !b.waits })
		e.mu.Unlock()
		for _, wave := range inWaves(ready) {
			for _, b := range wave {
				close(b.turn)
			}
			for _, b := range wave {
				<-b.begun // closed also when a box ends before it starts, so this does not wait for ever
			}
		}
	})
}

// awaitTurn waits until this process leads, and it is the box's turn to start. It says false where the box ends before.
func (b *box) awaitTurn(ctx context.Context) bool {
	// Under the engine's lock, so that Lead either sees that this box waits, or this box sees that the process leads.
	b.engine.mu.Lock()
	leads := b.engine.Leading()
	b.waits = !leads
	b.engine.mu.Unlock()
	if leads {
		return ctx.Err() == nil
	}
	select {
	case <-ctx.Done():
		return false
	case <-b.turn:
		return true
	}
}

// hasBegun notes that the workers run, or never will.
func (l *life) hasBegun() { l.begin.Do(func() { close(l.begun) }) }

// stopAll stops boxes, each before those that it depends on. All of them together have the shutdown timeout: after half of it, no box
// begins a reconcile any more, whatever its turn; at its end, the reconciles that are under way are canceled.
func (e *Engine) stopAll(boxes map[string]*box) {
	done, over := make(chan struct{}), make(chan time.Time)
	var timing sync.WaitGroup
	timing.Go(func() {
		half := e.config.ShutdownTimeout / 2
		select {
		case <-done:
			return
		case <-e.config.Clock.After(half):
		}
		for _, b := range boxes {
			b.cancel()
		}
		select {
		case <-done:
		case <-e.config.Clock.After(e.config.ShutdownTimeout - half):
			close(over)
		}
	})
	for _, wave := range slices.Backward(inWaves(boxes)) {
		var stopping sync.WaitGroup
		for _, b := range wave {
			stopping.Go(func() { worker.Guard(func() { b.stop(over) }, e.panicked) })
		}
		stopping.Wait()
	}
	close(done)
	timing.Wait()
}
