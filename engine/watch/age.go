package watch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"
)

// DefaultQuiet is how long a watch may tell nothing. The API server sends a bookmark about once a minute where nothing happens.
const DefaultQuiet = 5 * time.Minute

// Ages are told of every watch, so that how long each has told nothing is known.
type Ages interface {
	// Watch notes the watch of a resource, such as deployments.apps, of which there may be several, until forget is called.
	// age may be called at any time.
	Watch(resource string, age func() time.Duration) (forget func())
}

// noAges notes nothing.
type noAges struct{}

// Watch implements Ages.
func (noAges) Watch(string, func() time.Duration) func() { return func() {} }

// heard notes that the API server has answered, or told something.
func (i *informer) heard() { i.lastHeard.Store(new(i.clock.Now())) }

// age is how long nothing has been heard.
func (i *informer) age() time.Duration {
	last := i.lastHeard.Load()
	if last == nil {
		return 0 // it has not been started
	}
	return i.clock.Since(*last)
}

// errQuiet says why a request was given up.
var errQuiet = errors.New("the API server has told nothing for too long")

// open opens a watch that ends by itself when it tells nothing for too long: whoever reads it then lists again. A connection
// that is stuck looks like a kind where nothing happens. It is given up in the same time where it is not even answered.
func (i *informer) open(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	answered := i.giveUp(ctx, cancel)
	stream, err := i.requests.Watch(ctx, options)
	answered()
	if err != nil {
		cancel(err)
		return nil, i.explained(ctx, err)
	}
	i.heard()
	m := &minded{informer: i, stream: stream, events: make(chan apiwatch.Event), stop: make(chan struct{})}
	i.streams.Go(func() {
		defer cancel(nil)
		defer close(m.events)
		defer stream.Stop()
		i.guard(func() { m.run(ctx) })
	})
	return m, nil
}

// giveUp cancels a request that is not answered in time. The request is over when answered is called.
func (i *informer) giveUp(ctx context.Context, cancel context.CancelCauseFunc) (answered func()) {
	over := make(chan struct{})
	timer := i.clock.NewTimer(i.quiet)
	i.streams.Go(func() {
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

// explained says of a request that was given up why it was.
func (i *informer) explained(ctx context.Context, err error) error {
	if err == nil || !errors.Is(context.Cause(ctx), errQuiet) {
		return err
	}
	return fmt.Errorf("%w (%s): %w", errQuiet, i.quiet, err)
}

// minded is a watch that is minded.
type minded struct {
	informer *informer
	stream   apiwatch.Interface
	events   chan apiwatch.Event
	stop     chan struct{}
	once     sync.Once
}

// ResultChan implements apiwatch.Interface.
func (m *minded) ResultChan() <-chan apiwatch.Event { return m.events }

// Stop implements apiwatch.Interface. It does not wait.
func (m *minded) Stop() { m.once.Do(func() { close(m.stop) }) }

// run passes on what the watch tells, until it ends or has told nothing for too long.
func (m *minded) run(ctx context.Context) {
	i := m.informer
	timer := i.clock.NewTimer(i.quiet)
	defer timer.Stop()
	for {
		select {
		case <-m.stop:
			return
		case <-ctx.Done():
			return
		case event, ok := <-m.stream.ResultChan():
			if !ok || !m.pass(ctx, event) {
				return
			}
			i.heard()
			timer.Reset(i.quiet)
		case <-timer.C():
			i.log.Info("Watch has told nothing for too long: listing again", "limit", i.quiet.String())
			// Of all errors, this is the one after which a reflector lists again.
			m.pass(ctx, apiwatch.Event{Type: apiwatch.Error, Object: &metav1.Status{
				Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired, Message: errQuiet.Error(),
			}})
			return
		}
	}
}

func (m *minded) pass(ctx context.Context, event apiwatch.Event) bool {
	select {
	case m.events <- event:
		return true
	case <-m.stop:
	case <-ctx.Done():
	}
	return false
}
