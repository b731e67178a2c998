package process

import (
	"slices"

	"github.com/go-logr/logr"
)

// late keeps the values of a logger until a line is written. zap would encode them at once, and most loggers are those of a reconcile that has nothing to
// say: it took a third of the time of one that finds nothing to do.
type late struct {
	logr.LogSink

	values []any
}

// Info implements logr.LogSink.
func (l late) Info(level int, message string, fields ...any) {
	l.with().Info(level, message, fields...)
}

// Error implements logr.LogSink.
func (l late) Error(err error, message string, fields ...any) {
	l.with().Error(err, message, fields...)
}

// with is the sink that has the values.
func (l late) with() logr.LogSink {
	if len(l.values) == 0 {
		return l.LogSink
	}
	return l.LogSink.WithValues(l.values...)
}

// WithName implements logr.LogSink.
func (l late) WithName(name string) logr.LogSink { return late{l.LogSink.WithName(name), l.values} }

// WithValues implements logr.LogSink.
func (l late) WithValues(fields ...any) logr.LogSink {
	return late{l.LogSink, slices.Concat(l.values, fields)}
}
