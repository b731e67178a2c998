package process

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"go.uber.org/zap/zapcore"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/orkspace/orkestra/cmd/orkestra/output"
)

// Logger gives the logger of the process.
func (f *Flags) Logger() (logr.Logger, error) {
	level, err := levelOf(f.logLevel)
	if err != nil {
		return logr.Logger{}, fmt.Errorf("--log-level %w", err)
	}
	f.level.SetLevel(level)
	// No stacks with errors: they are mostly about what users wrote, and a stack does not help there. Panics are logged with theirs.
	options := []zap.Opts{zap.Level(f.level), zap.StacktraceLevel(zapcore.DPanicLevel)}
	switch strings.ToLower(f.logFormat) {
	case output.JSON:
		options = append(options, zap.JSONEncoder())
	case output.Text:
		options = append(options, zap.ConsoleEncoder())
	default:
		return logr.Logger{}, fmt.Errorf("--log-format %q: wanted json or text", f.logFormat)
	}
	logger := zap.New(options...)
	return logger.WithSink(calmStop{late{LogSink: logger.GetSink()}}), nil
}

// What controller-runtime logs, with which error, when the lease is released because the process was asked to end. The error has no
// exported value, so it is known by its text. When the lease is lost while the manager runs, Start returns an error, and this is not logged.
const (
	afterStop     = "error received after stop sequence was engaged"
	leaseReleased = "leader election lost"
)

// calmStop logs at level info what an orderly stop brings with it: that the lease was released, and that requests under way were canceled.
// Contexts are canceled only by this process itself, when it stops something, so that is no error.
type calmStop struct{ logr.LogSink }

// Error implements logr.LogSink.
func (c calmStop) Error(err error, message string, fields ...any) {
	if message == afterStop && err != nil && err.Error() == leaseReleased {
		c.Info(0, "Lease released")
		return
	}
	if errors.Is(err, context.Canceled) {
		c.Info(0, message, append(slices.Clone(fields), "reason", err.Error())...)
		return
	}
	c.LogSink.Error(err, message, fields...)
}

// WithName implements logr.LogSink.
func (c calmStop) WithName(name string) logr.LogSink { return calmStop{c.LogSink.WithName(name)} }

// WithValues implements logr.LogSink.
func (c calmStop) WithValues(fields ...any) logr.LogSink {
	return calmStop{c.LogSink.WithValues(fields...)}
}

// late keeps the values of a logger until a line is written. zap would encode them at once, and most loggers are those of a reconcile that has nothing to
// say: it took a third of the time of one that finds nothing to do.
type late struct {
	logr.LogSink

	values []any
}

// Info implements logr.LogSink.
func (l late) Info(level int, message string, fields ...any) {
	// A sink of its own for the values of one line would cost as much as the line.
	l.LogSink.Info(level, message, slices.Concat(l.values, fields)...)
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
