package cycle

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/identity"
	"github.com/orkspace/orkestra/engine/pipeline"
)

func forbidden(message string) error {
	err := apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "x", errors.New(message))
	return &pipeline.StepError{Step: "onReconcile", Class: pipeline.Permission, Reason: "Forbidden", Err: err}
}

// answering gives every review the same answer.
type answering bool

// Create implements access.Creator.
func (a answering) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	review, _ := obj.(*authorizationv1.SelfSubjectAccessReview)
	review.Status.Allowed = bool(a)
	return nil
}

func TestDenial(t *testing.T) {
	cases := map[string]struct {
		message string
		want    *access.Right
	}{
		"core":         {`User "a" cannot create resource "pods" in API group "" in the namespace "b"`, &access.Right{User: "a", Verb: "create", Resource: "pods", Namespace: "b"}},
		"cluster":      {`User "a" cannot patch resource "nodes" in API group "x.y" at the cluster scope`, &access.Right{User: "a", Verb: "patch", Resource: "nodes", Group: "x.y"}},
		"subresource":  {`User "a" cannot patch resource "c/status" in API group "x.y" in the namespace "b"`, &access.Right{User: "a", Verb: "patch", Resource: "c", Subresource: "status", Group: "x.y", Namespace: "b"}},
		"with reason":  {`User "a" cannot get resource "c" in API group "" in the namespace "b": RBAC: role not found`, &access.Right{User: "a", Verb: "get", Resource: "c", Namespace: "b"}},
		"of admission": {"this value cannot be used", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(pipeline.Denial(pipeline.AsStepError(forbidden(tc.message)).Err)).To(Equal(tc.want))
		})
	}
	NewWithT(t).Expect(pipeline.Denial(errors.New(cases["core"].message))).To(BeNil(), "no 403")
}

func TestADenialIsConfirmed(t *testing.T) {
	create := forbidden(`User "a" cannot create resource "pods" in API group "" in the namespace "b"`)
	list := forbidden(`User "a" cannot list resource "pods" in API group "" at the cluster scope`)
	for name, tc := range map[string]struct {
		err     error
		granted bool
		want    *access.Right
		class   pipeline.Class
		reason  string
	}{
		"a right that is missing":                       {create, false, &access.Right{User: "a", Verb: "create", Resource: "pods", Namespace: "b"}, pipeline.Permission, "Forbidden"},
		"a right to write that the review finds":        {create, true, nil, pipeline.Transient, ""},
		"a right to read that the review finds":         {list, true, nil, pipeline.Transient, ""},
		"a 403 that only looks as if it were of a role": {forbidden("this value cannot be used"), false, nil, pipeline.Refused, "AdmissionDenied"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			missing, err := confirmDenial(t.Context(), access.NewReviews(answering(tc.granted), clock.RealClock{}).Of(identity.Account{}, "web"), tc.err)
			g.Expect(missing).To(Equal(tc.want))
			g.Expect(pipeline.AsStepError(err)).To(And(HaveField("Class", tc.class), HaveField("Reason", tc.reason)))
		})
	}
	g := NewWithT(t)
	missing, err := confirmDenial(t.Context(), nil, nil)
	g.Expect(missing).To(BeNil())
	g.Expect(err).NotTo(HaveOccurred())
	other := &pipeline.StepError{Step: "s", Class: pipeline.Transient, Err: apierrors.NewConflict(schema.GroupResource{}, "x", errors.New("y"))}
	_, err = confirmDenial(t.Context(), nil, other)
	g.Expect(err).To(BeIdenticalTo(error(other)))
}
