package manager

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// sink keeps the last lease that was written.
type sink struct {
	coordinationv1client.LeaseInterface

	got *coordinationv1.Lease
}

func (s *sink) Leases(string) coordinationv1client.LeaseInterface { return s }

func (s *sink) Create(_ context.Context, l *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	s.got = l
	return l, nil
}

func (s *sink) Update(_ context.Context, l *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	s.got = l
	return l, nil
}

// TestTheHolderSaysWhereItServes: each write of a lease says where its holder serves the page, and nothing of a former one.
func TestTheHolderSaysWhereItServes(t *testing.T) {
	const drain = v1alpha1.AnnotationDrain
	mine := map[string]string{v1alpha1.AnnotationWebAddress: "10.0.0.1:8444", v1alpha1.AnnotationWebCertificate: "ab"}
	former := map[string]string{v1alpha1.AnnotationWebAddress: "10.0.0.9:8444", v1alpha1.AnnotationWebCertificate: "cd", drain: "true"}
	for name, tc := range map[string]struct {
		holder              *string
		before, place, want map[string]string
	}{
		"a new lease":                     {new("a"), nil, mine, mine},
		"after another one":               {new("a"), former, mine, map[string]string{drain: "true", v1alpha1.AnnotationWebAddress: "10.0.0.1:8444", v1alpha1.AnnotationWebCertificate: "ab"}},
		"of one that serves nothing":      {new("a"), former, nil, map[string]string{drain: "true"}},
		"as before":                       {new("a"), mine, mine, mine},
		"let go":                          {new(""), mine, mine, map[string]string{}},
		"without a holder":                {nil, former, mine, map[string]string{drain: "true"}},
		"without anything to say of it":   {new("a"), nil, nil, nil},
		"of one that says something else": {new("a"), nil, map[string]string{drain: "true"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Annotations: tc.before}, Spec: coordinationv1.LeaseSpec{HolderIdentity: tc.holder}}
			own := lease.DeepCopy()
			s := &sink{}
			leases := placed{LeasesGetter: s, where: func() map[string]string { return tc.place }}.Leases("ours")
			_, err := leases.Create(t.Context(), lease, metav1.CreateOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(s.got.Annotations).To(Equal(tc.want))
			_, err = leases.Update(t.Context(), lease, metav1.UpdateOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(s.got.Annotations).To(Equal(tc.want))
			g.Expect(lease).To(Equal(own), "what client-go keeps is its own")
		})
	}
}
