package accounts

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	metadatafake "k8s.io/client-go/metadata/fake"
	clientgotesting "k8s.io/client-go/testing"
)

var serviceAccounts = corev1.SchemeGroupVersion.WithResource("serviceaccounts")

func serviceAccount(namespace, name string, uid types.UID) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: uid, Annotations: map[string]string{"note": "long"}},
	}
}

// whoami says that the manager is a user. While forbidden is true, it may not be asked.
type whoami struct {
	user      string
	forbidden *atomic.Bool
}

func (w whoami) Create(context.Context, *authenticationv1.SelfSubjectReview, metav1.CreateOptions) (*authenticationv1.SelfSubjectReview, error) {
	if w.forbidden.Load() {
		return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "selfsubjectreviews"}, "", errors.New("no rule allows it"))
	}
	return &authenticationv1.SelfSubjectReview{Status: authenticationv1.SelfSubjectReviewStatus{UserInfo: authenticationv1.UserInfo{Username: w.user}}}, nil
}

// manager is the one that is an account of namespace "team" itself, and may ask who it is unless forbidden is true.
func manager(forbidden *atomic.Bool) whoami {
	return whoami{user: "system:serviceaccount:team:orkestra", forbidden: forbidden}
}

// told is what a store has told of.
type told struct {
	mu  sync.Mutex
	all []string
}

func (t *told) changed(_ context.Context, namespace, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, namespace+"/"+name)
}

func (t *told) take() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.all
	t.all = nil
	return all
}

// running gives a store of namespaces "team" and "other" that runs. While forbidden is true, nothing may be read.
func running(t *testing.T, forbidden *atomic.Bool, objects ...runtime.Object) (*Store, *metadatafake.FakeMetadataClient, *told) {
	t.Helper()
	g := NewWithT(t)
	scheme := metadatafake.NewTestScheme()
	g.Expect(metav1.AddMetaToScheme(scheme)).To(Succeed())
	client := metadatafake.NewSimpleMetadataClient(scheme, objects...)
	client.PrependReactor("list", "*", func(clientgotesting.Action) (bool, runtime.Object, error) {
		if forbidden.Load() {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "serviceaccounts"}, "", errors.New("no rule allows it"))
		}
		return false, nil, nil
	})
	heard := &told{}
	s, err := newStore(client, manager(forbidden), []string{"team", "other"}, heard.changed)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = s.UID(types.NamespacedName{Namespace: "team", Name: "ann"})
	g.Expect(err).To(MatchError(errNotAsked))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		g.Expect(<-done).To(Succeed())
	})
	return s, client, heard
}

func TestAccountsAreKnownByTheirUIDs(t *testing.T) {
	g := NewWithT(t)
	s, client, heard := running(t, &atomic.Bool{}, serviceAccount("team", "ann", "one"), serviceAccount("elsewhere", "eve", "five"))
	uid := func(namespace, name string) func() (types.UID, error) {
		return func() (types.UID, error) { return s.UID(types.NamespacedName{Namespace: namespace, Name: name}) }
	}
	g.Eventually(uid("team", "ann")).Should(BeEquivalentTo("one"))
	g.Expect(uid("team", "bob")()).To(BeEmpty(), "there is none")
	g.Expect(s.Namespaces()).To(Equal([]string{"other", "team"}))
	_, err := uid("elsewhere", "eve")()
	g.Expect(err).To(MatchError(ErrNotAllowed), "although there is one")
	g.Eventually(heard.take).Should(ContainElement("team/ann"))

	accounts := client.Resource(serviceAccounts).Namespace("team")
	g.Expect(accounts.Delete(t.Context(), "ann", metav1.DeleteOptions{})).To(Succeed())
	g.Eventually(uid("team", "ann")).Should(BeEmpty())
	g.Eventually(heard.take).Should(ContainElement("team/ann"))
	_, err = client.Resource(serviceAccounts).Namespace("team").(metadatafake.MetadataClient).CreateFake(serviceAccount("team", "ann", "two"), metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(uid("team", "ann")).Should(BeEquivalentTo("two"))
	g.Eventually(heard.take).Should(ContainElement("team/ann"))
}

func TestAccountsThatMayNotBeReadAreNotKnown(t *testing.T) {
	g := NewWithT(t)
	forbidden := &atomic.Bool{}
	forbidden.Store(true)
	s, _, heard := running(t, forbidden, serviceAccount("team", "ann", "one"))
	ann := func() (types.UID, error) { return s.UID(types.NamespacedName{Namespace: "team", Name: "ann"}) }
	g.Eventually(func() error { _, err := ann(); return err }).Should(MatchError(ContainSubstring("no rule allows it")))
	var told []string // the two may be told one after the other
	g.Eventually(func() []string {
		told = append(told, heard.take()...)
		return told
	}).Should(ContainElements("team/", "other/"))
	forbidden.Store(false)
	g.Eventually(ann, "20s").Should(BeEquivalentTo("one"))
	g.Expect(heard.take()).To(ContainElement("team/"))

	refusal := apierrors.NewForbidden(schema.GroupResource{Resource: "serviceaccounts"}, "", errors.New("it was taken away"))
	s.answered(t.Context(), s.all["team"], refusal)
	_, err := ann()
	g.Expect(err).To(MatchError(ContainSubstring("it was taken away")), "what was read before is believed no more")
	g.Expect(heard.take()).To(ContainElement("team/"))
}

// Who acts as the manager's own account has all rights of the manager.
func TestTheManagersOwnAccountIsForNoBox(t *testing.T) {
	g := NewWithT(t)
	forbidden := &atomic.Bool{}
	s, _, heard := running(t, forbidden, serviceAccount("team", "orkestra", "one"), serviceAccount("other", "orkestra", "two"))
	uid := func(namespace string) func() error {
		return func() error {
			_, err := s.UID(types.NamespacedName{Namespace: namespace, Name: "orkestra"})
			return err
		}
	}
	g.Eventually(uid("team")).Should(MatchError(ErrOwn))
	g.Eventually(uid("other")).Should(Succeed(), "another account with its name")
	g.Expect(heard.take()).To(ContainElements("team/", "other/"), "boxes that waited are told")
}

// A box must not act as an account while nobody knows whether it is the manager's.
func TestNoAccountIsKnownBeforeTheManagersOwnIs(t *testing.T) {
	g := NewWithT(t)
	forbidden := &atomic.Bool{}
	forbidden.Store(true)
	me := &own{reviews: manager(forbidden)}
	s := &Store{own: me, all: map[string]*namespace{"team": {}}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); me.learn(ctx) }()
	uid := func() error { _, err := s.UID(types.NamespacedName{Namespace: "team", Name: "ann"}); return err }
	g.Eventually(uid).Should(MatchError(And(ContainSubstring("asking which account the manager itself has: "), ContainSubstring("no rule allows it"))))
	forbidden.Store(false)
	g.Eventually(me.user, "20s").Should(Equal("system:serviceaccount:team:orkestra"))
	g.Eventually(ended).Should(BeClosed())
	cancel()
}

func TestNothingIsKeptOfAnAccountButItsNameAndItsUID(t *testing.T) {
	g := NewWithT(t)
	kept, err := bare(serviceAccount("team", "ann", "one"))
	g.Expect(err).NotTo(HaveOccurred())
	want := serviceAccount("team", "ann", "one")
	want.Annotations = nil
	g.Expect(kept).To(Equal(want))
	other, err := bare("something else")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(other).To(Equal("something else"))
	g.Expect(uidOf("something else")).To(BeEmpty())
	g.Expect((&Store{}).NeedLeaderElection()).To(BeFalse())
}

// An empty name would stand for all namespaces.
func TestOnlyNamespacesAreWatched(t *testing.T) {
	for _, name := range []string{"", "team/a", "*"} {
		_, err := newStore(metadatafake.NewSimpleMetadataClient(metadatafake.NewTestScheme()), manager(&atomic.Bool{}), []string{"team", name}, (&told{}).changed)
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring("namespaces whose accounts boxes may use: " + strconv.Quote(name))))
	}
}
