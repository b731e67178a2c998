package controllers

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// reviewer grants every right, slowly enough for others to ask meanwhile.
type reviewer struct {
	client.Client

	mu    sync.Mutex
	asked map[authorizationv1.ResourceAttributes]int
	gate  chan struct{}
}

func (r *reviewer) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	review, _ := obj.(*authorizationv1.SelfSubjectAccessReview)
	r.mu.Lock()
	r.asked[*review.Spec.ResourceAttributes]++
	r.mu.Unlock()
	<-r.gate
	review.Status.Allowed = true
	return nil
}

// Boxes that start together share their child kinds: each right is asked for once.
func TestARightIsAskedForOnceByAllBoxes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		r := &reviewer{asked: map[authorizationv1.ResourceAttributes]int{}, gate: make(chan struct{})}
		p := NewPermissions(r, clock.RealClock{})
		rules := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "watch"}}}
		var boxes sync.WaitGroup
		for range 9 {
			boxes.Go(func() {
				if missing, err := p.Missing(t.Context(), rules); err != nil || len(missing) > 0 {
					t.Errorf("%v, %v", missing, err)
				}
			})
		}
		synctest.Wait() // all of them wait for the answer to the first question
		close(r.gate)
		boxes.Wait()
		g.Expect(r.asked).To(HaveLen(3))
		g.Expect(r.asked).To(HaveEach(1))
	})
}
