package chaos_test

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// insist tries until it works, as people do when the API server is away.
func (w *world) insist(ctx context.Context, f func(context.Context) error) error {
	var last error
	for {
		err := f(ctx)
		if err == nil || apierrors.IsInvalid(err) {
			return err
		}
		if ctx.Err() == nil || last == nil {
			last = err // an error of a context that ended says nothing
		}
		if nap(ctx, moment) != nil {
			return last
		}
	}
}

// The times between two tries: of one request, and of a comparison of everything, which costs hundreds of objects.
const (
	moment = 20 * time.Millisecond
	while  = 500 * time.Millisecond
)

// breathe waits for writes of the manager, or for a moment if it makes none.
func (w *world) breathe(ctx context.Context, writes int) {
	timer := time.NewTimer(50 * time.Millisecond)
	defer timer.Stop()
	start, more := w.proxy.written()
	for now := start; now < start+writes; now, more = w.proxy.written() {
		select {
		case <-more:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// nap waits between two tries.
func nap(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
