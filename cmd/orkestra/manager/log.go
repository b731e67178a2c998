package manager

import (
	"context"
	"errors"
	"slices"

	"github.com/go-logr/logr"
)

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
