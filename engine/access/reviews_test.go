package access

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// reviewer answers reviews, and counts them.
type reviewer struct {
	mu      sync.Mutex
	asked   map[authorizationv1.ResourceAttributes]int
	allowed bool
	broken  error
	verb    string // of the reviews that wait for the gate; empty: all
	gate    chan struct{}
}

func newReviewer() *reviewer {
	return &reviewer{asked: map[authorizationv1.ResourceAttributes]int{}}
}

// Create implements Creator.
func (r *reviewer) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	review, _ := obj.(*authorizationv1.SelfSubjectAccessReview)
	about := *review.Spec.ResourceAttributes
	r.mu.Lock()
	r.asked[about]++
	r.mu.Unlock()
	if r.gate != nil && (r.verb == "" || r.verb == about.Verb) {
		<-r.gate
	}
	review.Status.Allowed = r.allowed
	return r.broken
}

func (r *reviewer) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, times := range r.asked {
		n += times
	}
	return n
}

var podReader = []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list", "get"}}}

func TestARefusalIsAskedForOnceByAllWhoWait(t *testing.T) {
	g := NewWithT(t)
	asked := newReviewer()
	clk := testingclock.NewFakePassiveClock(time.Unix(0, 0))
	r := NewReviews(asked, clk)
	pods := Right{Verb: "create", Resource: "pods", Namespace: "b"}
	for range 3 {
		g.Expect(r.Granted(t.Context(), pods)).To(BeFalse())
	}
	g.Expect(asked.count()).To(Equal(1), "one review for all resources")

	clk.SetTime(time.Unix(16, 0))
	asked.broken = errors.New("away")
	g.Expect(r.Granted(t.Context(), pods)).To(BeFalse(), "while nobody answers")
	clk.SetTime(time.Unix(32, 0))
	asked.broken, asked.allowed = nil, true
	g.Expect(r.Granted(t.Context(), pods)).To(BeTrue())
	g.Expect(asked.count()).To(Equal(3))

	var none *Reviews
	g.Expect(none.Granted(t.Context(), pods)).To(BeFalse(), "nobody can be asked")
}

func TestAGrantIsBelievedBeforeSomethingIsBegun(t *testing.T) {
	g := NewWithT(t)
	asked := newReviewer()
	clk := testingclock.NewFakePassiveClock(time.Unix(0, 0))
	r := NewReviews(asked, clk)
	for range 2 {
		missing, err := r.Missing(t.Context(), podReader)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(missing).To(Equal([]string{"get pods", "list pods"}))
	}
	g.Expect(asked.count()).To(Equal(4), "a refusal is asked for again")

	asked.allowed = true
	for range 2 {
		g.Expect(r.Missing(t.Context(), podReader)).To(BeEmpty())
	}
	g.Expect(asked.count()).To(Equal(6), "a grant is believed")
	clk.SetTime(time.Unix(0, 0).Add(grantLife))
	g.Expect(r.Missing(t.Context(), podReader)).To(BeEmpty())
	g.Expect(asked.count()).To(Equal(8), "but not for ever")

	clk.SetTime(time.Unix(0, 0).Add(2 * grantLife))
	asked.broken = errors.New("away")
	_, err := r.Missing(t.Context(), podReader)
	g.Expect(err).To(MatchError("asking for the right to list pods: away"))
}

// What the API server has just refused is not believed to be there because it was a minute ago.
func TestAGrantIsNotBelievedAfterARefusal(t *testing.T) {
	g := NewWithT(t)
	asked := newReviewer()
	r := NewReviews(asked, testingclock.NewFakePassiveClock(time.Unix(0, 0)))
	asked.allowed = true
	g.Expect(r.Missing(t.Context(), podReader)).To(BeEmpty())
	asked.allowed = false
	lost := Right{Verb: "get", Resource: "pods"}
	g.Expect(r.Granted(t.Context(), lost)).To(BeFalse())
	lost.Namespace = "b"
	g.Expect(r.Lost(lost)).To(BeTrue(), "a box relied on it")
	g.Expect(r.Lost(lost)).To(BeFalse(), "it is told once")
	g.Expect(r.Missing(t.Context(), podReader)).To(Equal([]string{"get pods"}))
	g.Expect(r.Lost(Right{Verb: "list", Resource: "pods"})).To(BeTrue())
}

// Boxes that start together share their child kinds: each right is asked for once.
func TestARightIsAskedForOnceByAllBoxes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		asked := newReviewer()
		asked.gate, asked.allowed = make(chan struct{}), true
		r := NewReviews(asked, clock.RealClock{})
		rules := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "watch"}}}
		var boxes sync.WaitGroup
		for range 9 {
			boxes.Go(func() {
				if missing, err := r.Missing(t.Context(), rules); err != nil || len(missing) > 0 {
					t.Errorf("%v, %v", missing, err)
				}
			})
		}
		synctest.Wait() // all of them wait for the answer to the first question
		close(asked.gate)
		boxes.Wait()
		g.Expect(asked.asked).To(HaveLen(3))
		g.Expect(asked.asked).To(HaveEach(1))
	})
}

func TestOneSlowReviewHoldsUpNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		asked := newReviewer()
		asked.gate, asked.verb, asked.broken = make(chan struct{}), "create", errors.New("away")
		r := NewReviews(asked, clock.RealClock{})
		pods := Right{Verb: "create", Resource: "pods"}
		var waiting sync.WaitGroup
		for range 3 {
			waiting.Go(func() { g.Expect(r.Granted(t.Context(), pods)).To(BeFalse()) })
		}
		gone, cancel := context.WithCancel(t.Context())
		waiting.Go(func() { r.Granted(gone, pods) })
		synctest.Wait()
		cancel()
		for _, other := range []Right{{Verb: "delete", Resource: "pods"}, {Verb: "delete", Resource: "pods", Namespace: "a"}} {
			g.Expect(r.Granted(t.Context(), other)).To(BeFalse())
		}
		g.Expect(asked.count()).To(Equal(3), "two rights, while the first waits for its answer")
		close(asked.gate)
		waiting.Wait()
		g.Expect(asked.count()).To(Equal(3), "one review for all who asked for the same")
	})
}

func TestRights(t *testing.T) {
	g := NewWithT(t)
	var names []string
	for _, r := range Rights([]rbacv1.PolicyRule{
		{APIGroups: []string{"", "apps"}, Resources: []string{"pods", "deployments/status"}, Verbs: []string{"get", "patch"}},
		{APIGroups: []string{"a.b"}, Resources: []string{"c/finalizers"}, Verbs: []string{"update"}},
	}) {
		names = append(names, r.String())
	}
	g.Expect(names).To(Equal([]string{
		"get pods", "patch pods", "get deployments/status", "patch deployments/status",
		"get pods.apps", "patch pods.apps", "get deployments.apps/status", "patch deployments.apps/status",
		"update c.a.b/finalizers",
	}))
	g.Expect(Rights(nil)).To(BeEmpty())
}

func TestSentence(t *testing.T) {
	NewWithT(t).Expect(Sentence([]string{"get pods", "list pods"})).To(Equal(
		`the manager may not get/list pods; grant it with a ClusterRole labeled orkestra.orkspace.io/aggregate-to-manager: "true"`))
}
