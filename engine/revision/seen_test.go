package revision

import (
	"context"
	"errors"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/orkspace/orkestra/engine/boxspec"
)

// versions has a store whose API server notes how old each list may be. The server answers with the resource versions 7, 8 and so on.
func versions(t *testing.T, answer func(version string) error) (store *Store, asked *[]string) {
	t.Helper()
	asked = &[]string{}
	c := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			options := (&client.ListOptions{}).ApplyOptions(opts)
			version := "now"
			if options.Raw != nil {
				NewWithT(t).Expect(options.Raw.ResourceVersionMatch).To(Equal(metav1.ResourceVersionMatchNotOlderThan))
				version = options.Raw.ResourceVersion
			}
			*asked = append(*asked, version)
			if err := answer(version); err != nil {
				return err
			}
			options.Raw = nil
			if err := c.List(ctx, list, options); err != nil {
				return err
			}
			list.SetResourceVersion(strconv.Itoa(6 + len(*asked)))
			return nil
		},
	}).Build()
	return NewStore(c, c, ourNamespace), asked
}

func always(string) error { return nil }

// Only the first list waits until the API server has heard what etcd holds.
func TestListsNeedNotBeNewerThanWhatWasSeen(t *testing.T) {
	g := NewWithT(t)
	store, asked := versions(t, always)
	for range 2 {
		_, err := store.List(t.Context(), "shop")
		g.Expect(err).NotTo(HaveOccurred())
	}
	_, err := store.List(t.Context(), "cart")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(*asked).To(Equal([]string{"now", "7", "7"}))
}

func TestListsShowWhatThisProcessHasWritten(t *testing.T) {
	g := NewWithT(t)
	store, asked := versions(t, always)
	g.Expect(store.Keep(t.Context(), saying("a", ""), sparing())).To(Succeed())
	all, err := store.List(t.Context(), "shop")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(*asked).To(Equal([]string{"now", all[0].ResourceVersion}))
	g.Expect(store.Keep(t.Context(), saying("b", "a"), sparing())).To(Succeed())
	*asked = nil
	g.Expect(store.Keep(t.Context(), saying("a", "b"), sparing())).To(Succeed(), "its number is raised")
	*asked = nil
	all, err = store.List(t.Context(), "shop")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(*asked).To(Equal([]string{all[0].ResourceVersion}))
	*asked = nil
	_, err = store.List(t.Context(), "cart")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(*asked).To(Equal([]string{"7"}))
}

// Nobody tells the version of a deletion, nor that of what another process has written.
func TestListsAreOfNowAfterWhatHasNoVersion(t *testing.T) {
	for name, do := range map[string]func(g *WithT, s *Store){
		"a box that is gone": func(g *WithT, s *Store) { g.Expect(s.Forget(t.Context(), "shop")).To(Succeed()) },
		"another leader":     func(_ *WithT, s *Store) { s.Lead() },
		"a revision replaced": func(g *WithT, s *Store) {
			g.Expect(s.find(t.Context(), Ref{Name: revisionOf("a"), Hash: "another"})).To(BeNil())
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			store, asked := versions(t, always)
			g.Expect(store.Keep(t.Context(), saying("a", ""), sparing())).To(Succeed())
			do(g, store)
			*asked = nil
			_, err := store.List(t.Context(), "shop")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(*asked).To(Equal([]string{"now"}))
			_, err = store.List(t.Context(), "shop")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect((*asked)[1:]).To(Equal([]string{"7"}))
		})
	}
}

// The end of one box does not hold up another one, and leaves nothing behind as soon as anything was listed.
func TestTheEndOfABoxIsOfNoConcernToOthers(t *testing.T) {
	g := NewWithT(t)
	store, asked := versions(t, always)
	g.Expect(store.Keep(t.Context(), saying("a", ""), sparing())).To(Succeed())
	g.Expect(store.Forget(t.Context(), "shop")).To(Succeed())
	*asked = nil
	_, err := store.List(t.Context(), "cart")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(*asked).NotTo(ContainElement("now"))
	g.Expect(store.seen.boxes).To(HaveLen(1))
	g.Expect(store.Boxes(t.Context())).To(BeEmpty())
	g.Expect(store.seen.boxes).To(BeEmpty())
	*asked = nil
	_, err = store.List(t.Context(), "shop")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(*asked).To(Equal([]string{"8"}), "that of the list of boxes")
}

// A revision of the box is removed while each list of this store is on its way.
func TestAListOfBeforeDoesNotCount(t *testing.T) {
	g := NewWithT(t)
	var store *Store
	store, asked := versions(t, func(string) error {
		store.seen.change("shop", "")
		return nil
	})
	for range 2 {
		_, err := store.List(t.Context(), "shop")
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(*asked).To(Equal([]string{"now", "now"}))
}

// A list of now that ends after a later one has ended does not count, nor one during which all was forgotten.
func TestALateListDoesNotCount(t *testing.T) {
	for name, meanwhile := range map[string]struct {
		do   func(s *seen)
		want string
	}{
		"a later one": {func(s *seen) { s.change("cart", "5"); s.listed, s.since = "20", s.turn }, "20"},
		"forgotten":   {(*seen).forget, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var store *Store
			store, _ = versions(t, func(string) error {
				meanwhile.do(&store.seen)
				return nil
			})
			_, err := store.List(t.Context(), "shop")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(store.seen.version("shop")).To(Equal(meanwhile.want))
		})
	}
}

// Whether a create that failed has stored its revision, nobody knows.
func TestAWriteThatFailedMayHaveBeenStored(t *testing.T) {
	g := NewWithT(t)
	store, asked := versions(t, always)
	failing := interceptor.NewClient(store.client.(client.WithWatch), interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return errors.New("timed out")
		},
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error {
			return errors.New("timed out")
		},
	})
	g.Expect(store.Keep(t.Context(), saying("a", ""), sparing())).To(Succeed())
	g.Expect(store.Keep(t.Context(), saying("b", "a"), sparing())).To(Succeed())
	store.client = failing
	for _, again := range []string{"c", "a"} { // the first is new, the second would be raised
		*asked = nil
		g.Expect(store.Keep(t.Context(), saying(again, "b"), sparing())).To(MatchError(ContainSubstring("timed out")))
		_, err := store.List(t.Context(), "shop")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect((*asked)[len(*asked)-1]).To(Equal("now"), again)
	}
}

// A box that is going is listed as of when its end began, however long ago it was written.
func TestTheEndOfABoxSeesAllOfIt(t *testing.T) {
	g := NewWithT(t)
	store, asked := versions(t, always)
	g.Expect(store.Keep(t.Context(), saying("a", ""), sparing())).To(Succeed())
	*asked = nil
	g.Expect(store.Forget(t.Context(), "shop")).To(Succeed())
	g.Expect(*asked).To(Equal([]string{"now", "7"}), "snapshots, and then revisions")
}

// An etcd that was restored from a backup has not come as far as what was seen.
func TestAListThatCanNotBeThatNewIsOfNow(t *testing.T) {
	g := NewWithT(t)
	restored := false
	store, asked := versions(t, func(version string) error {
		if version == "now" || !restored {
			return nil
		}
		err := apierrors.NewTimeoutError("Too large resource version: 7, current: 3", 1)
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
		return err
	})
	g.Expect(store.Keep(t.Context(), saying("a", ""), sparing())).To(Succeed())
	restored, *asked = true, nil
	all, err := store.List(t.Context(), "shop")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(*asked).To(Equal([]string{all[0].ResourceVersion, "now"}))
	restored, *asked = false, nil
	_, err = store.List(t.Context(), "shop")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(*asked).To(Equal([]string{"8"}), "that of the list of now")
}

// A reconcile keeps a spec while a resource that goes back to a former one looks where those have led.
func TestPlacesThatAreKeptMeanwhileAreNotLost(t *testing.T) {
	g := NewWithT(t)
	places := func(namespace string) boxspec.Places { return boxspec.Places{Literal: []string{namespace}} }
	store, _ := versions(t, always)
	_, ok, leads := store.knownPlaces("shop")
	g.Expect(ok).To(BeFalse())
	store.notePlaces("shop", places("a"), leads)
	g.Expect(store.notePlaces("shop", places("b"), leads)).To(Equal(places("b").With(places("a"))))
	known, _, leads := store.knownPlaces("shop")
	g.Expect(known).To(Equal(places("b").With(places("a"))))
	store.Lead()
	store.notePlaces("shop", places("c"), leads)
	_, ok, _ = store.knownPlaces("shop")
	g.Expect(ok).To(BeFalse(), "it was looked for by a follower")
}
