package cycle

import (
	"context"
	"time"

	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/engine/history"
	"github.com/orkspace/orkestra/engine/metrics"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/tracing"
)

// laps measures the stages of one cycle, which run one after the other, and makes their spans. It is used by one goroutine.
type laps struct {
	clock    clock.PassiveClock
	recorder *metrics.Recorder
	box      string
	last     time.Time      // when the step that runs has begun
	span     *tracing.Span  // of the step that runs; nil: none runs, or there is no trace
	kept     *history.Cycle // what is remembered of the cycle; nil: nothing
}

// Begin implements stage.Laps.
func (l *laps) Begin(ctx context.Context, step string) context.Context {
	l.abandon()
	ctx, l.span = tracing.Stage(ctx, step)
	return ctx
}

// Lap implements stage.Laps.
func (l *laps) Lap(step string, err error) {
	now := l.clock.Now()
	l.recorder.StageEnded(l.box, step, now.Sub(l.last))
	if l.kept != nil {
		l.kept.Stages = append(l.kept.Stages, history.Stage{Name: step, Took: now.Sub(l.last)})
	}
	l.last = now
	failure := ""
	if err != nil {
		failure = string(pipeline.Classify(step, err).Class)
	}
	l.span.End(failure)
	l.span = nil
}

// abandon ends the span of a step that has not come to its end, since it has panicked.
func (l *laps) abandon() {
	l.span.End(string(pipeline.Panic))
	l.span = nil
}

// endTrace ends the trace of a cycle, however that ended.
func (r *Record) endTrace(span *tracing.Span, last *laps) {
	last.abandon()
	o := tracing.Outcome{Action: string(r.Decision.Action), Result: r.result(), Class: string(r.Class)}
	if step := r.failure(); step != nil {
		o.Stage, o.Reason = step.Step, step.Reason
	}
	span.Conclude(o)
}
