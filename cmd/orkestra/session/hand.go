package session

import (
	"context"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/act"
	"github.com/orkspace/orkestra/engine/web/answers"
	"github.com/orkspace/orkestra/engine/web/person"
)

// How long it is believed whether a manager is at work, when several orders follow each other, and how long it may take to find out.
const absentLife, absentTimeout = 2 * time.Second, 10 * time.Second

// Hand does what the caller asks for, with the rights of the kubeconfig: the API server and its policies decide. own reads OperatorBoxes.
func (s *Session) Hand(own client.Reader, clk clock.PassiveClock) *act.Hand {
	c := s.Client()
	rights, absent := person.NewRights(selfReviews{c}, clk), answers.New[string, string](clk, 1, absentTimeout)
	return &act.Hand{Ports: act.Ports{
		Own: own, Resource: s.inspecting.Objects.Get, Boxes: c, Revisions: s.revisions, Clock: clk,
		Writer: func(*v1alpha1.OperatorBox) (client.Writer, error) { return c, nil },
		ResourceOf: func(kind schema.GroupVersionKind) (schema.GroupResource, error) {
			mapped, err := c.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
			if err != nil {
				return schema.GroupResource{}, fmt.Errorf("asking for the kind %s: %w", kind.Kind, err)
			}
			return mapped.Resource.GroupResource(), nil
		},
		Absent: func(ctx context.Context) string {
			why, _ := absent.Get(ctx, "", func(ctx context.Context) (string, time.Duration, error) { // without an error: what is not known is not away
				if m, _ := s.leader(ctx, clk.Now()); m.State == ManagerAway {
					return m.Message, absentLife, nil
				}
				return "", absentLife, nil
			})
			return why
		},
		May: func(ctx context.Context, want person.Right) (bool, error) {
			return rights.May(ctx, person.Person{}, want)
		},
	}}
}

// selfReviews asks for the rights of the kubeconfig's user, who may ask that of nobody else. It implements person.Creator.
type selfReviews struct{ client client.Client }

// Create implements person.Creator.
func (s selfReviews) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	review, ok := obj.(*authorizationv1.SubjectAccessReview)
	if !ok {
		return s.client.Create(ctx, obj, opts...) //nolint:wrapcheck // as the client says it
	}
	self := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: review.Spec.ResourceAttributes, NonResourceAttributes: review.Spec.NonResourceAttributes,
	}}
	if err := s.client.Create(ctx, self, opts...); err != nil {
		return err //nolint:wrapcheck // as the client says it
	}
	review.Status = self.Status
	return nil
}
