package access

import (
	"context"
	"errors"
	"strconv"
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

	"github.com/orkspace/orkestra/engine/identity"
)

// reviewer answers reviews, and counts them.
type reviewer struct {
	mu      sync.Mutex
	asked   map[authorizationv1.ResourceAttributes]int
	others  []authorizationv1.SubjectAccessReviewSpec // of accounts
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
	var about authorizationv1.ResourceAttributes
	var status *authorizationv1.SubjectAccessReviewStatus
	switch review := obj.(type) {
	case *authorizationv1.SelfSubjectAccessReview:
		about, status = *review.Spec.ResourceAttributes, &review.Status
	case *authorizationv1.SubjectAccessReview:
		about, status = *review.Spec.ResourceAttributes, &review.Status
		r.mu.Lock()
		r.others = append(r.others, review.Spec)
		r.mu.Unlock()
	}
	r.mu.Lock()
	r.asked[about]++
	r.mu.Unlock()
	if r.gate != nil && (r.verb == "" || r.verb == about.Verb) {
		<-r.gate
	}
	status.Allowed = r.allowed
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

var podReader = Everywhere(rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list", "get"}})

func TestARefusalIsAskedForOnceByAllWhoWait(t *testing.T) {
	g := NewWithT(t)
	asked := newReviewer()
	clk := testingclock.NewFakePassiveClock(time.Unix(0, 0))
	r := NewReviews(asked, clk).Of(identity.Account{}, "web")
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
	g.Expect(none.Of(identity.Account{}, "web").Granted(t.Context(), pods)).To(BeFalse(), "nobody can be asked")
}

func TestAGrantIsBelievedBeforeSomethingIsBegun(t *testing.T) {
	g := NewWithT(t)
	asked := newReviewer()
	clk := testingclock.NewFakePassiveClock(time.Unix(0, 0))
	r := NewReviews(asked, clk).Of(identity.Account{}, "web")
	for range 2 {
		missing, err := r.Missing(t.Context(), podReader)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(missing).To(Equal([]Right{{Verb: "get", Resource: "pods"}, {Verb: "list", Resource: "pods"}}))
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
	g.Expect(err).To(MatchError("asking for the right of the manager to list pods: away"))
}

// What the API server has just refused is not believed to be there because it was a minute ago.
func TestAGrantIsNotBelievedAfterARefusal(t *testing.T) {
	g := NewWithT(t)
	asked := newReviewer()
	r := NewReviews(asked, testingclock.NewFakePassiveClock(time.Unix(0, 0))).Of(identity.Account{}, "web")
	asked.allowed = true
	g.Expect(r.Missing(t.Context(), podReader)).To(BeEmpty())
	asked.allowed = false
	lost := Right{Verb: "get", Resource: "pods"}
	g.Expect(r.Granted(t.Context(), lost)).To(BeFalse())
	lost.Namespace = "b"
	g.Expect(r.Lost(lost)).To(BeTrue(), "a box relied on it")
	g.Expect(r.Lost(lost)).To(BeFalse(), "it is told once")
	g.Expect(r.Missing(t.Context(), podReader)).To(Equal([]Right{{Verb: "get", Resource: "pods"}}))
	g.Expect(r.Lost(Right{Verb: "list", Resource: "pods"})).To(BeTrue())
}

// Boxes that start together share their child kinds: each right is asked for once.
func TestARightIsAskedForOnceByAllBoxes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		asked := newReviewer()
		asked.gate, asked.allowed = make(chan struct{}), true
		reviews := NewReviews(asked, clock.RealClock{})
		rules := Everywhere(rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "watch"}})
		var boxes sync.WaitGroup
		for box := range 9 {
			boxes.Go(func() {
				if missing, err := reviews.Of(identity.Account{}, strconv.Itoa(box)).Missing(t.Context(), rules); err != nil || len(missing) > 0 {
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
		r := NewReviews(asked, clock.RealClock{}).Of(identity.Account{}, "web")
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
	rules := Everywhere(
		rbacv1.PolicyRule{APIGroups: []string{"", "apps"}, Resources: []string{"pods", "deployments/status"}, Verbs: []string{"get", "patch"}},
		rbacv1.PolicyRule{APIGroups: []string{"a.b"}, Resources: []string{"c/finalizers"}, Verbs: []string{"update"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"x", "y"}, Verbs: []string{"get"}},
	)
	rules[2].Namespaces = []string{"m", "n"}
	var names []string
	for _, r := range Rights(rules) {
		names = append(names, r.String()+r.where())
	}
	g.Expect(names).To(Equal([]string{
		"get pods", "patch pods", "get deployments/status", "patch deployments/status",
		"get pods.apps", "patch pods.apps", "get deployments.apps/status", "patch deployments.apps/status",
		"update c.a.b/finalizers",
		`get secrets "x" in namespace "m"`, `get secrets "y" in namespace "m"`, `get secrets "x" in namespace "n"`, `get secrets "y" in namespace "n"`,
	}))
	g.Expect(Rights(nil)).To(BeEmpty())
}

var shop = identity.Account{Namespace: "team-a", Name: "shop", UID: "1"}

// The API server judges an account as it does in the requests that are made as it.
func TestAnAccountIsAskedForAsItActs(t *testing.T) {
	g := NewWithT(t)
	asked := newReviewer()
	reviews := NewReviews(asked, testingclock.NewFakePassiveClock(time.Unix(0, 0)))
	asked.allowed = true
	secret := Right{Verb: "get", Resource: "secrets", Namespace: "m", Name: "x"}
	rules := Everywhere(rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"x"}, Verbs: []string{"get"}})
	rules[0].Namespaces = []string{"m"}
	for range 2 {
		g.Expect(reviews.Of(shop, "web").Missing(t.Context(), rules)).To(BeEmpty())
	}
	g.Expect(asked.others).To(Equal([]authorizationv1.SubjectAccessReviewSpec{{
		User: "system:serviceaccount:team-a:shop", UID: "1", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:team-a", "system:authenticated"},
		Extra:              map[string]authorizationv1.ExtraValue{"orkestra.orkspace.io/box": {"web"}},
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Resource: "secrets", Namespace: "m", Name: "x"},
	}}))
	for _, other := range []Holder{
		reviews.Of(shop, "blog"), reviews.Of(identity.Account{}, "web"), reviews.Of(identity.Account{Namespace: "team-a", Name: "shop", UID: "2"}, "web"),
	} {
		before := asked.count()
		g.Expect(other.Missing(t.Context(), rules)).To(BeEmpty())
		g.Expect(asked.count()).To(Equal(before+1), "what one may, another may not")
	}
	holder := reviews.Of(shop, "web")
	g.Expect(holder.Account()).To(Equal(shop))
	secret.User = shop.User()
	g.Expect(holder.Lost(secret)).To(BeTrue())
	g.Expect(holder.Lost(secret)).To(BeFalse())
	secret.User = "system:serviceaccount:orkestra-system:orkestra"
	g.Expect(holder.Lost(secret)).To(BeTrue(), "what the manager was refused is the manager's")
}

func TestARightToReadIsBelievedForAMinute(t *testing.T) {
	g := NewWithT(t)
	asked := newReviewer()
	begin := time.Unix(0, 0)
	clk := testingclock.NewFakePassiveClock(begin)
	holder := NewReviews(asked, clk).Of(shop, "web")
	secret := Right{Verb: "get", Resource: "secrets", Namespace: "m", Name: "x"}
	reads := func(at, until time.Duration, allowed bool, reviews int) {
		t.Helper()
		clk.SetTime(begin.Add(at))
		got, end, err := holder.Reads(t.Context(), secret)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(got).To(Equal(allowed))
		g.Expect(end).To(Equal(begin.Add(until)))
		g.Expect(asked.count()).To(Equal(reviews))
	}
	asked.allowed = true
	reads(0, ReadLife, true, 1)
	asked.allowed = false
	reads(ReadLife-1, ReadLife, true, 1)
	reads(ReadLife, ReadLife+RetryInterval, false, 2)
	g.Expect(holder.Lost(secret)).To(BeFalse(), "the refusal has dropped the grant")
	asked.allowed = true
	reads(ReadLife+RetryInterval-1, ReadLife+RetryInterval, false, 2)
	reads(ReadLife+RetryInterval, 2*ReadLife+RetryInterval, true, 3)

	asked.broken = errors.New("away")
	clk.SetTime(begin.Add(3 * ReadLife))
	for range 2 {
		_, _, err := holder.Reads(t.Context(), secret)
		g.Expect(err).To(MatchError(`asking for the right of ServiceAccount team-a/shop to get secrets "x": away`), "no answer is no refusal")
	}
}

// Names that templates give come and go: what nobody believes any more is not kept.
func TestOldAnswersAreDropped(t *testing.T) {
	g := NewWithT(t)
	asked := newReviewer()
	clk := testingclock.NewFakePassiveClock(time.Unix(0, 0))
	reviews := NewReviews(asked, clk)
	holder := reviews.Of(shop, "web")
	for i := range 3 * sweepAt {
		asked.allowed = i%2 == 0
		clk.SetTime(time.Unix(int64(i), 0))
		_, _, err := holder.Reads(t.Context(), Right{Verb: "get", Resource: "secrets", Name: strconv.Itoa(i)})
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(len(reviews.granted) + len(reviews.refused)).To(BeNumerically("<=", sweepAt))
}

// Rights may have changed: what was refused is asked for anew, and what was granted is believed.
func TestRefusalsAreDropped(t *testing.T) {
	g := NewWithT(t)
	asked := newReviewer()
	reviews := NewReviews(asked, testingclock.NewFakePassiveClock(time.Unix(0, 0)))
	holder := reviews.Of(shop, "web")
	secret, pods := Right{Verb: "get", Resource: "secrets", Namespace: "m", Name: "x"}, Right{Verb: "create", Resource: "pods"}
	reads := func() bool {
		allowed, _, err := holder.Reads(t.Context(), secret)
		g.Expect(err).NotTo(HaveOccurred())
		return allowed
	}
	g.Expect(reviews.DropRefusals()).To(BeFalse(), "nobody has asked")
	g.Expect(reads()).To(BeFalse())
	g.Expect(holder.Granted(t.Context(), pods)).To(BeFalse())
	g.Expect(reviews.Denied()).To(Receive())
	g.Expect(reviews.Denied()).NotTo(Receive(), "both at once")
	asked.allowed = true
	g.Expect(reads()).To(BeFalse())
	g.Expect(asked.count()).To(Equal(2))

	g.Expect(reviews.DropRefusals()).To(BeTrue())
	g.Expect(reads()).To(BeTrue())
	g.Expect(holder.Granted(t.Context(), pods)).To(BeTrue())
	g.Expect(asked.count()).To(Equal(4))
	g.Expect(reviews.DropRefusals()).To(BeFalse(), "nobody waits any more")
	g.Expect(reads()).To(BeTrue())
	g.Expect(asked.count()).To(Equal(4))
	g.Expect(reviews.Denied()).NotTo(Receive())

	asked.broken = errors.New("away")
	g.Expect(holder.Granted(t.Context(), Right{Verb: "delete", Resource: "pods"})).To(BeFalse())
	g.Expect(reviews.Denied()).NotTo(Receive(), "no answer is no refusal")
}

// However many names templates give, the answers about them are bounded. What is not known any more is asked for.
func TestAnswersAreBounded(t *testing.T) {
	for name, allowed := range map[string]bool{"granted": true, "refused": false} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			asked := newReviewer()
			asked.allowed = allowed
			r := NewReviews(asked, testingclock.NewFakePassiveClock(time.Unix(0, 0)))
			held := r.Of(identity.Account{}, "web")
			right := func(i int) Right {
				return Right{Verb: "get", Resource: "configmaps", Namespace: "a", Name: strconv.Itoa(i)}
			}
			for i := range maxAnswers + 2 {
				held.Granted(t.Context(), right(i))
				if known := len(r.granted) + len(r.refused); known > maxAnswers {
					g.Expect(known).To(BeNumerically("<=", maxAnswers))
				}
			}
			for i := range 100 {
				g.Expect(held.Granted(t.Context(), right(i))).To(Equal(allowed))
			}
		})
	}
}

// A box is told of a right that it loses, whatever others ask for meanwhile.
func TestManyNamesOfOneBoxTakeNothingFromAnother(t *testing.T) {
	g := NewWithT(t)
	asked := newReviewer()
	asked.allowed = true
	r := NewReviews(asked, testingclock.NewFakePassiveClock(time.Unix(0, 0)))
	flood, box := r.Of(identity.Account{Namespace: "b", Name: "b"}, "flood"), r.Of(identity.Account{Namespace: "a", Name: "a"}, "web")
	_, err := box.Missing(t.Context(), podReader)
	g.Expect(err).NotTo(HaveOccurred())
	asked.allowed = false
	for i := range maxAnswers + 2 {
		flood.Granted(t.Context(), Right{Verb: "get", Resource: "configmaps", Namespace: "b", Name: strconv.Itoa(i)})
	}
	g.Expect(len(r.granted) + len(r.refused)).To(BeNumerically("<", maxAnswers))
	for _, right := range Rights(podReader) {
		g.Expect(box.Lost(right)).To(BeTrue(), "%s", right)
	}
}
