// Package rights notices that rights may have been granted: it watches roles and their bindings where the manager may. Where it may not, what
// waits for a right asks for it every access.RetryInterval, as it does beside a watch.
package rights

import (
	"context"
	"fmt"
	"sync"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/identity"
	enginewatch "github.com/orkspace/orkestra/engine/watch"
)

// doubtful is how long a right that has been granted before is believed to be lost: an API server that starts denies everything to accounts until
// it has read its roles. Then it is asked for again, after a pause that doubles, until that would be access.RetryInterval.
const doubtful = 2 * time.Second

// settle is how long changes are gathered before rights are asked for anew. A role and its binding are two changes, and the API server's
// own authorizer learns of both by a watch as well.
const settle = time.Second

// resources are what rights come from.
var resources = []string{"clusterrolebindings", "clusterroles", "rolebindings", "roles"}

// Watch follows roles and their bindings, of which it keeps nothing but names and versions. It begins when a right is missing for the first
// time and the manager may read them.
type Watch struct {
	client  metadata.Interface
	reviews *access.Reviews
	clock   clock.Clock
	heard   chan struct{} // something has changed

	mu      sync.Mutex
	changed func(context.Context) // guarded by mu: it is called once at a time
}

// NewWatch makes one that does nothing before it is started. changed is called, once at a time while Start runs, when rights may have changed that
// somebody waits for; what was refused before is forgotten by then. Nobody else may read reviews.Denied and reviews.Lost.
func NewWatch(config *rest.Config, reviews *access.Reviews, clk clock.Clock, changed func(context.Context)) (*Watch, error) {
	watching := rest.CopyConfig(config)
	watching.QPS = -1
	client, err := metadata.NewForConfig(watching)
	if err != nil {
		return nil, fmt.Errorf("making a client for roles and their bindings: %w", err)
	}
	return newWatch(client, reviews, clk, changed), nil
}

func newWatch(client metadata.Interface, reviews *access.Reviews, clk clock.Clock, changed func(context.Context)) *Watch {
	return &Watch{client: client, reviews: reviews, clock: clk, changed: changed, heard: make(chan struct{}, 1)}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: followers keep their boxes warm, which takes rights as well.
func (*Watch) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (w *Watch) Start(ctx context.Context) error {
	var doubting sync.WaitGroup
	defer doubting.Wait()
	doubting.Go(func() { w.doubt(ctx) })
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.reviews.Denied():
			if ctx.Err() == nil && w.permitted(ctx) {
				w.follow(ctx)
			}
		}
	}
}

// doubt has rights asked for again soon that were lost: three times, and not again before access.RetryInterval has passed, so that a right which
// comes and goes all the time costs those who wait three rounds in half a minute.
func (w *Watch) doubt(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.reviews.Lost():
		}
		for pause := doubtful; pause < access.RetryInterval && w.rest(ctx, pause); pause *= 2 {
			w.askAnew(ctx)
		}
		w.rest(ctx, access.RetryInterval)
	}
}

// rest says false where ctx ends before the pause does.
func (w *Watch) rest(ctx context.Context, pause time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-w.clock.After(pause):
		return true
	}
}

// askAnew forgets what was refused, and tells those who wait for it, if anybody does.
func (w *Watch) askAnew(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reviews.DropRefusals() {
		w.changed(ctx)
	}
}

// permitted says whether the manager may watch. A refusal is believed for RetryInterval, so that is one review more in this time, however
// many wait for a right.
func (w *Watch) permitted(ctx context.Context) bool {
	manager := w.reviews.Of(identity.Account{}, "")
	for _, resource := range resources {
		for _, verb := range []string{"list", "watch"} {
			if !manager.Granted(ctx, access.Right{Verb: verb, Group: rbacv1.GroupName, Resource: resource}) {
				return false
			}
		}
	}
	return true
}

// follow watches until ctx ends, or the manager may not any more.
func (w *Watch) follow(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var informers sync.WaitGroup
	defer informers.Wait()
	defer cancel()
	log := ctrl.LoggerFrom(ctx)
	log.V(1).Info("Roles and their bindings are watched")
	// What the reflector says of cut watches is not for V(0).
	quiet := klog.NewContext(ctx, log.V(1))
	var synced []cache.InformerSynced
	for _, resource := range resources {
		informer := w.informer(resource, func() { cancel() })
		synced = append(synced, informer.HasSynced)
		informers.Go(func() { informer.RunWithContext(quiet) })
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return
	}
	w.signal() // what has changed between the refusal and the first list
	w.gather(ctx)
}

// gather waits for changes, and hands those on together that come within the pause. Where changes do not end, the pauses double up to
// RetryInterval: a cluster whose roles change all the time costs those who wait a round each RetryInterval, beside those of their own.
func (w *Watch) gather(ctx context.Context) {
	pause := settle
	last := w.clock.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.heard:
		}
		if w.clock.Since(last) > access.RetryInterval {
			pause = settle
		}
		if !w.rest(ctx, pause) {
			return
		}
		select {
		case <-w.heard: // what came meanwhile is part of this round
		default:
		}
		w.askAnew(ctx)
		last, pause = w.clock.Now(), min(2*pause, access.RetryInterval)
	}
}

func (w *Watch) signal() {
	select {
	case w.heard <- struct{}{}:
	default: // the next round sees this, too
	}
}

// informer gives one of all objects of a resource. denied is called when they may not be read any more.
func (w *Watch) informer(resource string, denied func()) cache.SharedIndexInformer {
	objects := w.client.Resource(rbacv1.SchemeGroupVersion.WithResource(resource))
	informer := cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return objects.List(ctx, enginewatch.Consistent(options))
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return objects.Watch(ctx, options)
		},
	}, w.client), &metav1.PartialObjectMetadata{}, 0, nil)
	// All three only fail on an informer that was started.
	_ = informer.SetTransform(bare)
	_ = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) {
		if apierrors.IsForbidden(err) {
			denied()
		}
		ctrl.LoggerFrom(ctx).V(1).Info("Roles and their bindings can't be watched", "resource", resource, "reason", err.Error())
	})
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(_ any, initial bool) {
			if !initial {
				w.signal()
			}
		},
		UpdateFunc: func(old, obj any) {
			if versionOf(old) != versionOf(obj) { // a list that is read again tells of all objects
				w.signal()
			}
		},
		DeleteFunc: func(any) { w.signal() },
	})
	return informer
}

// bare leaves an object its name, its UID and its version.
func bare(obj any) (any, error) {
	of, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return obj, nil
	}
	return &metav1.PartialObjectMetadata{TypeMeta: of.TypeMeta, ObjectMeta: metav1.ObjectMeta{
		Namespace: of.Namespace, Name: of.Name, UID: of.UID, ResourceVersion: of.ResourceVersion,
	}}, nil
}

func versionOf(obj any) string {
	of, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return ""
	}
	return of.ResourceVersion
}
