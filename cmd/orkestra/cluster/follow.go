package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Watching gives a client whose watches do not end.
func (c *Cluster) Watching() (client.WithWatch, error) {
	config := rest.CopyConfig(c.Config)
	config.Timeout = 0
	watching, err := client.NewWithWatch(config, client.Options{Scheme: c.Client.Scheme(), Mapper: c.Client.RESTMapper()})
	if err != nil {
		return nil, fmt.Errorf("making a client for %s: %w", config.Host, err)
	}
	return watching, nil
}

// followPause is how long it takes until a watch that has ended is made again.
const followPause = time.Second

// See is called with each object that is followed: as it is, as it becomes, and as it was last when it is gone. done ends the following.
type See func(obj *unstructured.Unstructured, gone bool) (done bool, err error)

// Follow is what is followed.
type Follow struct {
	// Client lists and watches.
	Client client.WithWatch
	// Kind of the objects.
	Kind schema.GroupVersionKind
	// Options say which objects.
	Options []client.ListOption
	// Synced is called once, after those objects were seen that are there at first; nil: nobody wants to know.
	Synced func() (done bool, err error)
}

// Run tells of the objects until something is done, fails, or the context ends: the error is that of the context then. A watch that ends is made
// again, and what has changed in between is told.
func (f Follow) Run(ctx context.Context, see See) error {
	known := map[types.UID]*unstructured.Unstructured{}
	for first := true; ; first = false {
		version, done, err := f.list(ctx, known, see)
		if err == nil && !done && first && f.Synced != nil {
			done, err = f.Synced()
		}
		if err == nil && !done {
			done, err = f.watch(ctx, version, known, see)
		}
		_, passes := errors.AsType[passingError](err)
		switch {
		case done:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && (first || !passes):
			return err
		default:
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(followPause):
		}
	}
}

// passingError is one of the API server that may go by itself.
type passingError struct{ error }

func (e passingError) Unwrap() error { return e.error }

// failed says what failed, and whether it may go by itself: a missing right, or kind, does not.
func (f Follow) failed(doing string, err error) error {
	wrapped := fmt.Errorf("%s objects of kind %s: %w", doing, f.Kind.Kind, err)
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		return wrapped
	}
	return passingError{wrapped}
}

func (f Follow) newList() *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(f.Kind.GroupVersion().WithKind(f.Kind.Kind + "List"))
	return list
}

// list tells what has changed since it was last known.
func (f Follow) list(ctx context.Context, known map[types.UID]*unstructured.Unstructured, see See) (version string, done bool, err error) {
	list := f.newList()
	if err := f.Client.List(ctx, list, f.Options...); err != nil {
		return "", false, f.failed("listing", err)
	}
	there := map[types.UID]bool{}
	for i := range list.Items {
		obj := &list.Items[i]
		there[obj.GetUID()] = true
		if was := known[obj.GetUID()]; was != nil && was.GetResourceVersion() == obj.GetResourceVersion() {
			continue
		}
		known[obj.GetUID()] = obj
		if done, err := see(obj, false); done || err != nil {
			return "", done, err
		}
	}
	for uid, was := range known {
		if there[uid] {
			continue
		}
		delete(known, uid)
		if done, err := see(was, true); done || err != nil {
			return "", done, err
		}
	}
	return list.GetResourceVersion(), false, nil
}

// watch tells changes until the watch ends.
func (f Follow) watch(ctx context.Context, version string, known map[types.UID]*unstructured.Unstructured, see See) (done bool, err error) {
	options := slices.Concat(f.Options, []client.ListOption{&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version}}})
	watching, err := f.Client.Watch(ctx, f.newList(), options...)
	if err != nil {
		return false, f.failed("watching", err)
	}
	defer watching.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case event, more := <-watching.ResultChan():
			if !more || event.Type == watch.Error {
				return false, nil // what it does not tell, the next list does
			}
			obj, ok := event.Object.(*unstructured.Unstructured)
			if !ok || event.Type == watch.Bookmark {
				continue
			}
			gone := event.Type == watch.Deleted
			if known[obj.GetUID()] = obj; gone {
				delete(known, obj.GetUID())
			}
			if done, err := see(obj, gone); done || err != nil {
				return done, err
			}
		}
	}
}

// errDone ends what is followed beside something that is done.
var errDone = errors.New("done")

// Together follows several things at once, and ends with the first of them. see is called by one at a time.
func Together(ctx context.Context, all []Follow, see See) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		mu      sync.Mutex
		running sync.WaitGroup
	)
	for _, one := range all {
		running.Go(func() {
			err := one.Run(ctx, func(obj *unstructured.Unstructured, gone bool) (bool, error) {
				mu.Lock()
				defer mu.Unlock()
				return see(obj, gone)
			})
			if err == nil {
				err = errDone
			}
			cancel(err) // the first counts
		})
	}
	running.Wait()
	if err := context.Cause(ctx); !errors.Is(err, errDone) {
		return err
	}
	return nil
}
