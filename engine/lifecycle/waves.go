package lifecycle

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

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

// InWaves gives what has a name in the order of Waves.
func InWaves[T any](named map[string]T, dependsOn func(T) []string) [][]T {
	var waves [][]T
	for _, names := range Waves(slices.Collect(maps.Keys(named)), func(name string) []string { return dependsOn(named[name]) }) {
		wave := make([]T, 0, len(names))
		for _, name := range names {
			wave = append(wave, named[name])
		}
		waves = append(waves, wave)
	}
	return waves
}

// Stopping is how sub-controllers are stopped.
type Stopping[T any] struct {
	Clock clock.WithTicker
	// Timeout is for all of them together.
	Timeout time.Duration
	// Finish tells one to begin nothing any more. It is called after half of the timeout, whatever the turn of the one.
	Finish func(T)
	// Stop ends one, and waits for it. What is under way when over is closed is canceled.
	Stop func(one T, over <-chan time.Time)
}

// Backwards stops waves, the last one first, and waits for all of it.
func (s Stopping[T]) Backwards(waves [][]T) {
	done, over := make(chan struct{}), make(chan time.Time)
	var timing sync.WaitGroup
	timing.Go(func() { s.time(done, over, slices.Concat(waves...)) })
	for _, wave := range slices.Backward(waves) {
		var stopping sync.WaitGroup
		for _, one := range wave {
			stopping.Go(func() { s.Stop(one, over) })
		}
		stopping.Wait()
	}
	close(done)
	timing.Wait()
}

// time calls Finish, and closes over, when it is time; it returns when that is done, or all have stopped.
func (s Stopping[T]) time(done <-chan struct{}, over chan<- time.Time, all []T) {
	half := s.Timeout / 2
	select {
	case <-done:
		return
	case <-s.Clock.After(half):
	}
	for _, one := range all {
		s.Finish(one)
	}
	select {
	case <-done:
	case <-s.Clock.After(s.Timeout - half):
		close(over)
	}
}
