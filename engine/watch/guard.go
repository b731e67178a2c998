package watch

// What client-go calls of ours, with panics recovered: in a handler, a request and a transform.

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

func (i *informer) guard(f func()) { guard(i.panicked, f) }

// guard runs f, and turns a panic into one that is logged and counted: it would end the process otherwise, and with it every
// box.
func guard(panicked func(p any, stack []byte), f func()) {
	defer func() {
		if p := recover(); p != nil {
			panicked(p, debug.Stack())
		}
	}()
	f()
}

// logPanic is the default of Config.Panicked.
func (c Config) logPanic(p any, stack []byte) {
	c.Log.Error(fmt.Errorf("panic: %v", p), "Panic was caught", "stack", string(stack))
}

// guarded passes the events of an informer on. An event whose handler panics is lost; those after it are handled.
type guarded struct {
	informer *informer
	next     cache.ResourceEventHandler
}

var _ cache.ResourceEventHandler = guarded{}

// OnAdd implements cache.ResourceEventHandler.
func (g guarded) OnAdd(item any, initial bool) {
	g.informer.held.change(nil, objectOf(item))
	g.informer.guard(func() { g.next.OnAdd(item, initial) })
}

// OnUpdate implements cache.ResourceEventHandler.
func (g guarded) OnUpdate(old, item any) {
	g.informer.held.change(objectOf(old), objectOf(item))
	g.informer.guard(func() { g.next.OnUpdate(old, item) })
}

// OnDelete implements cache.ResourceEventHandler.
func (g guarded) OnDelete(item any) {
	g.informer.held.change(objectOf(item), nil)
	g.informer.guard(func() { g.next.OnDelete(item) })
}

// errPanicked is the error of a request that panicked: the reflector then tries again.
var errPanicked = errors.New("a panic was caught; see the log")

// guardedRequest is a request of an informer that fails where it panics.
func guardedRequest[T any](
	i *informer, request func(context.Context, metav1.ListOptions) (T, error),
) func(context.Context, metav1.ListOptions) (T, error) {
	return func(ctx context.Context, options metav1.ListOptions) (answer T, err error) {
		err = errPanicked // stays where request does not return
		i.guard(func() { answer, err = request(ctx, options) })
		return answer, err
	}
}

// guardedTransform is a transform after which an object for which it panics is stored as it is.
func (i *informer) guardedTransform(next cache.TransformFunc) cache.TransformFunc {
	return func(item any) (out any, err error) {
		out = item
		i.guard(func() { out, err = next(item) })
		return out, err
	}
}
