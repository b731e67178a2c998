package constructor

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/orkspace/orkestra/engine/hook"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// firstPause is the time to the second call of a constructor that has failed.
const firstPause = time.Second

// Making says how a constructor is called.
type Making struct {
	// Clock tells the time.
	Clock clock.Clock
	// Limit is the time after which a call that has not returned is a failure. It can't be ended.
	Limit time.Duration
	// Most is the longest pause between two calls, as it is now.
	Most func() time.Duration
	// Failed is told of each failure.
	Failed func(err error)
}

// Construct calls the constructor until it gives a reconciler, with pauses that double, and says whether it did: it is false where ctx ends first.
func (c *Code) Construct(ctx context.Context, how Making) bool {
	for pause := firstPause; ; pause = min(2*pause, how.Most()) {
		err := c.timed(how)
		if err == nil {
			return true
		}
		how.Failed(err)
		select {
		case <-how.Clock.After(pause):
		case <-ctx.Done():
			return false
		}
	}
}

// timed calls the constructor once, and tells when that takes too long.
func (c *Code) timed(how Making) error {
	returned := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-returned:
		case <-how.Clock.After(how.Limit):
			how.Failed(fmt.Errorf("constructor %s has not returned within %s: nothing of this box is reconciled, and it can't end or start anew, until it does, or the manager is restarted", c.config.Code.Name, how.Limit))
		}
	})
	defer watching.Wait()
	defer close(returned)
	return c.make()
}

// errNoReconciler says that a constructor gives nothing.
var errNoReconciler = errors.New("it gives no reconciler, and no error")

// make calls the constructor.
func (c *Code) make() error {
	var made reconcile.Reconciler
	err := stage.Contain(func() (err error) {
		made, err = c.config.Code.New(hook.Environment{
			Client: c.client, Indexer: c.indexes, Scheme: c.config.Scheme, Recorder: c.recorder(), Log: c.config.Log.WithName("constructor"), Args: c.config.Code.Args,
		})
		return err
	})
	if p, ok := errors.AsType[*stage.PanicError](err); ok {
		c.config.Panicked(p.Value, p.Stack)
	}
	if v := reflect.ValueOf(made); err == nil && (!v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()) {
		err = errNoReconciler
	}
	if err != nil {
		return fmt.Errorf("constructor %s: %w", c.config.Code.Name, err)
	}
	c.reconciler = made
	return nil
}
