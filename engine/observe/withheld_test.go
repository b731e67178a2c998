package observe

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/identity"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// allowing grants rights by their text, and counts what it is asked.
type allowing struct {
	rights map[string]bool
	asked  int
}

// Create implements access.Creator.
func (a *allowing) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	review, _ := obj.(*authorizationv1.SubjectAccessReview)
	about := review.Spec.ResourceAttributes
	a.asked++
	review.Status.Allowed = a.rights[access.Right{Verb: about.Verb, Resource: about.Resource, Name: about.Name}.String()]
	return nil
}

func TestWhatMayBeReadIsAskedOfTheAccount(t *testing.T) {
	g := NewWithT(t)
	begin := time.Unix(0, 0)
	clk := testclock.NewFakePassiveClock(begin)
	api := &allowing{rights: map[string]bool{`get configmaps "x"`: true, "list configmaps": true}}
	rights := access.NewReviews(api, clk)
	o, _ := observing(t)
	web := types.NamespacedName{Namespace: "a", Name: "web"}

	alone := o.For(web)
	until, err := alone.Reads(t.Context(), settings, "a", "x")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(until).To(BeZero(), "without an account, the caches are the box's own")
	g.Expect(api.asked).To(BeZero())

	o.sources.Rights = rights.Of(identity.Account{Namespace: "team", Name: "ann"}, "website")
	r := o.For(web)
	until, err = r.Reads(t.Context(), settings, "a", "x")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(until).To(Equal(begin.Add(access.ReadLife)))
	_, err = r.Reads(t.Context(), settings, "a", "y")
	g.Expect(err).To(MatchError(`ServiceAccount team/ann may not read ConfigMap "a/y"; the box's condition PermissionsGranted names the right`))
	until, err = r.Reads(t.Context(), settings, "a", "")
	g.Expect(err).To(BeAssignableToTypeOf(&stage.WithheldError{}), "it may list, and not watch")
	g.Expect(until).To(Equal(begin.Add(access.RetryInterval)))
	g.Expect(o.Withheld()).To(BeEmpty(), "the cycle is not over")
	g.Expect(r.End(true)).To(BeTrue())
	g.Expect(o.Withheld()).To(Equal([]access.Right{
		{Verb: "get", Resource: "configmaps", Namespace: "a", Name: "y"}, {Verb: "watch", Resource: "configmaps", Namespace: "a"},
	}))

	same := o.For(web)
	_, err = same.Reads(t.Context(), settings, "a", "y")
	g.Expect(err).To(HaveOccurred())
	g.Expect(same.End(true)).To(BeTrue(), "it lacks less")
	g.Expect(o.For(web).End(true)).To(BeTrue(), "it reads nothing any more")
	g.Expect(o.Withheld()).To(BeEmpty())
	g.Expect(o.For(web).End(true)).To(BeFalse())

	again := o.For(web)
	_, err = again.Reads(t.Context(), settings, "a", "y")
	g.Expect(err).To(HaveOccurred())
	again.End(true)
	o.Forget(web)
	g.Expect(o.Withheld()).To(BeEmpty(), "the resource is gone")
}
