// Package kinds tells the engine of CRDs that come and go, so that a kind is made where it is installed, and left out where it is not.
package kinds

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/orkspace/orkestra/controllers/crds"
)

// Mapper is told of CRDs. It is a discovery.Mapper, where each method is documented.
type Mapper interface {
	Awaits(crd string) bool
	Installed(crd *apiextensionsv1.CustomResourceDefinition)
	Uninstalled(crd string)
}

// Reconciler watches CRDs. It runs on every replica, and writes nothing.
type Reconciler struct {
	// Cached reads metadata of CRDs from the manager's cache, Live reads from the API server.
	Cached, Live client.Reader
	// Mapper is told.
	Mapper Mapper
}

// SetupWithManager makes the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	leaderOnly := false
	err := ctrl.NewControllerManagedBy(mgr).
		Named("kinds").
		For(&apiextensionsv1.CustomResourceDefinition{}, builder.OnlyMetadata).
		WithOptions(controller.Options{NeedLeaderElection: &leaderOnly}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the controller of kinds: %w", err)
	}
	return nil
}

// Reconcile tells what has become of a CRD. One for which nobody waits costs no request.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	known := &metav1.PartialObjectMetadata{}
	known.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	err := r.Cached.Get(ctx, req.NamespacedName, known)
	if err == nil && !r.Mapper.Awaits(req.Name) {
		return ctrl.Result{}, nil
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err == nil {
		err = r.Live.Get(ctx, req.NamespacedName, crd)
	}
	switch {
	case apierrors.IsNotFound(err):
		r.Mapper.Uninstalled(req.Name)
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("reading CustomResourceDefinition %q: %w", req.Name, err)
	case crd.DeletionTimestamp == nil && crds.NotEstablished(crd) == "": // its status changes when it is
		r.Mapper.Installed(crd)
	}
	return ctrl.Result{}, nil
}
