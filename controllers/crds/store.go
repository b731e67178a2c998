// Package crds finds the CRD that a box serves, and the version of it, and keeps these CRDs in memory.
package crds

import (
	"context"
	"fmt"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/engine/suggest"
)

// Store keeps the full CRDs that boxes and CRDHealths use. The manager's cache has only the metadata of CRDs, because the schemas of all
// CRDs in a cluster would take much memory. A CRD is kept for each user, and dropped when that is forgotten. It is safe for concurrent use.
type Store struct {
	cached client.Reader
	live   client.Reader
	mu     sync.Mutex
	all    map[string]*apiextensionsv1.CustomResourceDefinition // by user; guarded by mu
}

// NewStore gives an empty one. cached reads metadata from the manager's cache, live from the API server.
func NewStore(cached, live client.Reader) *Store {
	return &Store{cached: cached, live: live, all: map[string]*apiextensionsv1.CustomResourceDefinition{}}
}

// Find gives the CRD of that name for a user: a box by its name, or what stands for a CRDHealth. It asks the API server only when the
// metadata in the cache has changed since. The error for a CRD that is not there is NotFound.
func (s *Store) Find(ctx context.Context, user, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	known := &metav1.PartialObjectMetadata{}
	known.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	if err := s.cached.Get(ctx, types.NamespacedName{Name: name}, known); err != nil {
		return nil, err
	}
	s.mu.Lock()
	kept := s.all[user]
	s.mu.Unlock()
	if kept != nil && kept.UID == known.UID && kept.ResourceVersion == known.ResourceVersion {
		return kept, nil
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := s.live.Get(ctx, types.NamespacedName{Name: name}, crd); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[user] = crd
	return crd, nil
}

// FindLive is Find, but it asks the API server where the cache has none, because the cache may not have seen yet what somebody has just
// made. nil: there is none.
func (s *Store) FindLive(ctx context.Context, user, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	crd, err := s.Find(ctx, user, name)
	if apierrors.IsNotFound(err) {
		crd = &apiextensionsv1.CustomResourceDefinition{}
		err = s.live.Get(ctx, types.NamespacedName{Name: name}, crd)
	}
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // see the comment above
	}
	if err != nil {
		return nil, fmt.Errorf("reading CustomResourceDefinition %q: %w", name, err)
	}
	return crd, nil
}

// Kept gives a CRD of a name that is kept for somebody; nil: none is. Nothing is asked for.
func (s *Store) Kept(name string) *apiextensionsv1.CustomResourceDefinition {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, crd := range s.all {
		if crd.Name == name {
			return crd
		}
	}
	return nil
}

// Forget drops what is kept for a user.
func (s *Store) Forget(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, user)
}

// Missing says that a CRD is not there, and names the one that may have been meant.
func (s *Store) Missing(ctx context.Context, name string) string {
	if why := NoCRD(name); why != "" {
		return why
	}
	return fmt.Sprintf("CustomResourceDefinition %q does not exist%s; it is picked up when it is created", name, Nearest(ctx, s.cached, name))
}

// NoCRD says what a name is that no CRD has: that of a kind which comes with Kubernetes; empty: it is none of these.
func NoCRD(name string) string {
	kind := ofKubernetes(name)
	if kind == "" {
		return ""
	}
	return fmt.Sprintf("%q is the %s of Kubernetes itself, which no CustomResourceDefinition defines: name a CRD, and declare %ss as children of its resources; or serve some of them: crd: {apiVersion, kind: %s} with a selector", name, kind, kind, kind)
}

// ofKubernetes is the kind that comes with Kubernetes and is served under a name such as statefulsets.apps, or pods; empty: there is none.
func ofKubernetes(name string) string {
	for gvk := range scheme.Scheme.AllKnownTypes() {
		plural, _ := meta.UnsafeGuessKindToResource(gvk)
		if strings.TrimSuffix(plural.Resource+"."+gvk.Group, ".") == name {
			return gvk.Kind
		}
	}
	return ""
}

// Nearest gives `, did you mean "x"?` for the nearest name of a cluster's CRDs and of others that could be meant; empty where none is
// near. Where CRDs can't be listed, only the others count.
func Nearest(ctx context.Context, reader client.Reader, name string, others ...string) string {
	all := &metav1.PartialObjectMetadataList{}
	all.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinitionList"))
	if err := reader.List(ctx, all); err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("CRDs could not be listed", "reason", err.Error())
	}
	for i := range all.Items {
		others = append(others, all.Items[i].Name)
	}
	return suggest.DidYouMean(name, others)
}
