package drain

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// knowing gives a Drain that has seen Leases, one after the other, and counts what it told.
func knowing(told *int, leases ...*metav1.PartialObjectMetadata) *Watch {
	synced := make(chan struct{})
	close(synced)
	d := &Watch{
		lease: types.NamespacedName{Namespace: "ns", Name: LeaseName}, synced: synced, refused: make(chan struct{}),
		changed: func() { *told++ },
	}
	for _, lease := range leases {
		d.see(lease)
	}
	return d
}

func leaseWith(uid types.UID, annotations map[string]string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: uid, Annotations: annotations}}
}

func asking(word string) map[string]string { return map[string]string{v1alpha1.AnnotationDrain: word} }

func TestDrainIsAskedOnTheLease(t *testing.T) {
	for name, c := range map[string]struct {
		seen []*metav1.PartialObjectMetadata
		want string
		told int
	}{
		"no lease":           {},
		"a lease":            {seen: []*metav1.PartialObjectMetadata{leaseWith("a", nil), leaseWith("a", nil)}},
		"asked":              {[]*metav1.PartialObjectMetadata{leaseWith("a", nil), leaseWith("a", asking("true"))}, "true", 1},
		"asked and renewed":  {[]*metav1.PartialObjectMetadata{leaseWith("a", asking("true")), leaseWith("a", asking("true"))}, "true", 1},
		"asked without word": {[]*metav1.PartialObjectMetadata{leaseWith("a", asking(""))}, "true", 1},
		"answered":           {[]*metav1.PartialObjectMetadata{leaseWith("a", asking("true")), leaseWith("a", asking("accepted-for/me"))}, "accepted-for/me", 2},
		"taken back":         {[]*metav1.PartialObjectMetadata{leaseWith("a", asking("true")), leaseWith("a", nil)}, "", 2},
		"deleted, and made anew by a leader that is being uninstalled": {
			[]*metav1.PartialObjectMetadata{leaseWith("a", asking("true")), leaseWith("b", nil), leaseWith("b", nil)}, "true", 1,
		},
		"asked and taken back on the one that was made anew": {
			[]*metav1.PartialObjectMetadata{leaseWith("a", asking("true")), leaseWith("b", nil), leaseWith("b", asking("true")), leaseWith("b", nil)}, "", 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			told := 0
			word, err := knowing(&told, c.seen...).asked(t.Context())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(word).To(Equal(c.want))
			g.Expect(told).To(Equal(c.told))
		})
	}
}

func TestDrainIsAwaitedUntilItIsKnown(t *testing.T) {
	g := NewWithT(t)
	told := 0
	d := knowing(&told)
	d.synced = make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := d.asked(ctx)
	g.Expect(err).To(MatchError(ContainSubstring(`waiting for Lease "ns/orkestra-leader"`)))

	d.failed(t.Context(), nil, apierrors.NewServiceUnavailable("away"))
	_, err = d.asked(ctx)
	g.Expect(err).To(HaveOccurred(), "it comes back")
	refusal := apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, LeaseName, nil)
	d.failed(t.Context(), nil, refusal)
	d.failed(t.Context(), nil, refusal)
	word, err := d.asked(t.Context())
	g.Expect(err).NotTo(HaveOccurred(), "who may not read the Lease works nevertheless")
	g.Expect(word).To(BeEmpty())
}

// review answers who a process is.
func review(uid, name string) interceptor.Funcs {
	return interceptor.Funcs{Create: func(_ context.Context, _ client.WithWatch, obj client.Object, _ ...client.CreateOption) error {
		obj.(*authenticationv1.SelfSubjectReview).Status.UserInfo = authenticationv1.UserInfo{UID: uid, Username: name}
		return nil
	}}
}

func TestDrainIsAnsweredForOneInstallation(t *testing.T) {
	for name, c := range map[string]struct {
		uid, word string
		seen      string // by the manager, where it is not what the Lease says
		want      string // empty: the annotation is gone
		drains    bool
	}{
		"asked":                                  {uid: "me", word: "true", want: "accepted-for/me", drains: true},
		"asked of somebody without a UID":        {word: "true", want: "accepted-for/name", drains: true},
		"answered":                               {uid: "me", word: "accepted-for/me", want: "accepted-for/me", drains: true},
		"answered by a former installation":      {uid: "me", word: "accepted-for/other"},
		"taken back before it could be answered": {uid: "me", word: "", seen: "true", drains: true},
		"asked again meanwhile":                  {uid: "me", word: "true", seen: "accepted-for/other", want: "true"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: LeaseName}}
			if c.word != "" {
				lease.Annotations = asking(c.word)
			}
			kube := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(lease).WithInterceptorFuncs(review(c.uid, "name")).Build()
			told, marked := 0, 0
			seen := c.word
			if c.seen != "" {
				seen = c.seen
			}
			watch := knowing(&told, leaseWith("a", asking(seen)))
			watch.account = &account{client: kube}
			answer := &Reconciler{Client: kube, Watch: watch, MarkAll: func(context.Context) error { marked++; return nil }}
			_, err := answer.Reconcile(t.Context(), ctrl.Request{})
			if c.seen == "" {
				g.Expect(err).NotTo(HaveOccurred())
			}
			g.Expect(marked).To(Equal(1), "the boxes follow")
			g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(lease), lease)).To(Succeed())
			g.Expect(lease.Annotations[v1alpha1.AnnotationDrain]).To(Equal(c.want))
			g.Expect(watch.Draining(t.Context())).To(Equal(c.drains))
		})
	}
}
