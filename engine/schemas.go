package engine

import (
	"context"
	"fmt"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/orkspace/orkestra/engine/pipeline"
)

// schemas are the schemas of custom child kinds, which say of which types their fields are and how their lists are matched.
// They are read when a box begins to watch a kind, and again after a child of it did not fit.
type schemas struct {
	mu  sync.RWMutex
	all map[schema.GroupVersionKind]*apiextensionsv1.JSONSchemaProps // guarded by mu
}

// of gives the schema of a kind; nil where it is not known, and then lists go by position. It implements drift.ListSchema.
func (s *schemas) of(kind schema.GroupVersionKind) *apiextensionsv1.JSONSchemaProps {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.all[kind]
}

func (s *schemas) put(kind schema.GroupVersionKind, props *apiextensionsv1.JSONSchemaProps) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[schema.GroupVersionKind]*apiextensionsv1.JSONSchemaProps{}
	}
	s.all[kind] = props
}

// knows says whether nothing is left to be learned of a kind.
func (s *schemas) knows(kind schema.GroupVersionKind) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, known := s.all[kind]
	return known || scheme.Scheme.Recognizes(kind)
}

// forget lets schemas be read anew when they are next needed: what they say was refused, so they may be out of date.
func (s *schemas) forget(kinds []schema.GroupVersionKind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, kind := range kinds {
		delete(s.all, kind)
	}
}

// learnSchema reads the schema of a child kind that Kubernetes itself does not have.
func (e *Engine) learnSchema(ctx context.Context, kind schema.GroupVersionKind) error {
	if scheme.Scheme.Recognizes(kind) {
		return nil
	}
	mapping, err := e.config.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return fmt.Errorf("finding kind %s: %w", kind.Kind, err)
	}
	name := mapping.Resource.GroupResource().String()
	obj, err := e.dynamic.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		e.schemas.put(kind, nil) // an aggregated API server has it: there is no schema that could be read
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading CustomResourceDefinition %q: %w", name, err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, crd); err != nil {
		return fmt.Errorf("reading CustomResourceDefinition %q: %w", name, err)
	}
	if picked, ok := pipeline.NewCRD(crd, kind.Version); ok {
		e.schemas.put(kind, picked.Schema)
	}
	return nil
}

// learner learns schemas for an inventory.
type learner struct{ engine *Engine }

// Learn implements inventory.Schemas.
func (l learner) Learn(ctx context.Context, kind schema.GroupVersionKind) error {
	return l.engine.learnSchema(ctx, kind)
}

// Knows implements inventory.Schemas.
func (l learner) Knows(kind schema.GroupVersionKind) bool { return l.engine.schemas.knows(kind) }
