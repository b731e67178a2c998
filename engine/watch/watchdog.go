package watch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
)

// DefaultQuiet is how long a watch may be without an event. The API server sends a bookmark about once a minute where nothing happens.
const DefaultQuiet = 5 * time.Minute

// watchdog knows when the API server last sent something, and ends requests and watches that are quiet for too long. A connection that is
// stuck (a proxy that dropped it without a word) looks like a kind where nothing happens, and nothing in client-go would notice.
type watchdog struct {
	clock    clock.WithTicker
	limit    time.Duration // how long a watch may tell nothing
	last     atomic.Pointer[time.Time]
	routines sync.WaitGroup // one for each request and watch
}

// heard notes that the API server has answered, or told something.
func (d *watchdog) heard() { d.last.Store(new(d.clock.Now())) }

// age is how long nothing has been heard.
func (d *watchdog) age() time.Duration {
	last := d.last.Load()
	if last == nil {
		return 0 // it has not been started
	}
	return d.clock.Since(*last)
}

// errQuiet says why a request was given up.
var errQuiet = errors.New("the API server has told nothing for too long")

// giveUp cancels a request that is not answered in time. The request is over when answered is called.
func (d *watchdog) giveUp(ctx context.Context, cancel context.CancelCauseFunc) (answered func()) {
	over := make(chan struct{})
	timer := d.clock.NewTimer(d.limit)
	d.routines.Go(func() {
		defer timer.Stop()
		select {
		case <-timer.C():
			cancel(errQuiet)
		case <-over:
		case <-ctx.Done():
		}
	})
	return func() { close(over) }
}

// explained adds to the error of a request that was given up why it was: "context canceled" alone does not say.
func (d *watchdog) explained(ctx context.Context, err error) error {
	if err == nil || !errors.Is(context.Cause(ctx), errQuiet) {
		return err
	}
	return fmt.Errorf("%w (%s): %w", errQuiet, d.limit, err)
}

// open opens a watch that ends with an error when it is quiet for too long, after which the reflector lists again. A request for a watch
// that is not answered is given up after the same time.
func (i *informer) open(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	answered := i.watchdog.giveUp(ctx, cancel)
	stream, err := i.requests().Watch(ctx, options)
	answered()
	if err != nil {
		cancel(err)
		return nil, i.watchdog.explained(ctx, err)
	}
	i.watchdog.heard()
	w := &watchedStream{informer: i, stream: stream, events: make(chan apiwatch.Event), stop: make(chan struct{})}
	i.watchdog.routines.Go(func() {
		defer cancel(nil)
		defer close(w.events)
		defer stream.Stop()
		i.guard(func() { w.run(ctx) })
	})
	return w, nil
}

// watchedStream is a watch that ends when it tells nothing for too long.
type watchedStream struct {
	informer *informer
	stream   apiwatch.Interface
	events   chan apiwatch.Event
	stop     chan struct{}
	once     sync.Once
}

// ResultChan implements apiwatch.Interface.
func (w *watchedStream) ResultChan() <-chan apiwatch.Event { return w.events }

// Stop implements apiwatch.Interface. It does not wait.
func (w *watchedStream) Stop() { w.once.Do(func() { close(w.stop) }) }

// run passes on what the watch tells, until it ends or has told nothing for too long.
func (w *watchedStream) run(ctx context.Context) {
	i := w.informer
	timer := i.watchdog.clock.NewTimer(i.watchdog.limit)
	defer timer.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-ctx.Done():
			return
		case event, ok := <-w.stream.ResultChan():
			if !ok {
				return
			}
			if event, passes := i.pass(event); passes && !w.pass(ctx, event) {
				return
			}
			i.watchdog.heard()
			timer.Reset(i.watchdog.limit)
		case <-timer.C():
			i.log.Info("Watch has told nothing for too long: listing again", "limit", i.watchdog.limit.String())
			// 410 Expired is the error after which a reflector lists again; after others it would watch on from its last version.
			w.pass(ctx, apiwatch.Event{Type: apiwatch.Error, Object: &metav1.Status{
				Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired, Message: errQuiet.Error(),
			}})
			return
		}
	}
}

// pass hands an event to the reader. It says false where the watch has ended meanwhile.
func (w *watchedStream) pass(ctx context.Context, event apiwatch.Event) bool {
	select {
	case w.events <- event:
		return true
	case <-w.stop:
	case <-ctx.Done():
	}
	return false
}
