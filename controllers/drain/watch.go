// Package drain lets go of everything before an uninstall: an annotation on the Lease of the managers asks for it, and the leader obeys.
package drain

import (
	"context"
	"fmt"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// LeaseName is the name of the Lease that the managers of one installation compete for, in the manager's namespace. Managers that run
// without leader election have none; then orkestra drain makes it, for its annotation.
const LeaseName = "orkestra-leader"

// acceptedFor is what the leader writes into the annotation in front of its account when it has seen that a drain is asked for.
const acceptedFor = "accepted-for/"

// Accepted says whether the value of AnnotationDrain is the answer of a leader: it drains.
func Accepted(value string) bool { return strings.HasPrefix(value, acceptedFor) }

var leases = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}

// Watch knows whether the installation is being drained: whether the manager is to release all resources and boxes, and mark none, because
// it is about to be uninstalled. AnnotationDrain on the Lease asks for that; only this one object is watched.
//
// The leader answers by writing the UID of its ServiceAccount into the annotation, so that the drain is bound to this installation: a
// later one in the same namespace has a new ServiceAccount, takes the annotation off and works. It is safe for concurrent use.
type Watch struct {
	lease    types.NamespacedName
	informer cache.SharedIndexInformer
	synced   <-chan struct{}
	changed  func() // told of every change of the annotation
	account  *account

	once    sync.Once
	refused chan struct{} // closed when the Lease may not be read

	mu    sync.Mutex        // guards all below
	word  string            // the value of the annotation; empty: there is none
	since types.UID         // of the Lease that had the annotation; empty: none has
	notes map[string]string // all annotations of the Lease; never written to
}

// NewWatch makes one that knows nothing until it is started. c asks who this process is. changed is called after each change of the
// annotation, and must not block.
func NewWatch(config *rest.Config, namespace string, c client.Client, changed func()) (*Watch, error) {
	watching := rest.CopyConfig(config)
	watching.QPS = -1 // it must not wait behind a limit of client-go
	metadatas, err := metadata.NewForConfig(watching)
	if err != nil {
		return nil, fmt.Errorf("making a client for the lease: %w", err)
	}
	w := &Watch{
		lease: types.NamespacedName{Namespace: namespace, Name: LeaseName}, changed: changed, account: &account{client: c},
		refused: make(chan struct{}),
	}
	w.informer = metadatainformer.NewFilteredMetadataInformer(metadatas, leases, namespace, 0, nil, func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, LeaseName).String()
	}).Informer()
	// Both only fail on an informer that was started.
	_ = w.informer.SetWatchErrorHandlerWithContext(w.failed)
	registration, _ := w.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    w.see,
		UpdateFunc: func(_, now any) { w.see(now) },
	})
	w.synced = registration.HasSyncedChecker().Done()
	return w, nil
}

// Start watches until ctx ends. It implements manager.Runnable.
func (w *Watch) Start(ctx context.Context) error {
	// What the reflector says of cut watches is not for V(0).
	w.informer.RunWithContext(klog.NewContext(ctx, ctrl.LoggerFrom(ctx).V(1)))
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable. The watch runs on followers too: a new leader must know of a drain before
// it reconciles the first box.
func (*Watch) NeedLeaderElection() bool { return false }

// failed handles the errors of the watch, which is tried again. Without the right to read the Lease nothing would ever be known, and no box
// would be reconciled: then it counts as known that nobody asks for a drain.
func (w *Watch) failed(ctx context.Context, _ *cache.Reflector, err error) {
	if !apierrors.IsForbidden(err) {
		ctrl.LoggerFrom(ctx).V(1).Info("Lease can't be watched", "lease", w.lease.String(), "reason", err.Error())
		return
	}
	w.once.Do(func() {
		ctrl.LoggerFrom(ctx).Error(err, "Lease may not be watched: orkestra drain finds no answer", "lease", w.lease.String())
		close(w.refused)
	})
}

// see notes what the Lease says now. A deleted Lease ends no drain: the namespace is often deleted in an uninstall, and the leader makes a
// new Lease without the annotation meanwhile. So only the Lease that had the annotation can withdraw it.
func (w *Watch) see(obj any) {
	lease, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return
	}
	w.mu.Lock()
	word, asked := lease.Annotations[v1alpha1.AnnotationDrain]
	before := w.word
	w.notes = lease.Annotations
	switch {
	case asked && word == "":
		w.word, w.since = v1alpha1.True, lease.UID // an annotation without a value asks as well
	case asked:
		w.word, w.since = word, lease.UID
	case w.since == lease.UID:
		w.word, w.since = "", ""
	}
	differs := w.word != before
	w.mu.Unlock()
	if differs {
		w.changed()
	}
}

// Annotations are those of the Lease as it was last seen, for reading only; nil: it was not seen, or has none. The leader says there where it is reached.
func (w *Watch) Annotations() map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.notes
}

// Draining says whether this process is to let go of everything, and waits until that is known. An annotation that another installation has
// answered is not for this one. A process that may not read the Lease drains nothing.
func (w *Watch) Draining(ctx context.Context) (bool, error) {
	word, err := w.asked(ctx)
	if err != nil || word == "" || !Accepted(word) {
		return word != "", err
	}
	me, err := w.account.name(ctx)
	return word == acceptedFor+me, err
}

// asked gives the annotation, and waits until it is known; empty: nobody asks for a drain.
func (w *Watch) asked(ctx context.Context) (string, error) {
	select {
	case <-w.synced:
	case <-w.refused:
	case <-ctx.Done():
		return "", fmt.Errorf("waiting for Lease %q: %w", w.lease, ctx.Err())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.word, nil
}
