package cycle

import (
	"time"

	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/engine/metrics"
)

// laps measures the stages of one cycle, which run one after the other. It is used by one goroutine.
type laps struct {
	clock    clock.PassiveClock
	recorder *metrics.Recorder
	box      string
	last     time.Time // when the step that runs has begun
}

// Lap implements stage.Laps.
func (l *laps) Lap(step string) {
	now := l.clock.Now()
	l.recorder.StageEnded(l.box, step, now.Sub(l.last))
	l.last = now
}
