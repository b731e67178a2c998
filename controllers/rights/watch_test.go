package rights

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata/fake"
	clientgotesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/identity"
)

// cluster is an API server with roles, one manager and one right that somebody waits for.
type cluster struct {
	t       *testing.T
	client  *fake.FakeMetadataClient
	reviews *access.Reviews

	mu      sync.Mutex
	refused []string        // what the manager may not do; guarded by mu
	asked   []string        // reviews; guarded by mu
	rounds  []time.Duration // when those who wait were told, since it began; guarded by mu

	began time.Time
}

// right is what somebody waits for.
var right = access.Right{Verb: "create", Resource: "configmaps", Namespace: "team"}

// Create implements access.Creator.
func (c *cluster) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	review, ok := obj.(*authorizationv1.SelfSubjectAccessReview)
	if !ok {
		return errors.New("a review of somebody else")
	}
	about := review.Spec.ResourceAttributes
	text := about.Verb + " " + about.Resource
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, text)
	review.Status.Allowed = !slices.Contains(c.refused, text)
	return nil
}

// take gives what was asked since the last call.
func (c *cluster) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := c.asked
	c.asked = nil
	return asked
}

// told gives when those who wait were told, since it began.
func (c *cluster) told() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.rounds)
}

// refuse says what the manager may not do from now on.
func (c *cluster) refuse(rights ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused = rights
}

// wait has somebody ask for the right.
func (c *cluster) wait() {
	c.reviews.Of(identity.Account{}, "").Granted(c.t.Context(), right)
	synctest.Wait()
}

// binding is an object that gives rights.
func binding(kind, name, version string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind},
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, ResourceVersion: version},
	}
}

func (c *cluster) make(name string) {
	c.t.Helper()
	err := c.client.Tracker().Create(rbacv1.SchemeGroupVersion.WithResource("rolebindings"), binding("RoleBinding", name, "1"), "team")
	NewWithT(c.t).Expect(err).NotTo(HaveOccurred())
	synctest.Wait()
}

// after lets time pass.
func after(d time.Duration) {
	time.Sleep(d) // of the bubble
	synctest.Wait()
}

// running starts a watch in a bubble of time.
func running(t *testing.T, test func(g *WithT, c *cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		scheme := fake.NewTestScheme()
		g := NewWithT(t)
		g.Expect(metav1.AddMetaToScheme(scheme)).To(Succeed())
		c := &cluster{t: t, client: fake.NewSimpleMetadataClient(scheme, binding("RoleBinding", "old", "1")), refused: []string{"create configmaps"}, began: time.Now()}
		c.reviews = access.NewReviews(c, clock.RealClock{})
		w := newWatch(c.client, c.reviews, clock.RealClock{}, func(ctx context.Context) {
			c.mu.Lock()
			c.rounds = append(c.rounds, time.Since(c.began))
			c.mu.Unlock()
			c.reviews.Of(identity.Account{}, "").Granted(ctx, right)
		})
		ctx, cancel := context.WithCancel(t.Context())
		var ended sync.WaitGroup
		ended.Go(func() { g.Expect(w.Start(ctx)).To(Succeed()) })
		synctest.Wait()
		test(g, c)
		cancel()
		ended.Wait()
	})
}

func (c *cluster) requests() int {
	n := 0
	for _, action := range c.client.Actions() {
		if action.GetVerb() == "list" || action.GetVerb() == "watch" {
			n++
		}
	}
	return n
}

func TestNothingIsWatchedBeforeARightIsMissing(t *testing.T) {
	running(t, func(g *WithT, c *cluster) {
		after(time.Hour)
		g.Expect(c.requests()).To(BeZero())
		g.Expect(c.take()).To(BeEmpty(), "and nothing is asked")
		c.wait()
		after(0)
		g.Expect(c.requests()).To(BeNumerically(">=", len(resources)))
	})
}

func TestAChangeHasWhatWasRefusedAskedForAnew(t *testing.T) {
	running(t, func(g *WithT, c *cluster) {
		c.wait()
		after(time.Minute)
		g.Expect(c.told()).To(HaveLen(1), "what changed before the first list")
		c.wait()
		c.take()
		c.refuse()
		began := time.Since(c.began)
		c.make("granted")
		after(settle - 1)
		g.Expect(c.told()).To(HaveLen(1), "a role and its binding are one change")
		after(1)
		g.Expect(c.told()[1:]).To(Equal([]time.Duration{began + settle}), "long before the refusal would have been asked for again")
		g.Expect(c.take()).To(Equal([]string{"create configmaps"}))

		c.make("another")
		after(time.Minute)
		g.Expect(c.told()).To(HaveLen(2), "nobody waits any more")
		g.Expect(c.take()).To(BeEmpty(), "so changes cost nothing")
	})
}

func TestChangesThatDoNotEndAreGathered(t *testing.T) {
	running(t, func(g *WithT, c *cluster) {
		c.wait()
		after(time.Minute)
		c.wait()
		first := len(c.told())
		c.take()
		for i := range 600 { // a minute of ten changes in a second
			c.make(string(rune('a'+i%26)) + "-" + time.Duration(i).String())
			after(100 * time.Millisecond)
		}
		rounds := c.told()[first:]
		var pauses []time.Duration
		for i := range rounds[1:] {
			pauses = append(pauses, (rounds[i+1] - rounds[i]).Round(time.Second))
		}
		g.Expect(pauses).To(HaveExactElements(2*time.Second, 4*time.Second, 8*time.Second, access.RetryInterval, access.RetryInterval, access.RetryInterval))
		g.Expect(c.take()).To(HaveLen(len(rounds)), "one review per round for the right, however many changes")
		after(time.Hour)
		c.wait()
		began := time.Since(c.began)
		c.make("later")
		after(settle)
		g.Expect(slices.Max(c.told())).To(Equal(began+settle), "after quiet it is fast again")
	})
}

// An API server that has just started denies what it will grant a moment later.
func TestARightThatIsLostIsAskedForAgainSoon(t *testing.T) {
	running(t, func(g *WithT, c *cluster) {
		manager := c.reviews.Of(identity.Account{}, "")
		c.refuse("list clusterrolebindings") // without the watch
		g.Expect(manager.Granted(t.Context(), right)).To(BeTrue())
		c.refuse("create configmaps", "list clusterrolebindings")
		c.wait()
		g.Expect(manager.Lost(right)).To(BeTrue())
		began := time.Since(c.began)
		after(time.Minute)
		g.Expect(c.told()).To(Equal([]time.Duration{began + 2*time.Second, began + 6*time.Second, began + 14*time.Second}), "and then no more: it is gone")
		c.wait()
		after(time.Minute)
		g.Expect(c.told()).To(HaveLen(3), "what was not there a moment ago is believed to be refused")

		c.refuse("list clusterrolebindings")
		c.wait()
		c.refuse("create configmaps", "list clusterrolebindings")
		g.Expect(manager.Lost(right)).To(BeTrue())
		c.wait()
		c.refuse("list clusterrolebindings")
		after(time.Minute)
		g.Expect(c.told()).To(HaveLen(4), "nobody waits for it any more")
		g.Expect(manager.Granted(t.Context(), right)).To(BeTrue())
	})
}

func TestARightThatComesAndGoesIsAskedForNowAndThen(t *testing.T) {
	running(t, func(g *WithT, c *cluster) {
		manager := c.reviews.Of(identity.Account{}, "")
		for range 10 * 60 {
			c.refuse()
			c.reviews.DropRefusals()
			g.Expect(manager.Granted(t.Context(), right)).To(BeTrue())
			c.refuse("create configmaps", "list clusterrolebindings")
			c.wait()
			manager.Lost(right)
			after(time.Second)
		}
		g.Expect(len(c.told())).To(And(BeNumerically(">", 50), BeNumerically("<=", 3*600/29+3)), "three rounds in 29 seconds")
	})
}

func TestWithoutTheRightItIsAskedForNowAndThen(t *testing.T) {
	running(t, func(g *WithT, c *cluster) {
		c.refuse("create configmaps", "list clusterrolebindings")
		for range 10 {
			c.wait()
			after(access.RetryInterval / 5)
		}
		g.Expect(c.requests()).To(BeZero())
		g.Expect(c.take()).To(Equal([]string{
			"create configmaps", "list clusterrolebindings", "create configmaps", "list clusterrolebindings",
		}), "one review more for each that is asked")
		g.Expect(c.told()).To(BeEmpty())
		c.refuse("create configmaps")
		after(access.RetryInterval)
		c.wait()
		after(0)
		g.Expect(c.requests()).To(BeNumerically(">=", len(resources)), "it was granted")
	})
}

func TestAWatchThatIsNotAllowedAnyMoreEnds(t *testing.T) {
	running(t, func(g *WithT, c *cluster) {
		denied := false
		forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "roles"}, "", errors.New("no rule allows it"))
		var open []watch.Interface
		c.client.PrependWatchReactor("*", func(action clientgotesting.Action) (bool, watch.Interface, error) {
			if denied {
				return true, nil, forbidden
			}
			w, err := c.client.Tracker().Watch(action.GetResource(), action.GetNamespace())
			open = append(open, w)
			return true, w, err
		})
		c.client.PrependReactor("list", "*", func(clientgotesting.Action) (bool, runtime.Object, error) { return denied, nil, forbidden })
		c.wait()
		after(time.Minute)
		denied = true
		c.refuse("create configmaps", "list clusterrolebindings")
		for _, w := range open {
			w.Stop()
		}
		after(time.Minute)
		before := c.requests()
		after(time.Hour)
		g.Expect(c.requests()).To(Equal(before), "nobody tries for ever")

		denied = false
		c.refuse("create configmaps")
		c.wait()
		after(time.Minute)
		c.wait()
		began := time.Since(c.began)
		c.make("granted")
		after(settle)
		g.Expect(slices.Max(c.told())).To(Equal(began+settle), "it is watched again")
	})
}
