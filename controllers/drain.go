package controllers

import (
	"context"
	"fmt"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// LeaseName is the name of the Lease that the managers of one installation compete for. It is in the manager's namespace, and
// there also where nobody competes, once somebody has asked for a drain.
const LeaseName = "orkestra-leader"

// acceptedFor is what the leader writes into the annotation in front of its account when it has seen that a drain is asked for.
const acceptedFor = "accepted-for/"

// DrainAccepted says whether the value of AnnotationDrain is the answer of a leader: it drains.
func DrainAccepted(value string) bool { return strings.HasPrefix(value, acceptedFor) }

var leases = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}

// Drain knows whether the installation is being drained: it lets go of all resources and boxes, and takes hold of none, because
// it is about to be uninstalled. AnnotationDrain on the Lease says so; a watch of that one object tells.
//
// The leader answers by writing its account into the annotation. So the word is for one installation: a later one in the same
// namespace, whose account was made anew, takes the annotation off and goes on. It is safe for concurrent use.
type Drain struct {
	lease    types.NamespacedName
	informer cache.SharedIndexInformer
	synced   <-chan struct{}
	changed  func() // told of every change of the annotation

	once    sync.Once
	refused chan struct{} // closed when the Lease may not be read

	mu    sync.Mutex // guards all below
	word  string     // the annotation; empty: there is none
	since types.UID  // of the Lease that asked for the drain which goes on; empty: none does
}

// newDrain makes one that knows nothing until it is started. changed must not block.
func newDrain(config *rest.Config, namespace string, changed func()) (*Drain, error) {
	watching := rest.CopyConfig(config)
	watching.QPS = -1
	client, err := metadata.NewForConfig(watching)
	if err != nil {
		return nil, fmt.Errorf("making a client for the lease: %w", err)
	}
	d := &Drain{
		lease: types.NamespacedName{Namespace: namespace, Name: LeaseName}, changed: changed, refused: make(chan struct{}),
	}
	requests, only := client.Resource(leases).Namespace(namespace), fields.OneTermEqualSelector(metav1.ObjectNameField, LeaseName).String()
	d.informer = cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = only
			return requests.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = only
			return requests.Watch(ctx, o)
		},
	}, client), &metav1.PartialObjectMetadata{}, 0, nil)
	// Both only fail on an informer that was started.
	_ = d.informer.SetWatchErrorHandlerWithContext(d.failed)
	registration, _ := d.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    d.see,
		UpdateFunc: func(_, now any) { d.see(now) },
	})
	d.synced = registration.HasSyncedChecker().Done()
	return d, nil
}

// Start watches until ctx ends. It implements manager.Runnable.
func (d *Drain) Start(ctx context.Context) error {
	// What the reflector says of cut watches is not for V(0).
	d.informer.RunWithContext(klog.NewContext(ctx, ctrl.LoggerFrom(ctx).V(1)))
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: a leader must know before it begins.
func (*Drain) NeedLeaderElection() bool { return false }

func (d *Drain) failed(ctx context.Context, _ *cache.Reflector, err error) {
	if !apierrors.IsForbidden(err) {
		ctrl.LoggerFrom(ctx).V(1).Info("Lease can't be watched", "lease", d.lease.String(), "reason", err.Error())
		return
	}
	d.once.Do(func() {
		ctrl.LoggerFrom(ctx).Error(err, "Lease may not be watched: orkestra drain finds no answer", "lease", d.lease.String())
		close(d.refused)
	})
}

// see takes in the Lease as it is now. That it is deleted says nothing: a leader makes it anew, and the annotation is lost when
// the namespace goes, which is part of many an uninstall.
func (d *Drain) see(obj any) {
	lease, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return
	}
	d.mu.Lock()
	word, asked := lease.Annotations[v1alpha1.AnnotationDrain]
	before := d.word
	switch {
	case asked && word == "":
		d.word, d.since = v1alpha1.True, lease.UID // an annotation without a value asks as well
	case asked:
		d.word, d.since = word, lease.UID
	case d.since == lease.UID:
		d.word, d.since = "", ""
	}
	differs := d.word != before
	d.mu.Unlock()
	if differs {
		d.changed()
	}
}

// Asked gives the annotation, and waits until it is known; empty: nobody asks for a drain. Who may not read the Lease is asked
// for nothing.
func (d *Drain) Asked(ctx context.Context) (string, error) {
	if d == nil {
		return "", nil
	}
	select {
	case <-d.synced:
	case <-d.refused:
	case <-ctx.Done():
		return "", fmt.Errorf("waiting for Lease %q: %w", d.lease, ctx.Err())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.word, nil
}
