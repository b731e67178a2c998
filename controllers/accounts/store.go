// Package accounts knows the ServiceAccounts as which boxes may act: those of some namespaces, by their UIDs.
package accounts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/watch"
	authenticationv1client "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/orkspace/orkestra/engine/identity"
	enginewatch "github.com/orkspace/orkestra/engine/watch"
)

// ErrNotAllowed says that boxes may not use the accounts of a namespace.
var ErrNotAllowed = errors.New("boxes may not use the accounts of this namespace")

// ErrOwn says that an account is the manager's own, as which no box may act.
var ErrOwn = errors.New("this is the manager's own account")

// Changed is told of an account that came, went or was replaced; and, with an empty name, of all accounts of a namespace: whether they
// can be read has changed. It must not block for long.
type Changed func(ctx context.Context, namespace, name string)

// Store knows the accounts of some namespaces. It keeps nothing of them but their names and UIDs. It is safe for concurrent use.
type Store struct {
	changed Changed
	own     *own
	all     map[string]*namespace
}

// namespace knows the accounts of one namespace.
type namespace struct {
	name     string
	informer cache.SharedIndexInformer

	mu     sync.Mutex
	denied error // why the accounts can't be read now; guarded by mu
}

// NewStore gives a store that knows nothing before it is started.
func NewStore(config *rest.Config, namespaces []string, changed Changed) (*Store, error) {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client for ServiceAccounts: %w", err)
	}
	reviews, err := authenticationv1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client that asks who the manager is: %w", err)
	}
	return newStore(client, reviews.SelfSubjectReviews(), namespaces, changed)
}

func newStore(client metadata.Interface, reviews authenticationv1client.SelfSubjectReviewInterface, namespaces []string, changed Changed) (*Store, error) {
	s := &Store{changed: changed, own: &own{reviews: reviews}, all: map[string]*namespace{}}
	for _, name := range namespaces {
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			return nil, fmt.Errorf("namespaces whose accounts boxes may use: %q: %s", name, strings.Join(problems, ", "))
		}
		n := &namespace{name: name}
		if err := s.prepare(n, client); err != nil {
			return nil, err
		}
		s.all[name] = n
	}
	return s, nil
}

// prepare makes the informer of a namespace.
func (s *Store) prepare(n *namespace, client metadata.Interface) error {
	accounts := client.Resource(corev1.SchemeGroupVersion.WithResource("serviceaccounts")).Namespace(n.name)
	n.informer = cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := accounts.List(ctx, enginewatch.Consistent(options))
			s.answered(ctx, n, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			answer, err := accounts.Watch(ctx, options)
			s.answered(ctx, n, err)
			return answer, err
		},
	}, client), &metav1.PartialObjectMetadata{}, 0, nil)
	if err := n.informer.SetTransform(bare); err != nil {
		return fmt.Errorf("preparing the watch of ServiceAccounts: %w", err)
	}
	_, err := n.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { s.tell(obj) },
		UpdateFunc: func(old, obj any) {
			if uidOf(old) != uidOf(obj) {
				s.tell(obj)
			}
		},
		DeleteFunc: func(obj any) { s.tell(obj) },
	})
	if err != nil {
		return fmt.Errorf("preparing the watch of ServiceAccounts: %w", err)
	}
	return nil
}

// bare leaves an account its name, its UID and its version.
func bare(obj any) (any, error) {
	account, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return obj, nil
	}
	return &metav1.PartialObjectMetadata{TypeMeta: account.TypeMeta, ObjectMeta: metav1.ObjectMeta{
		Namespace: account.Namespace, Name: account.Name, UID: account.UID, ResourceVersion: account.ResourceVersion,
	}}, nil
}

func uidOf(obj any) types.UID {
	account, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return ""
	}
	return account.UID
}

// tell tells of an account that has changed.
func (s *Store) tell(obj any) {
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		return // an object without metadata is no account
	}
	namespace, name, _ := strings.Cut(key, "/")
	s.changed(context.Background(), namespace, name) //nolint:forbidigo // an informer hands its handlers no context
}

// answered takes in whether accounts may be read. What can't be reached for a while is as it was last seen; what may not be read any more
// could have been replaced meanwhile.
func (s *Store) answered(ctx context.Context, n *namespace, err error) {
	if err != nil && !apierrors.IsForbidden(err) {
		return
	}
	n.mu.Lock()
	same := (n.denied == nil) == (err == nil)
	n.denied = err
	n.mu.Unlock()
	if !same {
		s.changed(ctx, n.name, "")
	}
}

// UID gives the UID of an account; empty: there is none of this name. An error is ErrNotAllowed or ErrOwn, or says why it is not known.
func (s *Store) UID(name types.NamespacedName) (types.UID, error) {
	n := s.all[name.Namespace]
	if n == nil {
		return "", ErrNotAllowed
	}
	me, err := s.own.user()
	switch {
	case err != nil:
		return "", err
	case me == identity.Account{Namespace: name.Namespace, Name: name.Name}.User():
		return "", ErrOwn
	}
	n.mu.Lock()
	denied := n.denied
	n.mu.Unlock()
	switch {
	case denied != nil:
		return "", denied
	case !n.informer.HasSynced():
		return "", fmt.Errorf("the ServiceAccounts of namespace %q are not read yet", n.name)
	}
	obj, _, err := n.informer.GetStore().GetByKey(name.String())
	if err != nil {
		return "", fmt.Errorf("looking up ServiceAccount %q: %w", name, err)
	}
	return uidOf(obj), nil
}

// Namespaces are those whose accounts boxes may use, sorted.
func (s *Store) Namespaces() []string {
	var names []string
	for name := range s.all {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Start implements manager.Runnable.
func (s *Store) Start(ctx context.Context) error {
	var running sync.WaitGroup
	for _, n := range s.all {
		running.Go(func() { n.informer.RunWithContext(ctx) })
	}
	running.Go(func() {
		s.own.learn(ctx)
		for name := range s.all {
			s.changed(ctx, name, "")
		}
	})
	running.Wait()
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: followers keep the accounts warm.
func (*Store) NeedLeaderElection() bool { return false }
