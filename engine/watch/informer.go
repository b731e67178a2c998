package watch

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/orkspace/orkestra/engine/packed"
)

// noObject selects no object, since "-" is no valid name. A list with it costs the API server next to nothing; a limit of 1 would not
// do, since lists from the API server's cache ignore limits.
const noObject = "metadata.name=-"

// informer is one informer that this package starts, awaits and stops.
type informer struct {
	name      string                                      // of the kind, for messages
	requests  func() requester                            // gives that of where the kind is served now
	pass      func(apiwatch.Event) (apiwatch.Event, bool) // gives what is told for an event; false: nothing
	selector  string
	fields    string
	log       logr.Logger
	shared    cache.SharedIndexInformer
	synced    <-chan struct{} // closed when the store is filled and the handler has been told
	done      chan struct{}   // closed when nothing of the informer runs any more
	lastError atomic.Pointer[error]
	watchdog  watchdog
	access    access

	panicked func(p any, stack []byte)
	gauge    func() (forget func()) // notes the watch for those who ask how it is
	held     held
	beside   func(context.Context) // runs while the informer does; nil: nothing

	// lists is read-locked by lists in flight. The reflector returns without waiting for them when it is stopped; run waits.
	lists sync.RWMutex

	mu      sync.Mutex         // guards what follows
	cancel  context.CancelFunc // nil until started
	stopped bool
}

// requester lists and watches objects. One of the dynamic client does.
type requester interface {
	List(ctx context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error)
	Watch(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error)
}

type informerOptions struct {
	name      string
	resource  schema.GroupVersionResource
	kind      schema.GroupVersionKind // of the resource, which may be served elsewhere one day; empty: it is not asked where
	namespace string                  // all, if empty
	selector  string
	fields    string
	indexers  cache.Indexers
	trim      func(*unstructured.Unstructured) // drops what nobody reads; it can be done twice
	handler   cache.ResourceEventHandler
	beside    func(context.Context) // runs while the informer does; nil: nothing
	// annotated says by their annotations which objects are known, and of those only the heads are. nil: all are, and whole.
	annotated func(annotations map[string]string) bool
}

// served is where the kind is served now: its CRD may go, and another bring it back under another plural.
func (o informerOptions) served(mapper meta.RESTMapper) schema.GroupVersionResource {
	if !o.kind.Empty() {
		if mapping, err := mapper.RESTMapping(o.kind.GroupKind(), o.kind.Version); err == nil {
			return mapping.Resource
		}
	}
	return o.resource
}

func newInformer(cfg Config, options informerOptions) *informer {
	cfg = cfg.withDefaults()
	i := &informer{
		beside:   options.beside,
		watchdog: watchdog{clock: cfg.Clock, limit: cfg.Quiet},
		access:   access{blocked: make(chan struct{})},
		panicked: cfg.Panicked,
		name:     options.name,
		pass:     func(event apiwatch.Event) (apiwatch.Event, bool) { return event, true },
		selector: options.selector,
		fields:   options.fields,
		log:      cfg.Log.WithValues("resource", options.resource.String(), "namespace", options.namespace),
		done:     make(chan struct{}),
	}
	var client any = cfg.Client
	if options.annotated == nil {
		i.requests = func() requester { return cfg.Client.Resource(options.served(cfg.Mapper)).Namespace(options.namespace) }
	} else {
		metas := heads{requests: cfg.Metadata.Resource(options.resource).Namespace(options.namespace), selects: options.annotated}
		i.requests, i.pass, client = func() requester { return metas }, metas.pass, cfg.Metadata
	}
	i.gauge = func() func() { return cfg.Gauges.Watch(options.resource.GroupResource().String(), i.state) }
	source := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc:  guardedRequest(i, i.list),
		WatchFuncWithContext: guardedRequest(i, i.watch),
	}, client)
	i.shared = cache.NewSharedIndexInformerWithOptions(source, &unstructured.Unstructured{}, cache.SharedIndexInformerOptions{
		Indexers:          options.indexers,
		ObjectDescription: options.resource.String(),
	})
	if cfg.Writable {
		options.trim = trimWritable
	}
	// All three fail only on an informer that was started already, which this one was not.
	_ = i.shared.SetTransform(i.guardedTransform(packing(options.trim)))
	_ = i.shared.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) { i.failed(err) })
	registration, _ := i.shared.AddEventHandlerWithOptions(guarded{informer: i, next: options.handler}, cache.HandlerOptions{Logger: &i.log})
	i.synced = registration.HasSyncedChecker().Done()
	return i
}

// start starts the informer, unless it was started or stopped before. It runs in the group, until the context ends or halt is called.
func (i *informer) start(ctx context.Context, group *sync.WaitGroup) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.stopped || i.cancel != nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	i.cancel = cancel
	i.watchdog.heard()
	forget := i.gauge()
	group.Go(func() {
		defer close(i.done)
		defer forget()
		defer cancel()
		i.guard(func() { i.run(ctx) })
	})
}

func (i *informer) run(ctx context.Context) {
	if i.beside != nil {
		i.watchdog.routines.Go(func() { i.guard(func() { i.beside(ctx) }) })
	}
	i.awaitKind(ctx)
	if ctx.Err() == nil {
		// The reflector logs each watch that is cut at its V(0), and that is normal.
		i.shared.RunWithContext(klog.NewContext(ctx, i.log.V(1)))
	}
	i.lists.Lock() // waits for lists in flight
	defer i.lists.Unlock()
	i.watchdog.routines.Wait()
}

// halt tells the informer to stop; done is closed when it has.
func (i *informer) halt() {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.cancel != nil:
		i.cancel()
	case !i.stopped:
		close(i.done)
	}
	i.stopped = true
}

// stopAll returns when nothing of the informers runs any more.
func stopAll(informers []*informer) {
	for _, i := range informers {
		i.halt()
	}
	for _, i := range informers {
		<-i.done
	}
}

// wait returns when the informer has synced, or an error if it was stopped, the API server refuses to read the kind, or the
// context ended.
func (i *informer) wait(ctx context.Context) error {
	select {
	case <-i.done:
		return fmt.Errorf("syncing kind %q: %w", i.name, ErrStopped)
	default:
	}
	if i.hasSynced() {
		return nil // though the context may have ended
	}
	select {
	case <-i.synced:
		return nil
	case <-i.done:
		return fmt.Errorf("syncing kind %q: %w", i.name, ErrStopped)
	case <-i.access.refuses():
		return fmt.Errorf("syncing kind %q: %w", i.name, i.access.refused())
	case <-ctx.Done():
		if last := i.lastError.Load(); last != nil {
			return fmt.Errorf("syncing kind %q: %w: %w", i.name, context.Cause(ctx), *last)
		}
		return fmt.Errorf("syncing kind %q: %w", i.name, context.Cause(ctx))
	}
}

func (i *informer) hasSynced() bool { return closed(i.synced) }

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// seen is the newest resourceVersion whose effects the store holds; "" before the first list. LastSyncResourceVersion of the reflector is
// ahead of the store: it is set before the objects are in it.
func (i *informer) seen() string {
	if version := i.shared.GetStore().LastStoreSyncResourceVersion(); version != "" {
		return version
	}
	if !i.hasSynced() {
		return ""
	}
	return i.shared.LastSyncResourceVersion() // client-go's feature AtomicFIFO is off, so that the store knows no version
}

func (i *informer) get(key string) *packed.Object {
	item, found, err := i.shared.GetIndexer().GetByKey(key)
	if err != nil || !found {
		return nil
	}
	return objectOf(item)
}

func (i *informer) byIndex(index, value string) []*packed.Object {
	items, err := i.shared.GetIndexer().ByIndex(index, value)
	if err != nil {
		return nil // there is no such index
	}
	return objectsOf(items)
}

func objectsOf(items []any) []*packed.Object {
	objects := make([]*packed.Object, 0, len(items))
	for _, item := range items {
		if obj := objectOf(item); obj != nil {
			objects = append(objects, obj)
		}
	}
	return objects
}

// awaitKind returns when the kind can be listed from the API server's cache. The API server answers for a CRD that was just created with
// 404 first, after which a reflector would wait for a second, and then with 429 and Retry-After, which client-go would obey. Probes of
// our own find out sooner.
func (i *informer) awaitKind(ctx context.Context) {
	limit := firstAnswer
	probe := func(ctx context.Context) error {
		// client-go would log an answer that the limit cuts off, though another probe follows.
		ctx, cancel := context.WithTimeout(klog.NewContext(ctx, logr.Discard()), limit)
		defer cancel()
		_, err := i.requests().List(ctx, metav1.ListOptions{FieldSelector: noObject, Limit: 1, ResourceVersion: "0"})
		if ctx.Err() != nil {
			limit = min(2*limit, longestAnswer) // the API server may just be slow
		}
		return err
	}
	passes := func(err error) bool {
		return !apierrors.IsBadRequest(err) && !apierrors.IsMethodNotSupported(err)
	}
	// Any other error comes from a server that serves the kind, but not this question (an aggregated API server): then list at once.
	_ = i.retry(ctx, passes, probe)
}

func (i *informer) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	i.lists.RLock()
	defer i.lists.RUnlock()
	options.LabelSelector, options.FieldSelector = i.selector, i.fields
	options = Consistent(options)
	var list *unstructured.UnstructuredList
	err := i.retry(ctx, passing, func(ctx context.Context) (err error) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer i.watchdog.giveUp(ctx, cancel)()
		list, err = i.requests().List(ctx, options)
		return i.watchdog.explained(ctx, err)
	})
	if err != nil {
		return nil, err
	}
	i.watchdog.heard()
	return list, nil
}

func (i *informer) watch(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
	options.LabelSelector, options.FieldSelector = i.selector, i.fields
	passes := passing
	if options.SendInitialEvents == nil {
		passes = unavailable // a watch that goes on must not outlive its kind: the reflector has to list again
	}
	var stream apiwatch.Interface
	err := i.retry(ctx, passes, func(ctx context.Context) (err error) {
		stream, err = i.open(ctx, options)
		return err
	})
	if err != nil {
		return nil, err
	}
	return stream, nil
}

func (i *informer) failed(err error) {
	i.lastError.Store(&err)
	i.log.V(1).Info("Watching failed", "reason", err.Error())
}
