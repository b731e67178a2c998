package manager

import (
	"context"
	"errors"
	"slices"

	"github.com/go-logr/logr"
)

// What controller-runtime logs, and its error, when the lease is given up because the process was asked to end. It has no value for
// that error. A lease that is lost while the manager runs is what Start returns, and is no matter of this line.
const (
	afterStop     = "error received after stop sequence was engaged"
	leaseReleased = "leader election lost"
)

// calmStop logs at level info that the lease was given up on the way out, and that what was under way was given up: only this process
// cancels its own work, and to end is no error.
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
