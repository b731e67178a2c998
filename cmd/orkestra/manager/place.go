package manager

import (
	"context"
	"maps"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// placed has the lease say where its holder serves the Control Center: each write of a holder carries it, and who lets go takes it off.
type placed struct {
	coordinationv1client.LeasesGetter

	where func() map[string]string // the annotations of a lease that this process holds
}

// Leases implements coordinationv1client.LeasesGetter.
func (p placed) Leases(namespace string) coordinationv1client.LeaseInterface {
	return placedLeases{LeaseInterface: p.LeasesGetter.Leases(namespace), where: p.where}
}

type placedLeases struct {
	coordinationv1client.LeaseInterface

	where func() map[string]string
}

// Create implements coordinationv1client.LeaseInterface.
func (p placedLeases) Create(ctx context.Context, lease *coordinationv1.Lease, o metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return p.LeaseInterface.Create(ctx, p.note(lease), o) //nolint:wrapcheck // as client-go says it
}

// Update implements coordinationv1client.LeaseInterface.
func (p placedLeases) Update(ctx context.Context, lease *coordinationv1.Lease, o metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	return p.LeaseInterface.Update(ctx, p.note(lease), o) //nolint:wrapcheck // as client-go says it
}

// note gives the lease with the annotations that belong to its holder. The caller's own stays as it is.
func (p placedLeases) note(lease *coordinationv1.Lease) *coordinationv1.Lease {
	var said map[string]string
	if holder := lease.Spec.HolderIdentity; holder != nil && *holder != "" {
		said = p.where()
	}
	now := map[string]string{}
	maps.Copy(now, lease.Annotations)
	for _, of := range []string{v1alpha1.AnnotationWebAddress, v1alpha1.AnnotationWebCertificate} {
		delete(now, of)
		if value := said[of]; value != "" {
			now[of] = value
		}
	}
	if maps.Equal(now, lease.Annotations) {
		return lease
	}
	out := lease.DeepCopy()
	out.Annotations = now
	return out
}
