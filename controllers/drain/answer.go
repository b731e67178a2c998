package drain

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// +kubebuilder:rbac:groups=authentication.k8s.io,resources=selfsubjectreviews,verbs=create

// account knows the account that this process uses. It asks the API server once. It is safe for concurrent use.
type account struct {
	client client.Client
	mu     sync.Mutex
	known  string // guarded by mu
}

// name is the UID of the process's ServiceAccount, which differs in each installation; the name of the user where there is no UID.
func (a *account) name(ctx context.Context) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known != "" {
		return a.known, nil
	}
	review := &authenticationv1.SelfSubjectReview{}
	if err := a.client.Create(ctx, review); err != nil {
		return "", fmt.Errorf("asking who this process is: %w", err)
	}
	a.known = cmp.Or(review.Status.UserInfo.UID, review.Status.UserInfo.Username)
	return a.known, nil
}

// Reconciler has the leader answer where a drain is asked for, and take off what was asked of a former installation.
type Reconciler struct {
	// Client writes the answer.
	Client client.Client
	// Watch knows what is asked for.
	Watch *Watch
	// MarkAll has every box reconciled.
	MarkAll func(context.Context) error
}

// SetupWithManager makes the controller. asked tells that the annotation has changed.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, asked source.Source) error {
	if err := ctrl.NewControllerManagedBy(mgr).Named("drain").WatchesRawSource(asked).Complete(r); err != nil {
		return fmt.Errorf("setting up the drain controller: %w", err)
	}
	return nil
}

// Reconcile queues every box, and answers, unless that is done. It runs on the leader only: followers mark nothing, and a new leader
// reconciles every box.
func (r *Reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	if err := r.MarkAll(ctx); err != nil {
		return ctrl.Result{}, err
	}
	word, err := r.Watch.asked(ctx)
	if err != nil || word == "" {
		return ctrl.Result{}, err
	}
	me, err := r.Watch.account.name(ctx)
	if err != nil || word == acceptedFor+me {
		return ctrl.Result{}, err
	}
	path := "/metadata/annotations/" + strings.ReplaceAll(v1alpha1.AnnotationDrain, "/", "~1")
	change := map[string]string{"op": "add", "path": path, "value": acceptedFor + me}
	if Accepted(word) {
		ctrl.LoggerFrom(ctx).Info("Drain of a former installation is over", "lease", r.Watch.lease.String())
		change = map[string]string{"op": "remove", "path": path}
	}
	// The patch fails unless the annotation is as it was seen: one that was taken off meanwhile must not come back.
	expected := map[string]string{"op": "test", "path": path, "value": word}
	patch, err := json.Marshal([]map[string]string{expected, change})
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("encoding the answer to a drain: %w", err)
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: r.Watch.lease.Namespace, Name: r.Watch.lease.Name}}
	err = r.Client.Patch(ctx, lease, client.RawPatch(types.JSONPatchType, patch))
	if apierrors.IsInvalid(err) || apierrors.IsNotFound(err) {
		return ctrl.Result{}, nil // it is not as it was: its event is on the way
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("answering the drain on Lease %q: %w", r.Watch.lease, err)
	}
	return ctrl.Result{}, nil
}
